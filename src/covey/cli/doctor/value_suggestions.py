"""Values in predicates that no event has, with the most similar value that an event has.

For example, `city = 'rome'` matches nothing if the events have 'Rome'. Only subscriptions that
match no event of the sample are examined, and only columns of texts with at most 5,000 values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StringType, StructType

from covey.errors import PredicateError
from covey.language.text_comparisons import find_text_comparisons
from covey.space import PredicateLimits
from covey.spark.id_types import IdType
from covey.sql_names import quote_identifier

__all__ = ["collect_text_values", "find_unknown_values", "suggest_value"]

_MAX_COLUMNS, _MAX_VALUES = 20, 5_000
_MIN_SIMILARITY = 0.75

ValuesByColumn = Mapping[str, Sequence[str]]


def collect_text_values(events: DataFrame, columns: Sequence[str]) -> dict[str, list[str]]:
    """Return the different values of each text column among the given columns.

    Columns with more than 5,000 different values are left out.

    Cost: a pass over the events for each column. Only the first 20 text columns are read.
    """
    texts = [f.name for f in events.schema.fields if isinstance(f.dataType, StringType)]
    values = {}
    for name in [name for name in columns if name in texts][:_MAX_COLUMNS]:
        column = F.col(quote_identifier(name)).alias("value")
        rows = events.select(column).distinct().limit(_MAX_VALUES + 1).collect()
        if len(rows) <= _MAX_VALUES:
            values[name] = sorted(row["value"] for row in rows if row["value"] is not None)
    return values


def find_unknown_values(
    unmatched: DataFrame, values: ValuesByColumn, limits: PredicateLimits
) -> DataFrame:
    """Return the subscriptions that compare a column with a value that seems to be misspelt.

    No event has this value, but events have a similar one.

    Args:
        unmatched: columns `id` and `predicate` of subscriptions that match no event of the sample.
        values: the values of events by column.
        limits: limits for predicates.

    Returns:
        A DataFrame with the columns `id`, `predicate`, `problem`, `line` and `column`; the last two
        are the position of the comparison.
    """
    schema = StructType().add("id", unmatched.schema["id"].dataType).add("predicate", StringType())
    schema = schema.add("problem", StringType())
    schema = schema.add("line", IntegerType()).add("column", IntegerType())
    id_type = IdType.from_spark("id", schema["id"].dataType).arrow_type
    task = _UnknownValueTask({name.lower(): list(v) for name, v in values.items()}, limits, id_type)
    return unmatched.select("id", "predicate").mapInArrow(task, schema)


@dataclass(frozen=True, slots=True)
class _UnknownValueTask:
    """Function for `mapInArrow` that examines predicates.

    `values` are the values of events by the name of their column in lower case.
    """

    values: dict[str, list[str]]
    limits: PredicateLimits
    id_type: pa.DataType

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            errors = [
                suggest_value(text, self.values, self.limits)
                for text in batch.column(1).to_pylist()
            ]
            columns = [
                batch.column(0).cast(self.id_type),
                batch.column(1).cast(pa.string()),
                pa.array([e and f"{e.problem}; {e.hint}" for e in errors], pa.string()),
                pa.array([e and e.line for e in errors], pa.int32()),
                pa.array([e and e.column for e in errors], pa.int32()),
            ]
            names = ["id", "predicate", "problem", "line", "column"]
            yield pa.RecordBatch.from_arrays(columns, names).filter(
                pa.array([e is not None for e in errors])
            )


def suggest_value(
    text: str, values: ValuesByColumn, limits: PredicateLimits
) -> PredicateError | None:
    """Return an error for the first comparison with a value that no event has.

    Comparisons for which events have no similar value are skipped. The result is None if there is
    no other comparison, or if the predicate cannot be read.

    >>> found = suggest_value("city = 'rome'", {"city": ["Oslo", "Rome"]}, PredicateLimits())
    >>> found.problem, found.hint
    ("no event has city = 'rome'", "did you mean 'Rome'?")
    """
    try:
        comparisons = find_text_comparisons(text, limits)
    except PredicateError:
        return None
    for column, value, offset in comparisons:
        known = values.get(column.lower(), [value])
        nearest = None if value in known else _find_nearest(value, known)
        if nearest is not None:
            problem = f"no event has {column} = {value!r}"
            return PredicateError(problem, text, offset, f"did you mean {nearest!r}?")
    return None


def _find_nearest(value: str, known: Sequence[str]) -> str | None:
    """Return the known value that differs only in case or outer blanks, or in a few characters.

    None is returned if there is no such value.
    """
    plain = value.strip().casefold()
    for one in known:
        if one.strip().casefold() == plain:
            return one
    return next(iter(get_close_matches(value, known, 1, _MIN_SIMILARITY)), None)
