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

from covey.spark.ids import IdType

__all__ = ["Arrays", "Pairs", "Shape"]

Rows = NDArray[np.integer[Any]]
_BYTES = 8 << 20  # of a batch, about


class Shape(Protocol):
    """How matches become rows."""

    def schema(self, events: StructType, id_type: DataType) -> StructType:
        """The columns of the output, from those of the events that are kept."""
        ...

    def batches(
        self, events: pa.RecordBatch, asked: Rows, ids: pa.Array
    ) -> Iterator[pa.RecordBatch]:
        """The output for some events, of which row `asked[i]` matches `ids[i]`; `asked` ascends.

        The kept columns are the first of the events.
        """
        ...


@dataclass(frozen=True, slots=True)
class Pairs:
    """One row for each match: the kept columns of the event, and the id."""

    kept: tuple[str, ...]
    name: str
    ids: IdType

    def schema(self, events: StructType, id_type: DataType) -> StructType:
        return StructType([*events.fields, StructField(self.name, id_type)])

    def batches(
        self, events: pa.RecordBatch, asked: Rows, ids: pa.Array
    ) -> Iterator[pa.RecordBatch]:
        columns = events.columns[: len(self.kept)]
        widths = _widths(columns, len(events)) + ids.nbytes // max(1, len(ids))
        for start, stop in _cuts(widths, asked):
            rows = pa.array(asked[start:stop])
            taken = [column.take(rows) for column in columns]
            given = self.ids.from_store(ids.slice(start, stop - start))
            yield pa.RecordBatch.from_arrays([*taken, given], [*self.kept, self.name])


@dataclass(frozen=True, slots=True)
class Arrays:
    """One row for each event: its kept columns, and the list of ids, which may be empty."""

    kept: tuple[str, ...]
    name: str
    ids: IdType

    def schema(self, events: StructType, id_type: DataType) -> StructType:
        listed = ArrayType(id_type, containsNull=False)
        return StructType([*events.fields, StructField(self.name, listed, nullable=False)])

    def batches(
        self, events: pa.RecordBatch, asked: Rows, ids: pa.Array
    ) -> Iterator[pa.RecordBatch]:
        ends = np.cumsum(np.bincount(asked, minlength=len(events)))
        offsets = np.concatenate([[0], ends]).astype(np.int32)
        columns = events.columns[: len(self.kept)]
        given = self.ids.from_store(ids)
        widths = _widths(columns, len(events))
        widths = widths + np.diff(offsets) * (ids.nbytes // max(1, len(ids)))
        element = pa.field("element", self.ids.arrow, nullable=False)
        for start, stop in _cuts(widths):
            some = pa.array(offsets[start : stop + 1])
            lists = pa.ListArray.from_arrays(some, given, pa.list_(element))
            kept = [column.slice(start, stop - start) for column in columns]
            yield pa.RecordBatch.from_arrays([*kept, lists], [*self.kept, self.name])


def _widths(columns: Sequence[pa.Array], count: int) -> NDArray[np.int64]:
    """The bytes of each row: exactly where rows are texts, else a column's average."""
    widths = np.full(count, 16, np.int64)
    for column in columns:
        if pa.types.is_string(column.type) or pa.types.is_binary(column.type):
            widths += np.asarray(pc.binary_length(column).fill_null(0), np.int64)
        else:
            widths += column.nbytes // max(1, count)
    return widths


def _cuts(widths: NDArray[np.int64], rows: Rows | None = None) -> Iterator[tuple[int, int]]:
    """Ranges of rows, or of the given ones, that have at most `_BYTES` together, or one row."""
    count = len(widths) if rows is None else len(rows)
    if count and widths.max() * count <= _BYTES:  # the usual case, and nothing is summed up
        yield 0, count
        return
    ends = np.cumsum(widths if rows is None else widths[rows])
    start = 0
    while start < count:
        before = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + _BYTES, "right")))
        yield start, stop
        start = stop
