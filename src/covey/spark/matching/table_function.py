"""Table function for SQL that matches events with a model.

The schema of its output is fixed when the function is built. So Spark does not have to call Python
for the schema in each query.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

import pyarrow as pa
from pyspark.sql.functions import arrow_udtf
from pyspark.sql.types import StructType
from pyspark.sql.udtf import UserDefinedTableFunction

from covey.errors import SchemaError
from covey.spark.matching.match_task import MatchTask
from covey.spark.validity import VALIDITY

__all__ = ["build_table_function"]


def build_table_function(
    match_task: MatchTask, column_names: Sequence[str], time_column: str | None, schema: StructType
) -> UserDefinedTableFunction:
    """Return a table function for `spark.udtf.register`, whose argument is a table of events.

    Args:
        match_task: the task that matches batches.
        column_names: columns of the table that `match_task` receives, in this order; `VALIDITY` is
            the time of the event.
        time_column: column with the time of events; None if there is none.
        schema: schema of the output.
    """

    class Match:
        """Table function that matches the events of a table."""

        def eval(self, events: pa.RecordBatch) -> Iterator[pa.Table]:
            columns = [_take_column(events, name, time_column) for name in column_names]
            batch = pa.RecordBatch.from_arrays(columns, [f"c{i}" for i in range(len(column_names))])
            for matched in match_task(iter([batch])):
                yield pa.Table.from_batches([matched])

    return cast(UserDefinedTableFunction, arrow_udtf(Match, returnType=schema))


def _take_column(events: pa.RecordBatch, name: str, time_column: str | None) -> pa.Array:
    if name == VALIDITY:
        if time_column is None:
            raise SchemaError(
                "subscriptions have validity intervals, so SQL needs the time of events: set "
                "eventTimeCol, and register the function again"
            )
        time = _take_column(events, time_column, None)
        if not pa.types.is_timestamp(time.type) or time.type.tz is None:
            raise SchemaError(
                f"column {time_column!r} of the table is not a TIMESTAMP: cast it in the query of "
                "the table"
            )
        return time.cast(pa.timestamp("us", "UTC"))
    lowered = [column.lower() for column in events.schema.names]
    if name.lower() not in lowered:
        raise SchemaError(
            f"the table has no column {name!r}: add it; if it is an expression, write "
            f"TABLE(SELECT *, {name} AS `{name}` FROM …)"
        )
    return events.column(lowered.index(name.lower()))
