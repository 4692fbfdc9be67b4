"""Tasks of `smart` replication: match events in their zones, then in home zones of subscriptions.

The tasks are two functions of `mapInArrow` with a shuffle between them. The first one returns rows
with all columns of an event, a zone and an id. A row with an id is a match, which the second task
only converts to the output format. A row without an id is an event that is forwarded to the zone.
If there are late conditions, every row has a further column with them, as in `LatePairRows`.
(papers: can)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_type

from covey.index import Pairs
from covey.spark.id_types import IdType
from covey.spark.matching.late_evaluation import CONDITIONS_COLUMN, LateEvaluation
from covey.spark.matching.late_output import LatePairRows, choose_pair_format
from covey.spark.matching.match_task import match_bounded, rebatch, to_events
from covey.spark.matching.output import PairRows
from covey.spark.matching.worker_cache import freeze_gc, open_zone_snapshot

__all__ = ["HomeMatchTask", "ZoneMatchTask"]

_ID_COL, _CONDITIONS_COL = "id", "conditions"
"""Columns with the id of a match and its late conditions, after `rename_outputs`."""
Rows = NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True)
class ZoneMatchTask:
    """Function of a `mapInArrow` that matches events in their zone and forwards some of them.

    The zones to which an event is forwarded are home zones of subscriptions that may match it.

    Args:
        location: location of the store.
        version: number of the version.
        label: label of the version.
        attribute_columns: number of the column of each attribute.
        column_names: names of the input columns, of which the last one is the zone.
        id_type: conversion of ids.
        evaluation: evaluation of the late conditions.
    """

    location: str
    version: int
    label: str | None
    attribute_columns: Mapping[str, int]
    column_names: tuple[str, ...]
    id_type: IdType
    evaluation: LateEvaluation

    @property
    def output_format(self) -> PairRows | LatePairRows:
        """Format of the output."""
        pair_rows = PairRows(self.column_names, _ID_COL, self.id_type)
        return choose_pair_format(pair_rows, self.evaluation)

    def rename_outputs(self, rows: DataFrame) -> DataFrame:
        """Return the output with plain names, which another `mapInArrow` of PySpark requires."""
        conditions = [_CONDITIONS_COL] if self.evaluation.templates else []
        return rows.toDF(*self.column_names, _ID_COL, *conditions)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        output_format = self.output_format
        for batch in rebatch(batches):
            zone = batch.column(batch.num_columns - 1)[0].as_py()
            snapshot = open_zone_snapshot(self.location, self.version, self.label, zone)
            events = to_events(batch, self.attribute_columns, snapshot.space)
            for rows, matches in match_bounded(snapshot, events, np.arange(len(events))):
                portion = batch.slice(rows[0], len(rows))
                yield from output_format.to_batches(portion, matches)
                yield from self._forward_events(portion, matches.forwarded_pairs)
        freeze_gc()

    def _forward_events(
        self, batch: pa.RecordBatch, forwarded_pairs: Pairs
    ) -> Iterator[pa.RecordBatch]:
        """Yield batches with a row for each event and each zone to which the event is forwarded.

        Query rows of `forwarded_pairs` are rows of the batch, and stored rows are zone numbers.
        """
        for start in range(0, len(forwarded_pairs), batch.num_rows):
            stop = start + batch.num_rows
            rows = pa.array(forwarded_pairs.query_rows[start:stop])
            columns = [column.take(rows) for column in batch.columns[:-1]]
            columns.append(pa.array(forwarded_pairs.stored_rows[start:stop], pa.int32()))
            columns.append(pa.nulls(len(rows), self.id_type.arrow_type))
            forwarded = pa.RecordBatch.from_arrays(columns, [*self.column_names, _ID_COL])
            if self.evaluation.templates:
                conditions = pa.nulls(len(rows), to_arrow_type(self.evaluation.conditions_type))
                forwarded = forwarded.append_column(CONDITIONS_COLUMN, conditions)
            yield forwarded


@dataclass(frozen=True, slots=True)
class HomeMatchTask:
    """Function of a `mapInArrow` that matches forwarded events with subscriptions of a home zone.

    Rows with an id are matches already, and are only converted to the output format.
    """

    location: str
    version: int
    label: str | None
    attribute_columns: Mapping[str, int]
    output_format: PairRows | LatePairRows

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in rebatch(batches):
            has_id = batch.column(_ID_COL).is_valid()
            yield from self._pass_matches(batch.filter(has_id))
            forwarded = batch.filter(pc.invert(has_id))
            if forwarded.num_rows:
                yield from self._match_forwarded(forwarded)
        freeze_gc()

    def _pass_matches(self, matches: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        if not matches.num_rows:
            return
        rows = np.arange(matches.num_rows)
        if isinstance(self.output_format, PairRows):
            ids = self.output_format.id_type.to_store(matches.column(_ID_COL))
            yield from self.output_format.build_rows(matches, rows, ids)
        else:
            ids = self.output_format.pair_rows.id_type.to_store(matches.column(_ID_COL))
            conditions = matches.column(_CONDITIONS_COL)
            yield from self.output_format.build_rows(matches, rows, ids, conditions=conditions)

    def _match_forwarded(self, forwarded: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        zone = forwarded.column(forwarded.schema.get_field_index(_ID_COL) - 1)[0].as_py()
        snapshot = open_zone_snapshot(self.location, self.version, self.label, zone, is_home=True)
        events = to_events(forwarded, self.attribute_columns, snapshot.space)
        for rows, matches in match_bounded(snapshot, events, np.arange(len(events))):
            portion = forwarded.slice(rows[0], len(rows))
            yield from self.output_format.to_batches(portion, matches)
