"""Values in predicates that no event has, with the most similar value that an event has.

For example, `city = 'rome'` matches nothing if the events have 'Rome'. Only subscriptions that
match no event of the sample are examined, and only columns of texts with at most about 5,000
values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StringType, StructType

from covey.cli.doctor.checks import CheckKind
from covey.errors import PredicateError
from covey.language.text_comparisons import find_text_comparisons
from covey.space import PredicateLimits
from covey.spark.id_types import IdType
from covey.spark.schemas import select_column

__all__ = [
    "MAX_VALUES",
    "collect_text_values",
    "find_unmatched",
    "list_text_columns",
    "suggest_value",
]

MAX_VALUES = 5_000
"""Columns with more different values are not examined."""

_MAX_COLUMNS = 20
_MIN_SIMILARITY = 0.75

ValuesByColumn = Mapping[str, Sequence[str]]


def list_text_columns(events: DataFrame, columns: Sequence[str]) -> list[str]:
    """Return the text columns among the given columns, at most the first 20."""
    texts = {f.name for f in events.schema.fields if isinstance(f.dataType, StringType)}
    return [name for name in columns if name in texts][:_MAX_COLUMNS]


def collect_text_values(events: DataFrame, columns: Sequence[str]) -> dict[str, list[str]]:
    """Return the different values of each of the given text columns, in one pass."""
    values: dict[str, list[str]] = {name: [] for name in columns}
    if columns:
        pairs = [
            F.struct(F.lit(name).alias("name"), select_column(name).alias("value"))
            for name in columns
        ]
        exploded = events.select(F.explode(F.array(*pairs)).alias("pair")).select("pair.*")
        for row in exploded.dropna().distinct().collect():
            values[row["name"]].append(row["value"])
    return {name: sorted(known) for name, known in values.items()}


def find_unmatched(
    unmatched: DataFrame, values: ValuesByColumn, limits: PredicateLimits, event_count: int
) -> DataFrame:
    """Return a finding for each subscription that matches no event of the sample.

    If it compares a column with a value that no event has, but events have a similar one, then the
    value seems to be misspelt, and this is the finding.

    Args:
        unmatched: facts about the subscriptions that match no event of the sample.
        values: the values of events by column.
        limits: limits for predicates.
        event_count: number of events in the sample.
    """
    id_field = unmatched.schema["id"]
    schema = (
        StructType()
        .add("kind", StringType())
        .add("id", id_field.dataType)
        .add("predicate", StringType())
        .add("problem", StringType())
        .add("line", IntegerType())
        .add("column", IntegerType())
    )
    id_type = IdType.from_spark("id", id_field.dataType).arrow_type
    lower = {name.lower(): list(known) for name, known in values.items()}
    task = _UnmatchedTask(lower, limits, id_type, f"matches none of {event_count:,} events")
    return unmatched.select("id", "predicate").mapInArrow(task, schema)


@dataclass(frozen=True, slots=True)
class _UnmatchedTask:
    """Function for `mapInArrow` that explains why predicates match no event.

    `values` are the values of events by the name of their column in lower case. `problem` is the
    text of a finding if no value seems to be misspelt.
    """

    values: dict[str, list[str]]
    limits: PredicateLimits
    id_type: pa.DataType
    problem: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            errors = [
                suggest_value(text, self.values, self.limits)
                for text in batch.column(1).to_pylist()
            ]
            kinds = [CheckKind.UNKNOWN_VALUE if e else CheckKind.UNMATCHED for e in errors]
            texts = [f"{e.problem}; {e.hint}" if e else self.problem for e in errors]
            columns = [
                pa.array([kind.value for kind in kinds], pa.string()),
                batch.column(0).cast(self.id_type),
                batch.column(1).cast(pa.string()),
                pa.array(texts, pa.string()),
                pa.array([e and e.line for e in errors], pa.int32()),
                pa.array([e and e.column for e in errors], pa.int32()),
            ]
            names = ["kind", "id", "predicate", "problem", "line", "column"]
            yield pa.RecordBatch.from_arrays(columns, names)


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
    """Return the known value that is most similar to a value, or None if none is similar.

    A value that differs only in case, or in whitespace at its ends, is the most similar one.
    """
    plain = value.strip().casefold()
    for one in known:
        if one.strip().casefold() == plain:
            return one
    return next(iter(get_close_matches(value, known, 1, _MIN_SIMILARITY)), None)
