"""Splits: each divides the events of a zone in two sides, low and high, by one attribute.

An event is on one side. A region is on every side that it may have an event on: where that is not
known for sure it is on both, so that no event misses it. An event without a value is on the low
side of any split, and a split by null is there to give it a zone of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.geometry.scalars import Scalars
from covey.language.values import key_literal
from covey.space import Events
from covey.space.events import ScalarColumn
from covey.space.types import Type

__all__ = ["KeySplit", "NullSplit", "Sides", "Split"]

Bools = NDArray[np.bool_]
Rows = NDArray[np.int64]
Sides = tuple[Bools, Bools]
"""Who is on the low side, and who is on the high one."""


class Split(Protocol):
    """How a zone is split in two."""

    @property
    def attribute(self) -> str:
        """What it looks at."""
        ...

    def is_high(self, events: Events, rows: Rows) -> Bools:
        """Which of the given events are on the high side."""
        ...

    def find_sides(self, regions: Regions, rows: Rows) -> Sides:
        """On which sides each of the given regions is."""
        ...

    def to_predicate(self, column: str) -> str:
        """What Spark finds true of an event on the high side, whose attribute is in a column."""
        ...


@dataclass(frozen=True, slots=True)
class KeySplit:
    """Values from the key `first_high_key` on are high."""

    attribute: str
    type: Type
    first_high_key: Any

    def is_high(self, events: Events, rows: Rows) -> Bools:
        column = _scalar_column(events, self.attribute)
        return column.valid[rows] & np.asarray(column.keys[rows] >= self.first_high_key, np.bool_)

    def find_sides(self, regions: Regions, rows: Rows) -> Sides:
        low, high, there, batch, places = _find_constrained(regions, self.attribute, rows)
        if batch is not None:
            # The ends of an interval are admitted, whatever list it has.
            below = np.asarray(batch.lower[places] < self.first_high_key, np.bool_)
            low[there] = batch.nulls[places] | below
            high[there] = np.asarray(batch.upper[places] >= self.first_high_key, np.bool_)
        return low, high

    def to_predicate(self, column: str) -> str:
        """
        >>> from covey.space.types import DOUBLE
        >>> from covey.space.keys import encode_floats
        >>> KeySplit("price", DOUBLE, int(encode_floats(np.array([5.0]))[0])).to_predicate("price")
        'price >= 5.0D'
        """
        return f"{column} >= {key_literal(self.first_high_key, self.type)}"


@dataclass(frozen=True, slots=True)
class NullSplit:
    """Whatever is not null is high."""

    attribute: str

    def is_high(self, events: Events, rows: Rows) -> Bools:
        return _scalar_column(events, self.attribute).valid[rows]

    def find_sides(self, regions: Regions, rows: Rows) -> Sides:
        low, high, there, batch, places = _find_constrained(regions, self.attribute, rows)
        if batch is not None:
            low[there] = batch.nulls[places]
            high[there] = np.asarray(batch.lower[places] <= batch.upper[places], np.bool_)
        return low, high

    def to_predicate(self, column: str) -> str:
        return f"{column} IS NOT NULL"


def _scalar_column(events: Events, attribute: str) -> ScalarColumn:
    column = events[attribute]
    assert isinstance(column, ScalarColumn)
    return column


def _find_constrained(
    regions: Regions, attribute: str, rows: Rows
) -> tuple[Bools, Bools, Rows, Scalars | None, Rows]:
    """Both sides as of regions that leave the attribute free; which of `rows` do not, and where."""
    low, high = np.ones(len(rows), np.bool_), np.ones(len(rows), np.bool_)
    given = regions.constraints.get(attribute)
    if given is None:
        return low, high, rows[:0], None, rows[:0]
    assert isinstance(given.batch, Scalars)
    places, there = given.locate_rows(rows)
    return low, high, np.flatnonzero(there), given.batch, places[there]
