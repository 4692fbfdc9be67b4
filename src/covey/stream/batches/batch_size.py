"""How many events a batch may have: as many as take some seconds, by what one was seen to cost.

A stream that starts with millions of events waiting would otherwise take them all as one batch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from covey._types import JsonValue
from covey.stream.kafka_cluster import KafkaCluster

__all__ = ["choose_max_events", "compute_observed_cost", "probe_cost", "read_first_events"]

_TARGET_BATCH_S = 5.0
_MIN_EVENTS, _MAX_EVENTS = 1_000, 2_000_000
_DEFAULT_EVENTS = 50_000
_MIN_SIZE_DIFFERENCE = 2_000  # more events than in another batch: else the difference says nothing
_MAX_PROBE_EVENTS = 20_000


def choose_max_events(cost_s: float | None) -> int:
    """The most events that a batch should have, if each costs so much.

    >>> choose_max_events(50e-6), choose_max_events(None)
    (100000, 50000)
    """
    if cost_s is None or cost_s <= 0:
        return _DEFAULT_EVENTS
    return round(min(max(_TARGET_BATCH_S / cost_s, _MIN_EVENTS), _MAX_EVENTS))


def compute_observed_cost(status: Mapping[str, JsonValue] | None) -> float | None:
    """What one event more cost in the batches that a stream last told of, in seconds.

    A batch costs something however few it has: only differences tell.

    >>> batches = [{"events": 0, "match_ms": 250.0}, {"events": 10_000, "match_ms": 750.0}]
    >>> compute_observed_cost({"batches": batches})
    5e-05
    """
    fields: Mapping[str, Any] | None = status
    batches: Sequence[Mapping[str, Any]] = [] if fields is None else fields["batches"]
    return _fit_seconds_per_event([(one["events"], one["match_ms"] / 1000) for one in batches])


def probe_cost(
    spark: SparkSession,
    cluster: KafkaCluster,
    topics: Sequence[str],
    build_rows: Callable[[DataFrame], DataFrame],
) -> float | None:
    """What an event costs to be made `rows`; None if there are too few to try it with."""
    events = read_first_events(spark, cluster, topics)
    count = events.limit(_MAX_PROBE_EVENTS).count()
    if count < _MIN_SIZE_DIFFERENCE:
        return None
    sizes = (1, count, 1, count)  # the first starts workers that open the index
    timed = [(size, _measure_seconds(build_rows(events.limit(size)))) for size in sizes]
    return _fit_seconds_per_event(timed[1:])


def read_first_events(
    spark: SparkSession, cluster: KafkaCluster, topics: Sequence[str]
) -> DataFrame:
    """The events that topics have, from the first on, as Kafka has them."""
    return (
        spark.read.format("kafka")
        .options(**cluster.reader_options)
        .option("subscribe", ",".join(topics))
        .option("startingOffsets", "earliest")
        .load()
    )


def _fit_seconds_per_event(timings: Sequence[tuple[int, float]]) -> float | None:
    """Seconds per event: the median of larger batches, less what the fastest small one took."""
    if not timings:
        return None
    least = min(size for size, _ in timings)
    fixed = min(seconds for size, seconds in timings if size < least + _MIN_SIZE_DIFFERENCE)
    costs = sorted(
        (seconds - fixed) / (size - least)
        for size, seconds in timings
        if size >= least + _MIN_SIZE_DIFFERENCE
    )
    return costs[len(costs) // 2] if costs else None


def _measure_seconds(rows: DataFrame) -> float:
    started = time.perf_counter()
    rows.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - started
