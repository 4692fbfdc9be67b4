"""Search for purged subscriptions, which are stored but have no message on the control topic.

A purged subscription was cancelled, and log compaction has removed all of its messages, including
the cancellation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from covey.spark.matching import open_snapshot
from covey.spark.workers import reraise_worker_errors
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
    """Return the row numbers in a snapshot of all subscriptions without a message on the topic.

    Args:
        spark: session that reads the topic.
        cluster: the Kafka cluster.
        topic: the control topic.
        end_offsets: for each partition the offset before which messages are read.
        location: location of the store.
        snapshot: version of the store.

    Cost: Spark's workers read the topic once, and return 4 bytes per subscription.
    """
    task = _FindRowsTask(location, snapshot.manifest.version, snapshot.manifest.label)
    keys = read_control_messages(spark, cluster, topic, end_offsets).select("key")
    with reraise_worker_errors():
        outputs = keys.mapInArrow(task, "rows BINARY").collect()
    rows_with_messages = [np.frombuffer(row["rows"], np.int32) for row in outputs]
    return np.setdiff1d(snapshot.rows, np.concatenate([np.empty(0, np.int32), *rows_with_messages]))


@dataclass(frozen=True, slots=True)
class _FindRowsTask:
    """Function for `mapInArrow` over message keys, which are ids: find their rows in a version.

    An output row contains the row numbers for one batch of keys, as the bytes of an array of int32.
    Keys that the version does not contain have no row number.
    """

    location: str
    version: int
    label: str | None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        snapshot = open_snapshot(self.location, self.version, self.label)
        for batch in batches:
            ids = {key.decode(errors="replace") for key in batch.column(0).to_pylist() if key}
            rows = snapshot.find_rows(pa.array(sorted(ids), pa.large_string()))
            content = rows[rows >= 0].astype(np.int32).tobytes()
            yield pa.RecordBatch.from_arrays([pa.array([content], pa.binary())], ["rows"])
