"""Events that go on: matched in their zone, then where what they match is at home.

Two functions of `mapInArrow` with a shuffle between them. Rows of the first are events with all
their columns, the zone that they are for, and an id: that of a match, which is done, or null, and
then the event goes on to that zone. (papers: can)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql.types import DataType, StructField, StructType

from covey.index import Pairs
from covey.spark.ids import IdType
from covey.spark.matching import bounded, portions, to_events
from covey.spark.shapes import Pairs as PairShape
from covey.spark.worker import of_zone, settle

__all__ = ["AtHome", "Sending", "sent_schema"]

_ID = "id"
Rows = NDArray[np.integer[Any]]


def sent_schema(given: StructType, id_type: DataType) -> StructType:
    """The columns of `Sending`: those that it is given, the zone the last of them, and the id."""
    return StructType([*given.fields, StructField(_ID, id_type)])


@dataclass(frozen=True, slots=True)
class Sending:
    """Matches events in their zone, and says where else they are to be matched.

    Column `attributes[name]` is the attribute of that name, the last one is the zone.
    """

    place: str
    version: int
    label: str | None
    attributes: Mapping[str, int]
    names: tuple[str, ...]
    ids: IdType

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        shape = PairShape(self.names, _ID, self.ids)
        for batch in portions(batches):
            zone = batch.column(batch.num_columns - 1)[0].as_py()
            version = of_zone(self.place, self.version, self.label, zone)
            events, sent = to_events(batch, self.attributes, version.space), list[Pairs]()
            for rows, asked, ids in bounded(version, events, np.arange(len(events)), sent=sent):
                yield from shape.batches(batch.slice(rows[0], len(rows)), asked, ids)
            yield from self._onwards(batch, sent)
        settle()

    def _onwards(self, batch: pa.RecordBatch, sent: list[Pairs]) -> Iterator[pa.RecordBatch]:
        """Each event that goes on, once for each zone that it goes to."""
        asked, zones = (
            np.concatenate([np.empty(0, np.int64), *(getattr(some, name) for some in sent)])
            for name in ("asked", "stored")
        )
        once = Pairs.of(asked, zones).once()
        for start in range(0, len(once), batch.num_rows):
            rows = pa.array(once.asked[start : start + batch.num_rows])
            columns = [column.take(rows) for column in batch.columns[:-1]]
            columns.append(pa.array(once.stored[start : start + batch.num_rows], pa.int32()))
            columns.append(pa.nulls(len(rows), self.ids.arrow))
            yield pa.RecordBatch.from_arrays(columns, [*self.names, _ID])


@dataclass(frozen=True, slots=True)
class AtHome:
    """Matches events that were sent to a zone with what is at home there; matches go through."""

    place: str
    version: int
    label: str | None
    attributes: Mapping[str, int]
    shape: PairShape

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in portions(batches):
            has_id = batch.column(batch.num_columns - 1).is_valid()
            yield from self._through(batch.filter(has_id))
            sent = batch.filter(pc.invert(has_id))
            if sent.num_rows:
                yield from self._matched(sent)
        settle()

    def _through(self, done: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        if done.num_rows:
            rows = np.arange(done.num_rows)
            ids = self.shape.ids.to_store(done.column(done.num_columns - 1))
            yield from self.shape.batches(done, rows, ids)

    def _matched(self, sent: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        zone = sent.column(sent.num_columns - 2)[0].as_py()
        version = of_zone(self.place, self.version, self.label, zone, is_home=True)
        events = to_events(sent, self.attributes, version.space)
        for rows, asked, ids in bounded(version, events, np.arange(len(events))):
            yield from self.shape.batches(sent.slice(rows[0], len(rows)), asked, ids)
