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

from covey.spark.task import told
from covey.spark.worker import snapshot
from covey.store import Snapshot
from covey.stream.anew import messages
from covey.stream.cluster import Cluster

__all__ = ["absent"]


def absent(
    spark: SparkSession,
    cluster: Cluster,
    topic: str,
    ends: Mapping[int, int],
    place: str,
    now: Snapshot,
) -> NDArray[np.int64]:
    """The rows of those of a version whose id no message up to `ends` has.

    Cost: the topic is read once, in Spark's workers; 4 bytes a subscription come back.
    """
    finding = _Finding(place, now.version.number, now.version.label)
    keys = messages(spark, cluster, topic, ends).select("key")
    with told():
        found = keys.mapInArrow(finding, "rows BINARY").collect()
    there = [np.frombuffer(row["rows"], np.int32) for row in found]
    return np.setdiff1d(now.rows, np.concatenate([np.empty(0, np.int32), *there]))


@dataclass(frozen=True, slots=True)
class _Finding:
    """The function of a `mapInArrow` over keys: the rows that a version has of them."""

    place: str
    version: int
    label: str | None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        version = snapshot(self.place, self.version, self.label)
        for batch in batches:
            keys = {key.decode(errors="replace") for key in batch.column(0).to_pylist() if key}
            rows = version.find(pa.array(sorted(keys), pa.large_string()))
            found = rows[rows >= 0].astype(np.int32).tobytes()
            yield pa.RecordBatch.from_arrays([pa.array([found], pa.binary())], ["rows"])
