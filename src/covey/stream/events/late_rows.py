"""Output rows of candidates: notifications that Spark keeps if their late conditions hold.

Such a row has the late conditions of the candidate, and the columns of the event that these
conditions read. Other rows have nulls instead. Spark drops the rows whose conditions do not hold,
and then the additional columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import StructField, StructType

from covey.space import Attribute
from covey.spark.matching import (
    CONDITIONS_COLUMN,
    LateEvaluation,
    check_reserved,
    encode_in_parts,
)
from covey.spark.schemas import select_column
from covey.store import Snapshot, UndecidedPairs

__all__ = ["NO_LATE_ROWS", "LateRows"]


@dataclass(frozen=True)
class LateRows:
    """Late conditions in the output rows of a stream.

    Args:
        templates: templates of the late conditions; if there are none, rows are not changed.
        event_schema: the columns of events.
        first_column: number of the input column of the task that has the first column of events.
        time_ms: time that relative times in conditions refer to, in milliseconds since 1970; None
            for the time of the batch, which Spark knows.
    """

    templates: tuple[Attribute, ...]
    event_schema: StructType
    first_column: int
    time_ms: int | None = None

    @cached_property
    def _evaluation(self) -> LateEvaluation:
        return LateEvaluation(self.templates, self.time_ms)

    @cached_property
    def columns(self) -> list[str]:
        """Names of the columns of events that late conditions may read."""
        return self._evaluation.find_columns(self.event_schema.names) if self.templates else []

    def extend_schema(self, output_schema: StructType) -> StructType:
        """Return the schema of the output of a task.

        Raises:
            InvalidArgumentError: late conditions read a column whose name is used for the output.
        """
        if not self.templates:
            return output_schema
        # An event may have a column with the name of an output column.
        renamed = [
            StructField(f"covey.{field.name}", field.dataType) for field in output_schema.fields
        ]
        fields = [*renamed, *(self.event_schema[name] for name in self.columns)]
        check_reserved(self.columns, {CONDITIONS_COLUMN, *(field.name for field in renamed)})
        conditions = StructField(CONDITIONS_COLUMN, self._evaluation.conditions_type)
        return StructType([*fields, conditions])

    def has_templates_of(self, snapshot: Snapshot) -> bool:
        """Return whether all templates of the late conditions in a version are known here."""
        known = {template.name for template in self.templates}
        return all(template.name in known for template in snapshot.late_templates)

    def encode_conditions(self, undecided: UndecidedPairs) -> Iterator[tuple[int, int, pa.Array]]:
        """Yield the late conditions of undecided pairs, as `encode_in_parts`."""
        return encode_in_parts(self._evaluation, undecided)

    def extend_batch(
        self,
        batch: pa.RecordBatch,
        events: pa.RecordBatch,
        *,
        query_rows: pa.Array | None = None,
        conditions: pa.Array | None = None,
    ) -> pa.RecordBatch:
        """Return output rows with the additional columns, if there are late conditions.

        Args:
            batch: output rows.
            events: the input of the task.
            query_rows: the row of the event of each output row; None if the rows are certain.
            conditions: the late conditions of each output row; None if the rows are certain.
        """
        if not self.templates:
            return batch
        inputs = events.columns[self.first_column : self.first_column + len(self.columns)]
        added: list[pa.Array] = []
        for column in inputs:
            added.append(
                pa.nulls(len(batch), column.type) if query_rows is None else column.take(query_rows)
            )
        if conditions is None:
            conditions = pa.nulls(len(batch), to_arrow_type(self._evaluation.conditions_type))
        return pa.RecordBatch.from_arrays(
            [*batch.columns, *added, conditions],
            [*(f"covey.{n}" for n in batch.schema.names), *self.columns, CONDITIONS_COLUMN],
        )

    def decide_rows(self, rows: DataFrame, output_columns: Sequence[str]) -> DataFrame:
        """Return the rows whose late conditions hold, without the additional columns."""
        if not self.templates:
            return rows
        kept = self._evaluation.filter_rows(rows)
        return kept.select(*(select_column(f"covey.{name}").alias(name) for name in output_columns))


NO_LATE_ROWS = LateRows((), StructType(), 0)
"""Output rows of a stream without late conditions."""
