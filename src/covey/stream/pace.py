"""How many events a batch may have: as many as take some seconds, by what one was seen to cost.

A stream that starts with millions of events waiting would otherwise take them all as one batch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from covey.stream.cluster import Cluster

__all__ = ["cost_seen", "first_events", "per_batch", "probed"]

_BATCH_S = 5.0
_LEAST, _MOST = 1_000, 2_000_000
_UNKNOWN = 50_000
_TELLING = 2_000  # more events than in another batch: else the difference says nothing
_PROBED = 20_000


def per_batch(cost_s: float | None) -> int:
    """The most events that a batch should have, if each costs so much.

    >>> per_batch(50e-6), per_batch(None)
    (100000, 50000)
    """
    if cost_s is None or cost_s <= 0:
        return _UNKNOWN
    return round(min(max(_BATCH_S / cost_s, _LEAST), _MOST))


def cost_seen(status: Mapping[str, Any] | None) -> float | None:
    """What one event more cost in the batches that a stream last told of, in seconds.

    A batch costs something however few it has: only differences tell.

    >>> batches = [{"events": 0, "match_ms": 250.0}, {"events": 10_000, "match_ms": 750.0}]
    >>> cost_seen({"batches": batches})
    5e-05
    """
    batches: Sequence[Mapping[str, Any]] = [] if status is None else status["batches"]
    return _slope([(one["events"], one["match_ms"] / 1000) for one in batches])


def probed(
    spark: SparkSession,
    cluster: Cluster,
    topics: Sequence[str],
    rows: Callable[[DataFrame], DataFrame],
) -> float | None:
    """What an event costs to be made `rows`; None if there are too few to try it with."""
    events = first_events(spark, cluster, topics)
    count = events.limit(_PROBED).count()
    if count < _TELLING:
        return None
    sizes = (1, count, 1, count)  # the first starts workers that open the index
    timed = [(size, _timed(rows(events.limit(size)))) for size in sizes]
    return _slope(timed[1:])


def first_events(spark: SparkSession, cluster: Cluster, topics: Sequence[str]) -> DataFrame:
    """The events that topics have, from the first on, as Kafka has them."""
    return (
        spark.read.format("kafka")
        .options(**cluster.reading)
        .option("subscribe", ",".join(topics))
        .option("startingOffsets", "earliest")
        .load()
    )


def _slope(sizes: Sequence[tuple[int, float]]) -> float | None:
    """Seconds per event: the median of larger batches, less what the fastest small one took."""
    if not sizes:
        return None
    least = min(size for size, _ in sizes)
    fixed = min(seconds for size, seconds in sizes if size < least + _TELLING)
    costs = sorted(
        (seconds - fixed) / (size - least) for size, seconds in sizes if size >= least + _TELLING
    )
    return costs[len(costs) // 2] if costs else None


def _timed(rows: DataFrame) -> float:
    started = time.perf_counter()
    rows.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - started
