"""Search for the fastest join on bins, over numbers of bins and Spark's join strategies.

Numbers of bins are tried in ascending order, each with a broadcast join and a shuffled hash join,
until two numbers in a row are slower than the best. The cells of subscriptions are computed before
the timer starts, as an index would be. The time includes reading them and building Spark's hash
table, which every such join does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from pyspark.sql import DataFrame

from benchmarks.on_spark import sql
from benchmarks.on_spark.environment import BOXES, Environment
from benchmarks.on_spark.session import drain

__all__ = ["Join", "best_join"]

_SWEPT = {2: (16, 32, 64, 128, 256), 4: (4, 6, 8, 12, 16, 24)}  # bins, by number of attributes
_HINTS = ("broadcast", "shuffle_hash")
_MOST_BROADCAST = 6_000_000  # rows; more do not fit into the driver


@dataclass(frozen=True, slots=True)
class Join:
    """A join on bins: a function from events to pairs, and its seconds on the sample of events."""

    bins: int
    hint: str
    pairs: Callable[[DataFrame], DataFrame]
    seconds: float


def best_join(environment: Environment, names: Sequence[str]) -> Join:
    """Return the fastest join on bins of these attributes."""
    best, worse = None, 0
    for bins in _SWEPT[len(names)]:
        fastest = min(_tried(environment, names, bins), key=lambda join: join.seconds)
        if best is None or fastest.seconds < best.seconds:
            best, worse = fastest, 0
        else:
            worse += 1
        if worse == 2:
            break
    assert best is not None
    return best


def _tried(environment: Environment, names: Sequence[str], bins: int) -> list[Join]:
    path = str(environment.tables.folder / f"cells-{len(names)}-{bins}")
    ranges = environment.tables.ranges(BOXES, environment.sizes.few)
    sorted_cells = sql.in_cells(ranges, names, bins).orderBy("cell")
    sorted_cells.write.mode("overwrite").parquet(path)
    cells = environment.spark.read.parquet(path)
    events, tried = environment.tables.events(BOXES, environment.sizes.swept_events), []
    for hint in _HINTS:
        if hint != "broadcast" or cells.count() <= _MOST_BROADCAST:
            pairs = partial(sql.binned, cells=cells, names=names, bins=bins, hint=hint)
            start = time.perf_counter()
            drain(pairs(events))
            tried.append(Join(bins, hint, pairs, time.perf_counter() - start))
    return tried
