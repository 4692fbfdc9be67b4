"""Lifetimes: one more interval, on the time of an event.

A subscription counts from `validFrom` on and no longer at `validTo`; null is an open end. The time
of an event is the column that the user names, or without one the time at which Spark matches. It is
an attribute of its own, so that no predicate can be in its way.
"""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import Column
from pyspark.sql import functions as F

from covey.space import Attribute, Space
from covey.space.types import TIMESTAMP
from covey.spark.fitting.range_columns import RangeColumns
from covey.spark.schemas import select_attribute, select_column

__all__ = [
    "VALIDITY",
    "select_attribute_or_time",
    "select_event_time",
    "validity_range_columns",
    "with_validity",
    "without_validity",
]

VALIDITY = "covey.lifetime"
"""The attribute that lifetimes constrain."""


def with_validity(space: Space) -> Space:
    """A space in which subscriptions have a lifetime."""
    return replace(space, columns=(*space.columns, Attribute(VALIDITY, TIMESTAMP)))


def without_validity(space: Space) -> Space:
    """The space of the predicates."""
    columns = tuple(column for column in space.columns if column.name != VALIDITY)
    return space if len(columns) == len(space.columns) else replace(space, columns=columns)


def validity_range_columns() -> RangeColumns:
    """The constraint, from columns that are named as here."""
    return RangeColumns(VALIDITY, "valid_from", "valid_to", is_closed=False)


def select_attribute_or_time(space: Space, name: str, time_column: str | None) -> Column:
    """What Spark computes of an event for an attribute."""
    if name == VALIDITY:
        return select_event_time(time_column)
    return select_attribute(space[name])


def select_event_time(column: str | None) -> Column:
    """The time of an event."""
    if column is None:
        return F.current_timestamp()
    return select_column(column).cast("timestamp")
