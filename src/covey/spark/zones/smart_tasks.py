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
from covey.spark.id_types import IdType
from covey.spark.matching.match_task import match_bounded, rebatch, to_events
from covey.spark.matching.output import PairRows as PairShape
from covey.spark.matching.worker_cache import freeze_gc, open_zone_snapshot

__all__ = ["HomeMatchTask", "ZoneMatchTask", "forwarded_schema"]

_ID_COL = "id"
Rows = NDArray[np.integer[Any]]


def forwarded_schema(event_schema: StructType, id_type: DataType) -> StructType:
    """The columns of `Sending`: those that it is given, the zone the last of them, and the id."""
    return StructType([*event_schema.fields, StructField(_ID_COL, id_type)])


@dataclass(frozen=True, slots=True)
class ZoneMatchTask:
    """Matches events in their zone, and says where else they are to be matched.

    Column `attributes[name]` is the attribute of that name, the last one is the zone.
    """

    location: str
    version: int
    label: str | None
    attribute_columns: Mapping[str, int]
    column_names: tuple[str, ...]
    id_type: IdType

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        shape = PairShape(self.column_names, _ID_COL, self.id_type)
        for batch in rebatch(batches):
            zone = batch.column(batch.num_columns - 1)[0].as_py()
            version = open_zone_snapshot(self.location, self.version, self.label, zone)
            events = to_events(batch, self.attribute_columns, version.space)
            for rows, matches in match_bounded(version, events, np.arange(len(events))):
                some = batch.slice(rows[0], len(rows))
                yield from shape.to_batches(some, matches.event_rows, matches.ids)
                yield from self._forward_events(some, matches.forwarded_pairs)
        freeze_gc()

    def _forward_events(
        self, batch: pa.RecordBatch, forwarded_pairs: Pairs
    ) -> Iterator[pa.RecordBatch]:
        """Each event that goes on, once for each zone that it goes to."""
        for start in range(0, len(forwarded_pairs), batch.num_rows):
            stop = start + batch.num_rows
            rows = pa.array(forwarded_pairs.query_rows[start:stop])
            columns = [column.take(rows) for column in batch.columns[:-1]]
            columns.append(pa.array(forwarded_pairs.stored_rows[start:stop], pa.int32()))
            columns.append(pa.nulls(len(rows), self.id_type.arrow_type))
            yield pa.RecordBatch.from_arrays(columns, [*self.column_names, _ID_COL])


@dataclass(frozen=True, slots=True)
class HomeMatchTask:
    """Matches events that were sent to a zone with what is at home there; matches go through."""

    location: str
    version: int
    label: str | None
    attribute_columns: Mapping[str, int]
    output_format: PairShape

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in rebatch(batches):
            has_id = batch.column(batch.num_columns - 1).is_valid()
            yield from self._pass_matches(batch.filter(has_id))
            sent = batch.filter(pc.invert(has_id))
            if sent.num_rows:
                yield from self._match_forwarded(sent)
        freeze_gc()

    def _pass_matches(self, matches: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        if matches.num_rows:
            rows = np.arange(matches.num_rows)
            ids = self.output_format.id_type.to_store(matches.column(matches.num_columns - 1))
            yield from self.output_format.to_batches(matches, rows, ids)

    def _match_forwarded(self, forwarded: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        zone = forwarded.column(forwarded.num_columns - 2)[0].as_py()
        version = open_zone_snapshot(self.location, self.version, self.label, zone, is_home=True)
        events = to_events(forwarded, self.attribute_columns, version.space)
        for rows, matches in match_bounded(version, events, np.arange(len(events))):
            some = forwarded.slice(rows[0], len(rows))
            yield from self.output_format.to_batches(some, matches.event_rows, matches.ids)
