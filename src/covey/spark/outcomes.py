"""What became of the subscriptions of one task: the segments it wrote, and what it rejected.

Both are rows of one DataFrame, since a task has one output: a row with a `file` is a segment, a row
with an `error` a subscription.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType, IntegerType, LongType, StringType, StructType

from covey.errors import PredicateError
from covey.store import Prepared

__all__ = ["PUT", "REJECTED", "REMOVED", "Outcomes", "outcome_schema"]

PUT, REMOVED = "put", "removed"
REJECTED = ("predicate", "error", "line", "column")
"""The columns that a rejected subscription has besides its id."""
_AT_ONCE = 10_000  # rejected subscriptions in one batch


def outcome_schema(id_type: DataType) -> StructType:
    """The columns of outcomes."""
    return (
        StructType()
        .add("id", id_type)
        .add("predicate", StringType())
        .add("error", StringType())
        .add("line", IntegerType())
        .add("column", IntegerType())
        .add("kind", StringType())
        .add("file", StringType())
        .add("size_bytes", LongType())
        .add("subscriptions", LongType())
        .add("seconds", StringType())
    )


@dataclass(slots=True)
class Outcomes:
    """What one task says of its partition."""

    id_type: pa.DataType
    seconds: dict[str, float] = field(default_factory=dict)
    _written: list[tuple[str, Prepared]] = field(default_factory=list)
    _rejected: list[dict[str, Any]] = field(default_factory=list)

    def spent(self, part: str, seconds: float) -> None:
        """Counts time for a part of the work."""
        self.seconds[part] = self.seconds.get(part, 0.0) + seconds

    def written(self, kind: str, prepared: Prepared | None) -> None:
        """Counts a segment, if there is one."""
        if prepared is not None:
            self._written.append((kind, prepared))

    def reject(self, id_: object, predicate: str | None, error: str | PredicateError) -> None:
        """Counts a subscription that is not taken."""
        row: dict[str, Any] = {"id": id_, "predicate": predicate, "error": str(error)}
        if isinstance(error, PredicateError):
            problem = f"{error.problem}; {error.hint}" if error.hint else error.problem
            row |= {"error": problem, "line": error.line, "column": error.column}
        self._rejected.append(row)

    def rejections(self) -> Iterator[pa.RecordBatch]:
        """What was rejected since the last call, so that it need not be kept."""
        rows, self._rejected = self._rejected, []
        yield from self._batches(rows)

    def segments(self) -> Iterator[pa.RecordBatch]:
        """What was written, and the time that all took."""
        rows: list[dict[str, Any]] = []
        for n, (kind, prepared) in enumerate(self._written):
            rows.append(
                {
                    "kind": kind,
                    "file": prepared.file,
                    "size_bytes": prepared.size_bytes,
                    "subscriptions": prepared.subscriptions,
                    "seconds": json.dumps(self.seconds) if n == 0 else "{}",
                }
            )
        yield from self._batches(rows)

    def _batches(self, rows: list[dict[str, Any]]) -> Iterator[pa.RecordBatch]:
        schema = _arrow_schema(self.id_type)
        for start in range(0, len(rows), _AT_ONCE):
            yield pa.RecordBatch.from_pylist(rows[start : start + _AT_ONCE], schema)


def _arrow_schema(id_type: pa.DataType) -> pa.Schema:
    """`outcome_schema` as Arrow has it."""
    others = outcome_schema(LongType()).fields[1:]
    return pa.schema([("id", id_type), *((f.name, to_arrow_type(f.dataType)) for f in others)])
