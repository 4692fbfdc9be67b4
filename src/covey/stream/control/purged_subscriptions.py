"""Subscriptions of a store that the control topic no longer has a message of: they were cancelled,
and compaction has removed even the cancellation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from covey.spark.matching import open_snapshot
from covey.spark.worker_errors import reraise_worker_errors
from covey.store import Snapshot
from covey.stream.control.rebuild import read_control_messages
from covey.stream.kafka_cluster import KafkaCluster

__all__ = ["find_purged_subscriptions"]


def find_purged_subscriptions(
    spark: SparkSession,
    cluster: KafkaCluster,
    topic: str,
    end_offsets: Mapping[int, int],
    location: str,
    snapshot: Snapshot,
) -> NDArray[np.int64]:
    """The rows of those of a version whose id no message up to `ends` has.

    Cost: the topic is read once, in Spark's workers; 4 bytes a subscription come back.
    """
    finding = _FindRowsTask(location, snapshot.manifest.version, snapshot.manifest.label)
    keys = read_control_messages(spark, cluster, topic, end_offsets).select("key")
    with reraise_worker_errors():
        found = keys.mapInArrow(finding, "rows BINARY").collect()
    there = [np.frombuffer(row["rows"], np.int32) for row in found]
    return np.setdiff1d(snapshot.rows, np.concatenate([np.empty(0, np.int32), *there]))


@dataclass(frozen=True, slots=True)
class _FindRowsTask:
    """The function of a `mapInArrow` over keys: the rows that a version has of them."""

    location: str
    version: int
    label: str | None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        version = open_snapshot(self.location, self.version, self.label)
        for batch in batches:
            keys = {key.decode(errors="replace") for key in batch.column(0).to_pylist() if key}
            rows = version.find_rows(pa.array(sorted(keys), pa.large_string()))
            found = rows[rows >= 0].astype(np.int32).tobytes()
            yield pa.RecordBatch.from_arrays([pa.array([found], pa.binary())], ["rows"])
