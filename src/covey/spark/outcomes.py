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
from covey.store import Prepared

__all__ = ["ASKED", "PUT", "REJECTED", "REMOVED", "WAITING", "Outcomes", "outcome_schema"]

PUT, REMOVED, ASKED, WAITING = "put", "removed", "asked", "waiting"
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
        .add("rows", BinaryType())
    )


@dataclass(slots=True)
class Outcomes:
    """What one task says of its partition."""

    id_type: pa.DataType
    seconds: dict[str, float] = field(default_factory=dict)
    _written: list[tuple[str, Prepared]] = field(default_factory=list)
    _rejected: list[dict[str, Any]] = field(default_factory=list)
    _asked: Counter[str] = field(default_factory=Counter)
    _waiting: list[bytes] = field(default_factory=list)

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

    def ask(self, expressions: Iterable[Sequence[str]]) -> None:
        """Count the expressions that subscriptions wait for."""
        for some in expressions:
            self._asked.update(some)

    def put_off(self, rows: pa.Table) -> None:
        """Keep subscriptions that wait, as they came."""
        if rows.num_rows:
            content = io.BytesIO()
            with pa.ipc.new_stream(content, rows.schema) as stream:
                stream.write_table(rows)
            self._waiting.append(content.getvalue())

    def questions(self) -> Iterator[pa.RecordBatch]:
        """What is to be asked, and who waits for it."""
        rows: list[dict[str, Any]] = [
            {"kind": WAITING, "rows": content} for content in self._waiting
        ]
        rows += [
            {"kind": ASKED, "predicate": expression, "subscriptions": count}
            for expression, count in self._asked.items()
        ]
        yield from self._batches(rows)

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
