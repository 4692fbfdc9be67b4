"""What a transform gives: a row for each match, or a row for each event with a list of its matches.

Batches are cut by their size, since one of Spark's events may become many rows of covey's.
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

__all__ = ["ArrayRows", "OutputFormat", "PairRows"]

Rows = NDArray[np.integer[Any]]
_MAX_BATCH_BYTES = 8 << 20  # of a batch, about


class OutputFormat(Protocol):
    """How matches become rows."""

    def output_schema(self, event_fields: StructType, id_type: DataType) -> StructType:
        """The columns of the output, from those of the events that are kept."""
        ...

    def to_batches(
        self, events: pa.RecordBatch, query_rows: Rows, subscription_ids: pa.Array
    ) -> Iterator[pa.RecordBatch]:
        """The output for some events, of which row `asked[i]` matches `ids[i]`; `asked` ascends.

        The kept columns are the first of the events.
        """
        ...


@dataclass(frozen=True, slots=True)
class PairRows:
    """One row for each match: the kept columns of the event, and the id."""

    event_columns: tuple[str, ...]
    output_col: str
    id_type: IdType

    def output_schema(self, event_fields: StructType, id_type: DataType) -> StructType:
        return StructType([*event_fields.fields, StructField(self.output_col, id_type)])

    def to_batches(
        self, events: pa.RecordBatch, query_rows: Rows, subscription_ids: pa.Array
    ) -> Iterator[pa.RecordBatch]:
        columns = events.columns[: len(self.event_columns)]
        widths = _estimate_row_bytes(columns, len(events)) + subscription_ids.nbytes // max(
            1, len(subscription_ids)
        )
        for start, stop in _split_by_bytes(widths, query_rows):
            rows = pa.array(query_rows[start:stop])
            taken = [column.take(rows) for column in columns]
            given = self.id_type.from_store(subscription_ids.slice(start, stop - start))
            yield pa.RecordBatch.from_arrays(
                [*taken, given], [*self.event_columns, self.output_col]
            )


@dataclass(frozen=True, slots=True)
class ArrayRows:
    """One row for each event: its kept columns, and the list of ids, which may be empty."""

    event_columns: tuple[str, ...]
    output_col: str
    id_type: IdType

    def output_schema(self, event_fields: StructType, id_type: DataType) -> StructType:
        listed = ArrayType(id_type, containsNull=False)
        return StructType(
            [*event_fields.fields, StructField(self.output_col, listed, nullable=False)]
        )

    def to_batches(
        self, events: pa.RecordBatch, query_rows: Rows, subscription_ids: pa.Array
    ) -> Iterator[pa.RecordBatch]:
        ends = np.cumsum(np.bincount(query_rows, minlength=len(events)))
        offsets = np.concatenate([[0], ends]).astype(np.int32)
        columns = events.columns[: len(self.event_columns)]
        given = self.id_type.from_store(subscription_ids)
        widths = _estimate_row_bytes(columns, len(events))
        widths = widths + np.diff(offsets) * (
            subscription_ids.nbytes // max(1, len(subscription_ids))
        )
        element = pa.field("element", self.id_type.arrow_type, nullable=False)
        for start, stop in _split_by_bytes(widths):
            some = pa.array(offsets[start : stop + 1])
            lists = pa.ListArray.from_arrays(some, given, pa.list_(element))
            kept = [column.slice(start, stop - start) for column in columns]
            yield pa.RecordBatch.from_arrays([*kept, lists], [*self.event_columns, self.output_col])


def _estimate_row_bytes(columns: Sequence[pa.Array], row_count: int) -> NDArray[np.int64]:
    """The bytes of each row: exactly where rows are texts, else a column's average."""
    widths = np.full(row_count, 16, np.int64)
    for column in columns:
        if pa.types.is_string(column.type) or pa.types.is_binary(column.type):
            widths += np.asarray(pc.binary_length(column).fill_null(0), np.int64)
        else:
            widths += column.nbytes // max(1, row_count)
    return widths


def _split_by_bytes(
    row_bytes: NDArray[np.int64], rows: Rows | None = None
) -> Iterator[tuple[int, int]]:
    """Ranges of rows, or of the given ones, that have at most `_BYTES` together, or one row."""
    count = len(row_bytes) if rows is None else len(rows)
    if (
        count and row_bytes.max() * count <= _MAX_BATCH_BYTES
    ):  # the usual case, and nothing is summed up
        yield 0, count
        return
    ends = np.cumsum(row_bytes if rows is None else row_bytes[rows])
    start = 0
    while start < count:
        before = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + _MAX_BATCH_BYTES, "right")))
        yield start, stop
        start = stop
