"""covey and hand-written Spark SQL with 100,000 subscriptions: joins on bins, a nested loop.

All write pairs into the sink `noop`; covey uses Arrow batches of 50,000 rows. The best join on bins
is chosen with fewer events, then takes turns with covey on the same events. Bins are on two of the
attributes, which are equally selective; for `vs_binned_sql_4` they are on all four. The nested loop
gets fewer events, and events per second are compared; Spark then broadcasts the events instead of
the subscriptions, which is faster.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from pyspark.sql import DataFrame

from benchmarks.harness import Value, interleaved
from benchmarks.on_spark import sql
from benchmarks.on_spark.answers import agreed, digest
from benchmarks.on_spark.bins import best_join
from benchmarks.on_spark.environment import BOXES, Environment
from benchmarks.on_spark.session import LARGE_BATCH, drain, set_batch

__all__ = ["KEYS", "run"]

_BINNED = {"binned_sql": 2, "binned_sql_4": 4}  # attributes with bins
_REPEATS = 3

KEYS = {
    "vs_binned_sql": "events/s at 100k, relative to an equi-join on bins of two attributes",
    "binned_sql_events_per_s": "events/s of the best join on bins of two attributes",
    "binned_sql_best": "bins per attribute and strategy of the best join on two attributes",
    "vs_binned_sql_4": "events/s at 100k, relative to an equi-join on bins of four attributes",
    "binned_sql_4_events_per_s": "events/s of the best join on bins of four attributes",
    "binned_sql_4_best": "bins per attribute and strategy of the best join on four attributes",
    "vs_nested_loop": "events/s at 100k, relative to the join that Spark plans for BETWEEN",
    "nested_loop_events_per_s": "events/s of that nested loop",
    "answers_binned_sql_pairs": "pairs at 100k, equal for the join on bins and covey",
    "answers_binned_sql_hash": "sum of xxhash64(event_id, id) over these pairs, equal for both",
}


def run(environment: Environment, only: frozenset[str]) -> dict[str, Value]:
    """Return the results of all joins that have a key in `only`."""
    results: dict[str, Value] = {}
    for name in _BINNED:
        keys = {f"vs_{name}", f"{name}_events_per_s", f"{name}_best"}
        if (keys | {f"answers_{name}_pairs", f"answers_{name}_hash"}) & only:
            results |= _beside_bins(environment, name)
    if {"vs_nested_loop", "nested_loop_events_per_s"} & only:
        results |= _beside_loop(environment)
    return {key: value for key, value in results.items() if key in KEYS}


def _beside_bins(environment: Environment, name: str) -> dict[str, Value]:
    count = environment.sizes.joined_events
    events = environment.tables.events(BOXES, count)
    ours = partial(environment.fitted(BOXES, environment.sizes.few).transform, events, "pairs")
    best = best_join(environment, events.columns[1 : 1 + _BINNED[name]])
    theirs = partial(best.pairs, events)
    same = agreed(name, digest(ours()), digest(theirs()))
    seconds = _turns(environment, ours, theirs)
    return {
        f"vs_{name}": round(seconds["theirs"] / seconds["ours"], 2),
        f"{name}_events_per_s": round(count / seconds["theirs"]),
        f"{name}_best": f"{best.bins} bins, {best.hint}",
        f"answers_{name}_pairs": same.pairs,
        f"answers_{name}_hash": str(same.hash),
    }


def _beside_loop(environment: Environment) -> dict[str, Value]:
    tables, sizes = environment.tables, environment.sizes
    loop_events, events = (
        tables.events(BOXES, n) for n in (sizes.looped_events, sizes.joined_events)
    )
    fitted = environment.fitted(BOXES, sizes.few)
    loop = partial(sql.nested_loop, loop_events, tables.ranges(BOXES, sizes.few))
    agreed("a nested loop", digest(fitted.transform(loop_events, "pairs")), digest(loop()))
    seconds = _turns(environment, partial(fitted.transform, events, "pairs"), loop)
    ours, theirs = sizes.joined_events / seconds["ours"], sizes.looped_events / seconds["theirs"]
    return {"vs_nested_loop": round(ours / theirs, 1), "nested_loop_events_per_s": round(theirs)}


def _turns(
    environment: Environment, ours: Callable[[], DataFrame], theirs: Callable[[], DataFrame]
) -> dict[str, float]:
    set_batch(environment.spark, LARGE_BATCH)
    return interleaved(_REPEATS, ours=lambda: drain(ours()), theirs=lambda: drain(theirs()))
