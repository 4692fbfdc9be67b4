"""What became of the subscriptions of one task: segments that it wrote, and what it rejected.

All are rows of one DataFrame, since a task has one output. A row with a `file` is a segment, a row
with an `error` a subscription that was rejected. A row with `rows` has subscriptions that wait for
what Spark says of their expressions, and one of kind `ASKED` such an expression, with the number of
subscriptions that compare it.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import (
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructType,
)  # fmt: skip

from covey.errors import PredicateError
from covey.store import StagedSegment

__all__ = [
    "EXPRESSION_KIND",
    "REJECTION_COLUMNS",
    "REMOVAL_KIND",
    "UPSERT_KIND",
    "WAITING_KIND",
    "TaskResults",
    "task_result_schema",
]

UPSERT_KIND, REMOVAL_KIND, EXPRESSION_KIND, WAITING_KIND = "put", "removed", "asked", "waiting"
REJECTION_COLUMNS = ("predicate", "error", "line", "column")
"""The columns that a rejected subscription has besides its id."""
_BATCH_ROWS = 10_000  # rejected subscriptions in one batch


def task_result_schema(id_type: DataType) -> StructType:
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
        .add("rows", BinaryType())
    )


@dataclass(slots=True)
class TaskResults:
    """What one task says of its partition."""

    id_type: pa.DataType
    seconds: dict[str, float] = field(default_factory=dict)
    _segments: list[tuple[str, StagedSegment]] = field(default_factory=list)
    _rejections: list[dict[str, Any]] = field(default_factory=list)
    _expression_counts: Counter[str] = field(default_factory=Counter)
    _waiting_tables: list[bytes] = field(default_factory=list)

    def add_seconds(self, step: str, seconds: float) -> None:
        """Counts time for a part of the work."""
        self.seconds[step] = self.seconds.get(step, 0.0) + seconds

    def add_segment(self, kind: str, staged_segment: StagedSegment | None) -> None:
        """Counts a segment, if there is one."""
        if staged_segment is not None:
            self._segments.append((kind, staged_segment))

    def add_rejection(
        self, subscription_id: object, predicate: str | None, error: str | PredicateError
    ) -> None:
        """Counts a subscription that is not taken."""
        row: dict[str, Any] = {"id": subscription_id, "predicate": predicate, "error": str(error)}
        if isinstance(error, PredicateError):
            problem = f"{error.problem}; {error.hint}" if error.hint else error.problem
            row |= {"error": problem, "line": error.line, "column": error.column}
        self._rejections.append(row)

    def add_expressions(self, expressions: Iterable[Sequence[str]]) -> None:
        """Count the expressions that subscriptions wait for."""
        for some in expressions:
            self._expression_counts.update(some)

    def add_waiting(self, rows: pa.Table) -> None:
        """Keep subscriptions that wait, as they came."""
        if rows.num_rows:
            content = io.BytesIO()
            with pa.ipc.new_stream(content, rows.schema) as stream:
                stream.write_table(rows)
            self._waiting_tables.append(content.getvalue())

    def waiting_batches(self) -> Iterator[pa.RecordBatch]:
        """What is to be asked, and who waits for it."""
        rows: list[dict[str, Any]] = [
            {"kind": WAITING_KIND, "rows": content} for content in self._waiting_tables
        ]
        rows += [
            {"kind": EXPRESSION_KIND, "predicate": expression, "subscriptions": count}
            for expression, count in self._expression_counts.items()
        ]
        yield from self._to_batches(rows)

    def drain_rejections(self) -> Iterator[pa.RecordBatch]:
        """What was rejected since the last call, so that it need not be kept."""
        rows, self._rejections = self._rejections, []
        yield from self._to_batches(rows)

    def segment_batches(self) -> Iterator[pa.RecordBatch]:
        """What was written, and the time that all took."""
        rows: list[dict[str, Any]] = []
        for n, (kind, prepared) in enumerate(self._segments):
            rows.append(
                {
                    "kind": kind,
                    "file": prepared.file,
                    "size_bytes": prepared.size_bytes,
                    "subscriptions": prepared.subscriptions,
                    "seconds": json.dumps(self.seconds) if n == 0 else "{}",
                }
            )
        yield from self._to_batches(rows)

    def _to_batches(self, rows: list[dict[str, Any]]) -> Iterator[pa.RecordBatch]:
        schema = _arrow_schema(self.id_type)
        for start in range(0, len(rows), _BATCH_ROWS):
            yield pa.RecordBatch.from_pylist(rows[start : start + _BATCH_ROWS], schema)


def _arrow_schema(id_type: pa.DataType) -> pa.Schema:
    """`task_result_schema` as Arrow has it."""
    others = task_result_schema(LongType()).fields[1:]
    return pa.schema([("id", id_type), *((f.name, to_arrow_type(f.dataType)) for f in others)])
