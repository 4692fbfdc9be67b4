"""Results of a task that encodes subscriptions: staged segments, rejections, expressions.

All results are rows of one DataFrame, because a task has one output. A row with a `file` is a
staged segment, and a row with an `error` is a rejected subscription. A row with `rows` contains
subscriptions that wait for the types of their expressions, and their number. A row of kind
`EXPRESSION_KIND` is an expression of unknown type, with its template and the number of
subscriptions that use it.
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
from covey.language.semantics import split_expression
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

UPSERT_KIND, REMOVAL_KIND = "upsert", "removal"
EXPRESSION_KIND, WAITING_KIND = "expression", "waiting"
REJECTION_COLUMNS = ("predicate", "error", "line", "column")
"""Columns of a rejected subscription besides its id."""
_BATCH_ROWS = 10_000  # rows of one batch


def task_result_schema(id_type: DataType) -> StructType:
    """Return the schema of task results; `id_type` is Spark's type of the ids."""
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
        .add("template", StringType())
    )


@dataclass(slots=True)
class TaskResults:
    """Results of one task: they are collected, and then returned as batches of rows.

    `id_type` is the Arrow type of the ids. `seconds` contains the elapsed seconds of each step.
    """

    id_type: pa.DataType
    seconds: dict[str, float] = field(default_factory=dict)
    _segments: list[tuple[str, StagedSegment]] = field(default_factory=list)
    _rejections: list[dict[str, Any]] = field(default_factory=list)
    _expression_counts: Counter[str] = field(default_factory=Counter)
    _waiting_tables: list[tuple[bytes, int]] = field(default_factory=list)

    def add_seconds(self, step: str, seconds: float) -> None:
        """Add elapsed seconds to the sum of a step."""
        self.seconds[step] = self.seconds.get(step, 0.0) + seconds

    def add_segment(self, kind: str, staged_segment: StagedSegment | None) -> None:
        """Add a staged segment of upserts or removals, unless it is None."""
        if staged_segment is not None:
            self._segments.append((kind, staged_segment))

    def add_rejection(
        self, subscription_id: object, predicate: str | None, error: str | PredicateError
    ) -> None:
        """Add a rejected subscription with its error."""
        row: dict[str, Any] = {"id": subscription_id, "predicate": predicate, "error": str(error)}
        if isinstance(error, PredicateError):
            problem = f"{error.problem}; {error.hint}" if error.hint else error.problem
            row |= {"error": problem, "line": error.line, "column": error.column}
        self._rejections.append(row)

    def add_expressions(self, expressions: Iterable[Sequence[str]]) -> None:
        """Count for each expression of unknown type the subscriptions that use it.

        Args:
            expressions: the expressions of each waiting subscription; an expression that one
                subscription uses several times counts once.
        """
        for subscription_expressions in expressions:
            self._expression_counts.update(set(subscription_expressions))

    def add_waiting(self, rows: pa.Table) -> None:
        """Add the input rows of subscriptions that wait for types of expressions."""
        if rows.num_rows:
            content = io.BytesIO()
            with pa.ipc.new_stream(content, rows.schema) as stream:
                stream.write_table(rows)
            self._waiting_tables.append((content.getvalue(), rows.num_rows))

    def waiting_batches(self) -> Iterator[pa.RecordBatch]:
        """Yield batches with waiting subscriptions, and with the expressions of unknown type."""
        rows: list[dict[str, Any]] = [
            {"kind": WAITING_KIND, "rows": content, "subscriptions": count}
            for content, count in self._waiting_tables
        ]
        rows += [
            {
                "kind": EXPRESSION_KIND,
                "predicate": expression,
                "subscriptions": count,
                "template": split_expression(expression)[0],
            }
            for expression, count in self._expression_counts.items()
        ]
        yield from self._to_batches(rows)

    def drain_rejections(self) -> Iterator[pa.RecordBatch]:
        """Yield batches with a row for each subscription that was rejected since the last call."""
        rows, self._rejections = self._rejections, []
        yield from self._to_batches(rows)

    def segment_batches(self) -> Iterator[pa.RecordBatch]:
        """Yield batches with a row for each staged segment.

        The first row contains the seconds of all steps.
        """
        rows: list[dict[str, Any]] = []
        for n, (kind, staged) in enumerate(self._segments):
            rows.append(
                {
                    "kind": kind,
                    "file": staged.file,
                    "size_bytes": staged.size_bytes,
                    "subscriptions": staged.subscriptions,
                    "seconds": json.dumps(self.seconds) if n == 0 else "{}",
                }
            )
        yield from self._to_batches(rows)

    def _to_batches(self, rows: list[dict[str, Any]]) -> Iterator[pa.RecordBatch]:
        schema = _arrow_schema(self.id_type)
        for start in range(0, len(rows), _BATCH_ROWS):
            yield pa.RecordBatch.from_pylist(rows[start : start + _BATCH_ROWS], schema)


def _arrow_schema(id_type: pa.DataType) -> pa.Schema:
    """Return the schema of task results as an Arrow schema, for an Arrow type of ids."""
    fields = task_result_schema(LongType()).fields[1:]
    return pa.schema([("id", id_type), *((f.name, to_arrow_type(f.dataType)) for f in fields)])
