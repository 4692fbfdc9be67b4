"""How often a predicate would have matched, and when: one pass over the events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import DateType, TimestampNTZType, TimestampType

from covey.cli.reading import check_columns
from covey.errors import ValueRefused
from covey.quoting import quoted

__all__ = ["History", "Period", "history", "time_column"]

_MOST_DAYS, _MOST_MONTHS = 31, 36
_SECONDS = len("2024-05-31 18:30:00")
_TIMES = (TimestampType, TimestampNTZType, DateType)


class Period(NamedTuple):
    """A day, a month or a year; `name` is as in ISO 8601."""

    name: str
    events: int
    matches: int


@dataclass(frozen=True, slots=True)
class History:
    """What a predicate would have matched; without a time there are no periods."""

    events: int
    matches: int
    time: str | None = None
    unit: str = ""
    first: str = ""
    last: str = ""
    days: int = 0
    periods: tuple[Period, ...] = ()


def time_column(events: DataFrame, given: str | None) -> str | None:
    """The column that says when an event was: the given one, or the first that is a time."""
    if given is None:
        times = (f.name for kind in _TIMES for f in events.schema if isinstance(f.dataType, kind))
        return next(times, None)
    check_columns(events, [given], "events")
    type_ = events.schema[given].dataType
    if not isinstance(type_, _TIMES):
        raise ValueRefused(
            f"--time {given}: that column is {type_.simpleString()}, no date or timestamp"
        )
    return given


def history(events: DataFrame, predicate: str, time: str | None) -> History:
    """Counts events and matches, by day if there is a time; Spark's `where` decides."""
    when = F.col(quoted(time)) if time is not None else F.lit(None).cast("date")
    by_day = (
        events.groupBy(F.to_date(when).cast("string").alias("day"))
        .agg(
            F.count(F.lit(1)).alias("events"),
            F.count_if(F.expr(predicate)).alias("matches"),
            F.min(when).cast("string").substr(1, _SECONDS).alias("first"),
            F.max(when).cast("string").substr(1, _SECONDS).alias("last"),
        )
        .orderBy("day")
        .collect()
    )
    counts = sum(row["events"] for row in by_day), sum(row["matches"] for row in by_day)
    dated = [row for row in by_day if row["day"] is not None]
    if not dated:
        return History(*counts)
    unit, periods = _periods(dated)
    return History(*counts, time, unit, dated[0]["first"], dated[-1]["last"], len(dated), periods)


def _periods(days: Sequence[Row]) -> tuple[str, tuple[Period, ...]]:
    """Few enough periods to read: days, or months, or years."""
    unit, length = "day", 10
    if len(days) > _MOST_DAYS:
        unit, length = "month", 7
    if len({row["day"][:length] for row in days}) > _MOST_MONTHS:
        unit, length = "year", 4
    events: dict[str, int] = {}
    matches: dict[str, int] = {}
    for row in days:
        name = row["day"][:length]
        events[name] = events.get(name, 0) + row["events"]
        matches[name] = matches.get(name, 0) + row["matches"]
    return unit, tuple(Period(name, events[name], matches[name]) for name in events)
