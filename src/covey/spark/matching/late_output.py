"""Output rows with candidates, whose late conditions Spark then decides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import ArrayType, DataType, IntegerType, StructField, StructType

from covey.spark.id_types import IdType
from covey.spark.matching.late_encoding import ConditionEncoder, encode_in_parts
from covey.spark.matching.late_evaluation import (
    CANDIDATES_COLUMN,
    CONDITIONS_COLUMN,
    IDS_COLUMN,
    LateEvaluation,
    get_field_column,
)
from covey.spark.matching.output import PairRows, estimate_row_bytes, split_by_bytes
from covey.spark.schemas import select_column
from covey.store import IdMatches

__all__ = ["LateOutput", "LatePairRows", "choose_pair_format", "decide_candidates"]


@dataclass(frozen=True, slots=True)
class LateOutput:
    """Output format of a model with late conditions: a row for each event with candidates.

    Columns of the output: those of the event, the ids of the matches that are certain, for each
    region of a candidate the id of its subscription, and an array for each field of the conditions.
    If subscriptions may have several conditions, there is also an array with the number of the
    region of each condition. Otherwise condition i belongs to region i.

    Args:
        event_columns: columns of events in the output, which the task receives first.
        id_type: conversion of ids.
        evaluation: evaluation of the late conditions.
        keeps_all: whether events without matches and candidates are in the output too.
        has_several_conditions: whether a subscription may have several late conditions.
    """

    event_columns: tuple[str, ...]
    id_type: IdType
    evaluation: LateEvaluation
    keeps_all: bool
    has_several_conditions: bool

    def output_schema(self, event_fields: StructType, id_type: DataType) -> StructType:
        columns = {IDS_COLUMN: id_type, CANDIDATES_COLUMN: id_type}
        if self.has_several_conditions:
            columns[get_field_column("region")] = IntegerType()
        columns |= {get_field_column(n): type_ for n, type_ in self.evaluation.fields.items()}
        arrays = [StructField(name, ArrayType(type_)) for name, type_ in columns.items()]
        return StructType([*event_fields.fields, *arrays])

    def to_batches(self, events: pa.RecordBatch, matches: IdMatches) -> Iterator[pa.RecordBatch]:
        count, undecided = len(events), matches.undecided
        ids = self.id_type.from_store(matches.ids)
        candidate_ids = self.id_type.from_store(matches.undecided_ids)
        id_offsets = _count_offsets(matches.event_rows, count)
        pair_offsets = _count_offsets(undecided.query_rows, count)
        encoder = ConditionEncoder(self.evaluation, undecided)
        columns = events.columns[: len(self.event_columns)]
        widths = estimate_row_bytes(columns, count)
        widths += np.diff(id_offsets) * (ids.nbytes // max(1, len(ids)))
        pair_ends = np.concatenate([[0], np.cumsum(encoder.estimate_pair_bytes())])
        widths += np.diff(pair_ends[pair_offsets])
        rows = np.arange(count)
        if not self.keeps_all:
            is_kept = (np.diff(id_offsets) > 0) | (np.diff(pair_offsets) > 0)
            rows = np.flatnonzero(is_kept)
        id_lists = pa.ListArray.from_arrays(pa.array(id_offsets), ids)
        region_offsets = undecided.region_offsets[pair_offsets]
        region_ids = candidate_ids.take(pa.array(_number_elements(undecided.region_offsets)))
        for start, stop in split_by_bytes(widths, rows):
            chosen = rows[start:stop]
            # Rows that are left out have no candidates, so the chosen regions are contiguous.
            offsets = np.append(region_offsets[chosen], region_offsets[chosen[-1] + 1])
            fields = encoder.list_fields(offsets)
            regions = fields.pop("region")
            starts = pa.array((offsets - offsets[0]).astype(np.int32))
            candidates = pa.ListArray.from_arrays(
                starts, region_ids.slice(offsets[0], offsets[-1] - offsets[0]),
                mask=regions.is_null(),
            )  # fmt: skip
            copied = [*columns, id_lists]
            if self.keeps_all:
                copied = [column.slice(start, stop - start) for column in copied]
            else:
                copied = [column.take(pa.array(chosen)) for column in copied]
            arrays = {IDS_COLUMN: copied.pop()}
            arrays[CANDIDATES_COLUMN] = candidates
            if self.has_several_conditions:
                arrays[get_field_column("region")] = regions
            arrays |= {get_field_column(name): values for name, values in fields.items()}
            yield pa.RecordBatch.from_arrays(
                [*copied, *arrays.values()], [*self.event_columns, *arrays]
            )


@dataclass(frozen=True, slots=True)
class LatePairRows:
    """Output format of a model with late conditions: a row for each match and each candidate.

    Columns of the output: those of the event, the id, and `CONDITIONS_COLUMN`.
    `LateEvaluation.filter_rows` then drops the candidates whose conditions do not hold.
    """

    pair_rows: PairRows
    evaluation: LateEvaluation

    def output_schema(self, event_fields: StructType, id_type: DataType) -> StructType:
        pairs = self.pair_rows.output_schema(event_fields, id_type)
        return pairs.add(CONDITIONS_COLUMN, self.evaluation.conditions_type)

    def to_batches(self, events: pa.RecordBatch, matches: IdMatches) -> Iterator[pa.RecordBatch]:
        yield from self.build_rows(events, matches.event_rows, matches.ids)
        for start, stop, conditions in encode_in_parts(self.evaluation, matches.undecided):
            yield from self.build_rows(
                events, matches.undecided.query_rows[start:stop],
                matches.undecided_ids.slice(start, stop - start), conditions=conditions,
            )  # fmt: skip

    def build_rows(
        self,
        events: pa.RecordBatch,
        query_rows: NDArray[np.integer[Any]],
        subscription_ids: pa.Array,
        *,
        conditions: pa.Array | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of matches, or of candidates with their conditions.

        The other arguments are those of `PairRows.build_rows`.
        """
        start = 0
        for batch in self.pair_rows.build_rows(events, query_rows, subscription_ids):
            chosen = (
                pa.nulls(len(batch), to_arrow_type(self.evaluation.conditions_type))
                if conditions is None
                else conditions.slice(start, len(batch))
            )
            start += len(batch)
            yield batch.append_column(CONDITIONS_COLUMN, chosen)


def choose_pair_format(pair_rows: PairRows, evaluation: LateEvaluation) -> PairRows | LatePairRows:
    """Return the format of rows with a match or, if there are templates, a candidate."""
    return LatePairRows(pair_rows, evaluation) if evaluation.templates else pair_rows


def decide_candidates(
    rows: DataFrame,
    ids: str,
    event_fields: Sequence[str],
    output_col: str,
    *,
    as_arrays: bool,
) -> DataFrame:
    """Return the output of `transform` from rows of `LateOutput`.

    Args:
        rows: rows of events with candidates.
        ids: the SQL of the ids that an event matches.
        event_fields: names of the columns of events in the output.
        output_col: name of the column with matched ids.
        as_arrays: whether the output has one row for each event instead of one for each match.
    """
    matched = F.expr(ids if as_arrays else f"explode({ids})").alias(output_col)
    return rows.select(*(select_column(name) for name in event_fields), matched)


def _number_elements(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each element of lists the number of its list.

    >>> _number_elements(np.array([0, 2, 2, 3])).tolist()
    [0, 0, 2]
    """
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def _count_offsets(rows: NDArray[np.integer[Any]], count: int) -> NDArray[np.int32]:
    """Return the offsets of lists; `rows` has the number of the list of each element, ascending."""
    ends = np.cumsum(np.bincount(rows, minlength=count))
    return np.concatenate([[0], ends]).astype(np.int32)
