"""Choice of the largest number of events of a batch, so that a batch takes about five seconds.

The number follows from the seconds per event, which are computed from earlier batches or measured.
Without a limit, a stream that starts with a backlog of millions of events would process all of them
as one batch.
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
_MIN_SIZE_DIFFERENCE = 2_000  # two batches must differ by this many events to be compared
_MAX_PROBE_EVENTS = 20_000


def choose_max_events(cost_s: float | None) -> int:
    """Return the largest number of events of a batch, so that a batch takes about five seconds.

    The result is from 1,000 to 2,000,000.

    Args:
        cost_s: seconds per event. If they are None (unknown) or not positive, the result is 50,000.

    >>> choose_max_events(50e-6), choose_max_events(None)
    (100000, 50000)
    """
    if cost_s is None or cost_s <= 0:
        return _DEFAULT_EVENTS
    return round(min(max(_TARGET_BATCH_S / cost_s, _MIN_EVENTS), _MAX_EVENTS))


def compute_observed_cost(status: Mapping[str, JsonValue] | None) -> float | None:
    """Return the seconds per event in the batches of a status file, or None if it is unknown.

    A batch also takes a fixed time. So the time per event is known only if the numbers of events of
    two batches differ by at least 2,000.

    >>> batches = [{"events": 0, "match_ms": 250.0}, {"events": 10_000, "match_ms": 750.0}]
    >>> compute_observed_cost({"batches": batches})
    5e-05
    """
    fields: Mapping[str, Any] | None = status
    batches: Sequence[Mapping[str, Any]] = [] if fields is None else fields["batches"]
    return _fit_seconds_per_event(
        [(batch["events"], batch["match_ms"] / 1000) for batch in batches]
    )


def probe_cost(
    spark: SparkSession,
    cluster: KafkaCluster,
    topics: Sequence[str],
    build_rows: Callable[[DataFrame], DataFrame],
) -> float | None:
    """Measure the seconds per event, with batches of the first events of the topics.

    Args:
        spark: session that runs the batches.
        cluster: Kafka cluster of the topics.
        topics: topics of events.
        build_rows: function that returns output rows for events; computing the rows is measured.

    Returns:
        Seconds per event; None if the topics have fewer than 2,000 events.
    """
    events = read_first_events(spark, cluster, topics)
    count = events.limit(_MAX_PROBE_EVENTS).count()
    if count < _MIN_SIZE_DIFFERENCE:
        return None
    sizes = (1, count, 1, count)  # the first run starts workers and opens the index in them
    timings = [(size, _measure_seconds(build_rows(events.limit(size)))) for size in sizes]
    return _fit_seconds_per_event(timings[1:])


def read_first_events(
    spark: SparkSession, cluster: KafkaCluster, topics: Sequence[str]
) -> DataFrame:
    """Return all events of topics, from the earliest offset on, as rows of Spark's Kafka source."""
    return (
        spark.read.format("kafka")
        .options(**cluster.reader_options)
        .option("subscribe", ",".join(topics))
        .option("startingOffsets", "earliest")
        .load()
    )


def _fit_seconds_per_event(timings: Sequence[tuple[int, float]]) -> float | None:
    """Return the seconds per event from timings, which are pairs of event count and seconds.

    A batch is small if it has fewer than 2,000 events more than the smallest one. The fixed time is
    the time of the fastest small batch. For each larger batch, the fixed time and the events of the
    smallest batch are subtracted, and the remaining time is divided by the remaining events. The
    result is the median of these quotients; None if there is no larger batch.
    """
    if not timings:
        return None
    min_size = min(size for size, _ in timings)
    fixed_s = min(seconds for size, seconds in timings if size < min_size + _MIN_SIZE_DIFFERENCE)
    costs = sorted(
        (seconds - fixed_s) / (size - min_size)
        for size, seconds in timings
        if size >= min_size + _MIN_SIZE_DIFFERENCE
    )
    return costs[len(costs) // 2] if costs else None


def _measure_seconds(rows: DataFrame) -> float:
    started = time.perf_counter()
    rows.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - started
