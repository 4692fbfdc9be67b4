"""Which version a worker matches with: one that is named, or the one that decides its batch.

The driver decides a batch while Spark plans it and reads its events: whoever is first waits.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
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
from covey.store import Snapshot
from covey.store.storage import open_storage
from covey.stream.batches.checkpoint import CHECKPOINT_FOLDER, Checkpoint
from covey.stream.batches.decision_log import DecisionLog

__all__ = ["DecidedVersion", "FixedVersion", "PreopenTask", "VersionSource", "get_task_batch"]

_BATCH_PROPERTY, _QUERY_PROPERTY = (
    "streaming.sql.batchId",
    "sql.streaming.queryId",
)  # Spark's, of every task
_DECISION_TIMEOUT_S = 900.0
_POLL_S = 0.002


class VersionSource(Protocol):
    """Knows the version for a task."""

    def open_snapshot(self, zone: int | None = None) -> Snapshot:
        """In a worker: the version, opened once; what events of a zone can match, if it is said."""
        ...


@dataclass(frozen=True, slots=True)
class FixedVersion:
    """One version, whatever the batch; its label tells it from another of the same number."""

    location: str
    version: int
    label: str | None

    @classmethod
    def from_snapshot(cls, location: str, snapshot: Snapshot) -> FixedVersion:
        """A version of the store at a place."""
        return cls(location, snapshot.manifest.version, snapshot.manifest.label)

    def open_snapshot(self, zone: int | None = None) -> Snapshot:
        return open_snapshot(self.location, self.version, self.label)


@dataclass(frozen=True, slots=True)
class DecidedVersion:
    """The version that is on record for the batch that Spark is running.

    Zones that are asked for are those of the file `zoning`.
    """

    location: str
    state_path: str
    zone_map_file: str | None = None

    def open_snapshot(self, zone: int | None = None) -> Snapshot:
        query, batch = get_task_batch()
        events = Checkpoint(
            open_storage(f"{self.state_path}/{CHECKPOINT_FOLDER}")
        ).read_offset_ranges(batch)
        records, until = (
            DecisionLog(open_storage(self.state_path)),
            time.monotonic() + _DECISION_TIMEOUT_S,
        )
        while (record := records.find(query, batch, events)) is None:
            if time.monotonic() > until:
                raise StreamError(
                    f"batch {batch} was not decided in {_DECISION_TIMEOUT_S:.0f} seconds"
                )
            time.sleep(_POLL_S)
        if zone is None or self.zone_map_file is None:
            return open_live_snapshot(self.location, record.version)
        return open_live_zone_snapshot(self.location, record.version, zone, self.zone_map_file)


@dataclass(frozen=True, slots=True)
class PreopenTask:
    """The function of a `mapInArrow` of no rows: opens the last version of a store in a worker."""

    location: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from (batch.slice(0, 0) for batch in batches)
        preopen_latest(self.location)


def get_task_batch() -> tuple[str, int]:
    """In a worker: the query that Spark runs, and the number of its batch."""
    context = TaskContext.get()
    assert context is not None
    query, batch = (context.getLocalProperty(name) for name in (_QUERY_PROPERTY, _BATCH_PROPERTY))
    if query is None or batch is None:
        raise StreamError("Spark does not say which batch of which query it is running")
    return query, int(batch)
