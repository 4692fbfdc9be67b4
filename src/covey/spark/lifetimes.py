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
from covey.spark.ranges import Range
from covey.spark.schemas import column_named, derived_or_column

__all__ = [
    "LIFETIME", "attribute_column", "event_time", "lifetime_range", "with_lifetime",
    "without_lifetime",
]  # fmt: skip

LIFETIME = "covey.lifetime"
"""The attribute that lifetimes constrain."""


def with_lifetime(space: Space) -> Space:
    """A space in which subscriptions have a lifetime."""
    return replace(space, columns=(*space.columns, Attribute(LIFETIME, TIMESTAMP)))


def without_lifetime(space: Space) -> Space:
    """The space of the predicates."""
    columns = tuple(column for column in space.columns if column.name != LIFETIME)
    return space if len(columns) == len(space.columns) else replace(space, columns=columns)


def lifetime_range() -> Range:
    """The constraint, from columns that are named as here."""
    return Range(LIFETIME, "valid_from", "valid_to", is_closed=False)


def attribute_column(space: Space, name: str, time_column: str | None) -> Column:
    """What Spark computes of an event for an attribute."""
    if name == LIFETIME:
        return event_time(time_column)
    return derived_or_column(space[name])


def event_time(column: str | None) -> Column:
    """The time of an event."""
    if column is None:
        return F.current_timestamp()
    return column_named(column).cast("timestamp")
