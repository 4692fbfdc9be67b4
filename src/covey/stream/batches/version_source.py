"""Sources of the version with which a worker matches: a fixed one, or the one that decides a batch.

The driver decides a batch while Spark plans it and reads its events, so a worker may have to wait
for the decision.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import pyarrow as pa
from pyspark import TaskContext

from covey.errors import StreamError
from covey.spark.matching import (
    open_live_snapshot,
    open_live_zone_snapshot,
    open_snapshot,
    preopen_latest,
)
from covey.spark.workers import describe_worker
from covey.store import Snapshot
from covey.store.storage import open_storage
from covey.stream.batches.checkpoint import CHECKPOINT_FOLDER, Checkpoint
from covey.stream.batches.decision_log import DecisionLog

__all__ = ["DecidedVersion", "FixedVersion", "PreopenTask", "VersionSource", "get_task_batch"]

_BATCH_PROPERTY, _QUERY_PROPERTY = (
    "streaming.sql.batchId",
    "sql.streaming.queryId",
)  # local properties that Spark sets for every task
_DECISION_TIMEOUT_S = 900.0
_POLL_S = 0.002


class VersionSource(Protocol):
    """Source of the version with which a task of a worker matches."""

    def open_snapshot(self, zone: int | None = None) -> Snapshot:
        """Return the snapshot for the Spark task that calls this method.

        Args:
            zone: zone of the task's events; the snapshot may be limited to the subscriptions that
                events of this zone can match.
        """
        ...


@dataclass(frozen=True, slots=True)
class FixedVersion:
    """Source that returns the same version for every batch.

    Args:
        location: location of the store.
        version: number of the version.
        label: expected label of the version. If the store was deleted and created again, its
            version of this number may have another label; then `open_snapshot` raises StoreError.
    """

    location: str
    version: int
    label: str | None

    @classmethod
    def from_snapshot(cls, location: str, snapshot: Snapshot) -> FixedVersion:
        """Build a source from a snapshot of the store at a location."""
        return cls(location, snapshot.manifest.version, snapshot.manifest.label)

    def open_snapshot(self, zone: int | None = None) -> Snapshot:
        return open_snapshot(self.location, self.version, self.label)


@dataclass(frozen=True, slots=True)
class DecidedVersion:
    """Source that waits for the decision of the running batch, and returns its version.

    `open_snapshot` raises StreamError if the batch is not decided within 900 seconds.

    Args:
        location: location of the store.
        state_path: state folder of the stream.
        zone_map_file: file of the zone map to which zone numbers refer; None without zones.
    """

    location: str
    state_path: str
    zone_map_file: str | None = None

    def open_snapshot(self, zone: int | None = None) -> Snapshot:
        query, batch = get_task_batch()
        checkpoint, decision_log = _open_state_folder(self.state_path)
        try:
            offset_ranges = checkpoint.read_offset_ranges(batch)
        except StreamError:  # the driver has written this file before it planned the batch
            raise StreamError(
                f"{describe_worker()} does not see the files of the stream in {self.state_path}: "
                "the folder must be on storage that all machines of the cluster share. Set [state] "
                "path to such a folder, or to a URI such as s3://bucket/alerts"
            ) from None
        deadline_s = time.monotonic() + _DECISION_TIMEOUT_S
        while (decision := decision_log.find(query, batch, offset_ranges)) is None:
            if time.monotonic() > deadline_s:
                raise StreamError(
                    f"batch {batch} was not decided within {_DECISION_TIMEOUT_S:.0f} seconds: see "
                    "the log of the stream"
                )
            time.sleep(_POLL_S)
        if zone is None or self.zone_map_file is None:
            return open_live_snapshot(self.location, decision.version)
        return open_live_zone_snapshot(self.location, decision.version, zone, self.zone_map_file)


@lru_cache(maxsize=4)
def _open_state_folder(state_path: str) -> tuple[Checkpoint, DecisionLog]:
    """Return the checkpoint and the decisions in a state folder; a worker opens it once."""
    checkpoint = Checkpoint(open_storage(f"{state_path}/{CHECKPOINT_FOLDER}"))
    return checkpoint, DecisionLog(open_storage(state_path))


@dataclass(frozen=True, slots=True)
class PreopenTask:
    """Function for `mapInArrow` that opens the newest version of a store and returns no rows."""

    location: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from (batch.slice(0, 0) for batch in batches)
        preopen_latest(self.location)


def get_task_batch() -> tuple[str, int]:
    """Return the query id and the batch number of the Spark task that calls this function.

    Raises:
        StreamError: the task does not belong to a batch of a streaming query.
    """
    context = TaskContext.get()
    assert context is not None
    query, batch = (context.getLocalProperty(name) for name in (_QUERY_PROPERTY, _BATCH_PROPERTY))
    if query is None or batch is None:
        raise StreamError(
            f"Spark did not set {_QUERY_PROPERTY} and {_BATCH_PROPERTY} for this task"
        )
    return query, int(batch)
