"""Number of events that a predicate matched, by period: one pass over the events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import DateType, TimestampNTZType, TimestampType

from covey.errors import InvalidArgumentError
from covey.sql_names import quote_identifier

__all__ = ["MatchHistory", "Period", "compute_match_history", "find_time_column"]

_MAX_DAYS, _MAX_MONTHS = 31, 36
_TIME_TEXT_LENGTH = len("2024-05-31 18:30:00")
_TIME_TYPES = (TimestampType, TimestampNTZType, DateType)


class Period(NamedTuple):
    """Counts of a day, a month or a year, which `name` names as in ISO 8601, such as 2024-05."""

    name: str
    events: int
    matches: int


@dataclass(frozen=True, slots=True)
class MatchHistory:
    """Numbers of events and matches; there are no periods if events have no time."""

    events: int
    matches: int
    time_column: str | None = None
    unit: str = ""
    first_time: str = ""
    last_time: str = ""
    days_with_events: int = 0
    periods: tuple[Period, ...] = ()


def find_time_column(events: DataFrame, requested: str | None) -> str | None:
    """Return the column with the time of an event: the requested one, or a chosen one.

    The first column of timestamps is chosen, then the first one of timestamps without time zone,
    then the first one of dates. If there is none, the result is None.

    Raises:
        InvalidArgumentError: the requested column has another type.
    """
    if requested is None:
        times = (
            f.name for kind in _TIME_TYPES for f in events.schema if isinstance(f.dataType, kind)
        )
        return next(times, None)
    type_ = events.schema[requested].dataType
    if not isinstance(type_, _TIME_TYPES):
        raise InvalidArgumentError(
            f"--time {requested}: the column must be a date or timestamp, but has type "
            f"{type_.simpleString()}"
        )
    return requested


def compute_match_history(
    events: DataFrame, predicate: str, time_column: str | None
) -> MatchHistory:
    """Count events and matches with Spark, by day, month or year if events have a time."""
    when = (
        F.col(quote_identifier(time_column))
        if time_column is not None
        else F.lit(None).cast("date")
    )
    by_day = (
        events.groupBy(F.to_date(when).cast("string").alias("day"))
        .agg(
            F.count(F.lit(1)).alias("events"),
            F.count_if(F.expr(predicate)).alias("matches"),
            F.min(when).cast("string").substr(1, _TIME_TEXT_LENGTH).alias("first"),
            F.max(when).cast("string").substr(1, _TIME_TEXT_LENGTH).alias("last"),
        )
        .orderBy("day")
        .collect()
    )
    counts = sum(row["events"] for row in by_day), sum(row["matches"] for row in by_day)
    dated = [row for row in by_day if row["day"] is not None]
    if not dated:
        return MatchHistory(*counts)
    unit, periods = _group_by_period(dated)
    return MatchHistory(
        *counts, time_column, unit, dated[0]["first"], dated[-1]["last"], len(dated), periods
    )


def _group_by_period(day_rows: Sequence[Row]) -> tuple[str, tuple[Period, ...]]:
    """Return the unit and the counts of periods: days, or else months, or else years.

    Days are used if there are at most 31 of them, months if there are at most 36 of them.
    """
    unit, length = "day", 10
    if len(day_rows) > _MAX_DAYS:
        unit, length = "month", 7
    if len({row["day"][:length] for row in day_rows}) > _MAX_MONTHS:
        unit, length = "year", 4
    events: dict[str, int] = {}
    matches: dict[str, int] = {}
    for row in day_rows:
        name = row["day"][:length]
        events[name] = events.get(name, 0) + row["events"]
        matches[name] = matches.get(name, 0) + row["matches"]
    return unit, tuple(Period(name, events[name], matches[name]) for name in events)
