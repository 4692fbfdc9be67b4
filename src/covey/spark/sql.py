"""A model as a table function of SQL. Its schema is fixed, which is what makes it fast."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

import pyarrow as pa
from pyspark.sql.functions import arrow_udtf
from pyspark.sql.types import StructType
from pyspark.sql.udtf import UserDefinedTableFunction

from covey.errors import SpaceError
from covey.spark.lifetimes import LIFETIME
from covey.spark.matching import Matching

__all__ = ["table_function"]


def table_function(
    matching: Matching, names: Sequence[str], time_column: str | None, schema: StructType
) -> UserDefinedTableFunction:
    """What `spark.udtf.register` takes; its one argument is a table of events.

    Of the table the columns with these names are given to `matching`, in this order.
    """

    class Match:
        """Matches the events of a table."""

        def eval(self, events: pa.RecordBatch) -> Iterator[pa.Table]:
            columns = [_column(events, name, time_column) for name in names]
            batch = pa.RecordBatch.from_arrays(columns, [f"c{i}" for i in range(len(names))])
            for matched in matching(iter([batch])):
                yield pa.Table.from_batches([matched])

    return cast(UserDefinedTableFunction, arrow_udtf(Match, returnType=schema))


def _column(events: pa.RecordBatch, name: str, time_column: str | None) -> pa.Array:
    if name == LIFETIME:
        if time_column is None:
            raise SpaceError("subscriptions have lifetimes: fit with eventTimeCol to match in SQL")
        time = _column(events, time_column, None)
        if not pa.types.is_timestamp(time.type) or time.type.tz is None:
            raise SpaceError(f"column {time_column!r} is no TIMESTAMP: CAST it in the table")
        return time.cast(pa.timestamp("us", "UTC"))
    lowered = [column.lower() for column in events.schema.names]
    if name.lower() not in lowered:
        raise SpaceError(
            f"the table has no column {name!r}: if it is an expression, compute it as in "
            f"TABLE(SELECT *, {name} AS `{name}` FROM …)"
        )
    return events.column(lowered.index(name.lower()))
