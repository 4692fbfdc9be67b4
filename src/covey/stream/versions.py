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
from covey.spark.worker import newest, newest_of_zone, open_last, snapshot
from covey.store import Snapshot
from covey.store.places import directory_at
from covey.stream.checkpoint import CHECKPOINT, Checkpoint
from covey.stream.records import Records

__all__ = ["ByRecord", "Named", "Opening", "Versions", "batch_of_task"]

_BATCH, _QUERY = "streaming.sql.batchId", "sql.streaming.queryId"  # Spark's, of every task
_PATIENCE_S = 900.0
_POLL_S = 0.002


class Versions(Protocol):
    """Knows the version for a task."""

    def of_task(self, zone: int | None = None) -> Snapshot:
        """In a worker: the version, opened once; what events of a zone can match, if it is said."""
        ...


@dataclass(frozen=True, slots=True)
class Named:
    """One version, whatever the batch; its label tells it from another of the same number."""

    place: str
    version: int
    label: str | None

    @classmethod
    def of(cls, place: str, chosen: Snapshot) -> Named:
        """A version of the store at a place."""
        return cls(place, chosen.version.number, chosen.version.label)

    def of_task(self, zone: int | None = None) -> Snapshot:
        return snapshot(self.place, self.version, self.label)


@dataclass(frozen=True, slots=True)
class ByRecord:
    """The version that is on record for the batch that Spark is running.

    Zones that are asked for are those of the file `zoning`.
    """

    place: str
    state: str
    zoning: str | None = None

    def of_task(self, zone: int | None = None) -> Snapshot:
        query, batch = batch_of_task()
        events = Checkpoint(directory_at(f"{self.state}/{CHECKPOINT}")).events(batch)
        records, until = Records(directory_at(self.state)), time.monotonic() + _PATIENCE_S
        while (record := records.find(query, batch, events)) is None:
            if time.monotonic() > until:
                raise StreamError(f"batch {batch} was not decided in {_PATIENCE_S:.0f} seconds")
            time.sleep(_POLL_S)
        if zone is None or self.zoning is None:
            return newest(self.place, record.version)
        return newest_of_zone(self.place, record.version, zone, self.zoning)


@dataclass(frozen=True, slots=True)
class Opening:
    """The function of a `mapInArrow` of no rows: opens the last version of a store in a worker."""

    place: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from (batch.slice(0, 0) for batch in batches)
        open_last(self.place)


def batch_of_task() -> tuple[str, int]:
    """In a worker: the query that Spark runs, and the number of its batch."""
    context = TaskContext.get()
    assert context is not None
    query, batch = (context.getLocalProperty(name) for name in (_QUERY, _BATCH))
    if query is None or batch is None:
        raise StreamError("Spark does not say which batch of which query it is running")
    return query, int(batch)
