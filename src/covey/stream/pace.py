"""How many events a batch may have: as many as take some seconds, by what one was seen to cost.

A stream that starts with millions of events waiting would otherwise take them all as one batch.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from covey.store import Snapshot
from covey.stream.cluster import Cluster
from covey.stream.matched import Matched

__all__ = ["cost_seen", "per_batch", "probed"]

_BATCH_S = 5.0
_LEAST, _MOST = 1_000, 2_000_000
_UNKNOWN = 50_000
_TELLING = 500  # events: batches of fewer say more of batches than of events
_PROBED = 5_000


def per_batch(cost_s: float | None) -> int:
    """The most events that a batch should have, if each costs so much.

    >>> per_batch(50e-6), per_batch(None)
    (100000, 50000)
    """
    if cost_s is None or cost_s <= 0:
        return _UNKNOWN
    return round(min(max(_BATCH_S / cost_s, _LEAST), _MOST))


def cost_seen(status: Mapping[str, Any] | None) -> float | None:
    """What an event cost in the batches that a stream last told of, in seconds.

    >>> cost_seen({"batches": [{"events": 1000, "match_ms": 100.0}]})
    0.0001
    """
    batches: Sequence[Mapping[str, Any]] = [] if status is None else status["batches"]
    costs = sorted(
        one["match_ms"] / 1000 / one["events"] for one in batches if one["events"] >= _TELLING
    )
    return costs[len(costs) // 2] if costs else None


def probed(
    spark: SparkSession, cluster: Cluster, topics: Sequence[str], matched: Matched, now: Snapshot
) -> float | None:
    """What an event costs, tried on the first that are on the topics; None if there are too few."""
    events = (
        spark.read.format("kafka")
        .options(**cluster.spark_options)
        .option("subscribe", ",".join(topics))
        .option("startingOffsets", "earliest")
        .option("kafka.isolation.level", "read_committed")
        .load()
        .limit(_PROBED)
    )
    _timed(matched, events, now)  # workers are started and have the index open
    seconds, count = _timed(matched, events, now), events.count()
    return seconds / count if count >= _TELLING else None


def _timed(matched: Matched, events: DataFrame, now: Snapshot) -> float:
    started = time.perf_counter()
    rows = matched.rows(events, now, now.version.number)
    rows.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - started
