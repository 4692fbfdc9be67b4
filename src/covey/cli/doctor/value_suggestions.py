"""Values in predicates that no event has, with the nearest value that events do have.

`city = 'rome'` matches nothing where the data has 'Rome'. Only subscriptions that match no event of
the sample are examined, and only columns of texts with few different values.
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
    """Return the different values of text columns, without columns that have more than 5,000.

    Cost: a pass over the events for each column, of at most 20.
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
    """Return id, predicate, problem, line and column of predicates that compare with such a value.

    `unmatched` has the columns id and predicate.
    """
    schema = StructType().add("id", unmatched.schema["id"].dataType).add("predicate", StringType())
    schema = schema.add("problem", StringType())
    schema = schema.add("line", IntegerType()).add("column", IntegerType())
    id_type = IdType.from_spark("id", schema["id"].dataType).arrow_type
    task = _UnknownValueTask({name.lower(): list(v) for name, v in values.items()}, limits, id_type)
    return unmatched.select("id", "predicate").mapInArrow(task, schema)


@dataclass(frozen=True, slots=True)
class _UnknownValueTask:
    """Examine predicates in a worker; `values` are those of events, by column in lower case."""

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
    """Return the first comparison with a value that no event has, if a similar value exists.

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
    """Return the known value that differs in case or blanks only, or in few characters."""
    plain = value.strip().casefold()
    for one in known:
        if one.strip().casefold() == plain:
            return one
    return next(iter(get_close_matches(value, known, 1, _MIN_SIMILARITY)), None)
