"""Output of `transform`: a row for each match, or a row for each event with a list of its matches.

Output batches are limited in bytes, not in events, because one event may have many matches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql.types import ArrayType, DataType, StructField, StructType

from covey.spark.id_types import IdType
from covey.store import IdMatches

__all__ = ["ArrayRows", "OutputFormat", "PairRows", "estimate_row_bytes", "split_by_bytes"]

Rows = NDArray[np.integer[Any]]
_MAX_BATCH_BYTES = 8 << 20  # estimated size of an output batch


class OutputFormat(Protocol):
    """Conversion of matches to rows of the output."""

    def output_schema(self, event_fields: StructType, id_type: DataType) -> StructType:
        """Return the schema of the output.

        Args:
            event_fields: fields of events that are copied to the output.
            id_type: Spark's type of the ids.
        """
        ...

    def to_batches(self, events: pa.RecordBatch, matches: IdMatches) -> Iterator[pa.RecordBatch]:
        """Yield the output of a batch of events and its matches.

        Args:
            events: the events; the columns that are copied to the output come first.
            matches: the matches.
        """
        ...


@dataclass(frozen=True, slots=True)
class PairRows:
    """Output format with a row for each match: columns of the event, and the subscription's id."""

    event_columns: tuple[str, ...]
    output_col: str
    id_type: IdType

    def output_schema(self, event_fields: StructType, id_type: DataType) -> StructType:
        return StructType([*event_fields.fields, StructField(self.output_col, id_type)])

    def to_batches(self, events: pa.RecordBatch, matches: IdMatches) -> Iterator[pa.RecordBatch]:
        return self.build_rows(events, matches.event_rows, matches.ids)

    def build_rows(
        self, events: pa.RecordBatch, query_rows: Rows, subscription_ids: pa.Array
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of matches.

        Match i is row `query_rows[i]` of `events` and the subscription `subscription_ids[i]`. The
        row numbers are ascending.
        """
        columns = events.columns[: len(self.event_columns)]
        widths = estimate_row_bytes(columns, len(events)) + subscription_ids.nbytes // max(
            1, len(subscription_ids)
        )
        for start, stop in split_by_bytes(widths, query_rows):
            rows = pa.array(query_rows[start:stop])
            event_values = [column.take(rows) for column in columns]
            ids = self.id_type.from_store(subscription_ids.slice(start, stop - start))
            yield pa.RecordBatch.from_arrays(
                [*event_values, ids], [*self.event_columns, self.output_col]
            )


@dataclass(frozen=True, slots=True)
class ArrayRows:
    """Output format with a row for each event: columns of the event, and the list of matched ids.

    The list of an event without matches is empty.
    """

    event_columns: tuple[str, ...]
    output_col: str
    id_type: IdType

    def output_schema(self, event_fields: StructType, id_type: DataType) -> StructType:
        listed = ArrayType(id_type, containsNull=False)
        return StructType(
            [*event_fields.fields, StructField(self.output_col, listed, nullable=False)]
        )

    def to_batches(self, events: pa.RecordBatch, matches: IdMatches) -> Iterator[pa.RecordBatch]:
        query_rows, subscription_ids = matches.event_rows, matches.ids
        ends = np.cumsum(np.bincount(query_rows, minlength=len(events)))
        offsets = np.concatenate([[0], ends]).astype(np.int32)
        columns = events.columns[: len(self.event_columns)]
        ids = self.id_type.from_store(subscription_ids)
        widths = estimate_row_bytes(columns, len(events))
        widths = widths + np.diff(offsets) * (
            subscription_ids.nbytes // max(1, len(subscription_ids))
        )
        element = pa.field("element", self.id_type.arrow_type, nullable=False)
        for start, stop in split_by_bytes(widths):
            list_offsets = pa.array(offsets[start : stop + 1])
            id_lists = pa.ListArray.from_arrays(list_offsets, ids, pa.list_(element))
            event_values = [column.slice(start, stop - start) for column in columns]
            yield pa.RecordBatch.from_arrays(
                [*event_values, id_lists], [*self.event_columns, self.output_col]
            )


def estimate_row_bytes(columns: Sequence[pa.Array], row_count: int) -> NDArray[np.int64]:
    """Return the estimated size of each row in bytes.

    For a text or binary column, the exact length of the value is counted; for any other column, its
    average size per row.
    """
    widths = np.full(row_count, 16, np.int64)
    for column in columns:
        if pa.types.is_string(column.type) or pa.types.is_binary(column.type):
            widths += np.asarray(pc.binary_length(column).fill_null(0), np.int64)
        else:
            widths += column.nbytes // max(1, row_count)
    return widths


def split_by_bytes(
    row_bytes: NDArray[np.int64], rows: Rows | None = None
) -> Iterator[tuple[int, int]]:
    """Divide rows into ranges of at most `_MAX_BATCH_BYTES`, or of one row; yield (start, stop).

    Args:
        row_bytes: size of each row in bytes.
        rows: numbers of the rows to divide, which may occur several times; None for all rows in
            their order. The yielded ranges are positions in `rows`.
    """
    count = len(row_bytes) if rows is None else len(rows)
    if count and row_bytes.max() * count <= _MAX_BATCH_BYTES:  # the usual case, without a sum
        yield 0, count
        return
    ends = np.cumsum(row_bytes if rows is None else row_bytes[rows])
    start = 0
    while start < count:
        before = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + _MAX_BATCH_BYTES, "right")))
        yield start, stop
        start = stop
