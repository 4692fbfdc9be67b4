"""Validity intervals: a subscription matches only events whose time its interval contains.

The interval includes its start and excludes its end; a null means that it has no start or no end.
The time of an event is read from a column that the user names, or is Spark's current time. It is a
separate attribute, which predicates cannot constrain.
"""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import Column
from pyspark.sql import functions as F

from covey.geometry import Regions
from covey.space import Attribute, Space
from covey.space.types import TIMESTAMP
from covey.spark.fitting.range_columns import RangeColumns
from covey.spark.schemas import select_attribute, select_column

__all__ = [
    "VALIDITY",
    "drop_validity",
    "select_attribute_or_time",
    "select_event_time",
    "validity_range_columns",
    "with_validity",
    "without_validity",
]

VALIDITY = "covey.lifetime"
"""Name of the attribute that validity intervals constrain."""


def with_validity(space: Space) -> Space:
    """Return the space with `VALIDITY` as one more attribute."""
    return replace(space, columns=(*space.columns, Attribute(VALIDITY, TIMESTAMP)))


def without_validity(space: Space) -> Space:
    """Return the space without the attribute `VALIDITY`; predicates are parsed in this space."""
    columns = tuple(column for column in space.columns if column.name != VALIDITY)
    return space if len(columns) == len(space.columns) else replace(space, columns=columns)


def drop_validity(regions: Regions) -> Regions:
    """Return regions without their validity intervals, in the space without `VALIDITY`."""
    constraints = {name: c for name, c in regions.constraints.items() if name != VALIDITY}
    return replace(regions, space=without_validity(regions.space), constraints=constraints)


def validity_range_columns() -> RangeColumns:
    """Return the range columns of validity intervals: `valid_from` and `valid_to`."""
    return RangeColumns(VALIDITY, "valid_from", "valid_to", is_closed=False)


def select_attribute_or_time(space: Space, name: str, time_column: str | None) -> Column:
    """Return the expression with which Spark computes an attribute or the time of an event.

    Args:
        space: the space of the subscriptions.
        name: name of the attribute; `VALIDITY` for the time of the event.
        time_column: column with the time of events; None for Spark's current time.
    """
    if name == VALIDITY:
        return select_event_time(time_column)
    return select_attribute(space[name])


def select_event_time(column: str | None) -> Column:
    """Return the expression with which Spark computes the time of an event.

    It is the column cast to a timestamp, or Spark's current time if `column` is None.
    """
    if column is None:
        return F.current_timestamp()
    return select_column(column).cast("timestamp")
