"""Splits: each divides the events of a zone into a low and a high side, by one attribute.

An event is on exactly one side. A region is on each side on which it may contain an event. If this
cannot be decided, the region is on both sides, so that no match is lost. An event whose attribute
is null is on the low side of each split by this attribute. A split by null has only these events on
the low side.
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
"""Two masks: for each row whether it is on the low side, and whether it is on the high side."""


class Split(Protocol):
    """Division of a zone into a low and a high side, by one attribute."""

    @property
    def attribute(self) -> str:
        """Name of the attribute that decides the side."""
        ...

    def is_high(self, events: Events, rows: Rows) -> Bools:
        """Return for each row of `rows` whether its event is on the high side."""
        ...

    def find_sides(self, regions: Regions, rows: Rows) -> Sides:
        """Return for each row of `rows` whether its region is on the low and on the high side."""
        ...

    def to_predicate(self, column: str) -> str:
        """Return a SQL predicate that is true for an event on the high side.

        Args:
            column: SQL expression for the attribute of an event, such as a column name.
        """
        ...


@dataclass(frozen=True, slots=True)
class KeySplit:
    """Split by key: keys below `first_high_key`, and null, are on the low side.

    All other keys are on the high side.
    """

    attribute: str
    type: Type
    first_high_key: Any

    def is_high(self, events: Events, rows: Rows) -> Bools:
        """Return for each row of `rows` whether its event is on the high side."""
        column = _scalar_column(events, self.attribute)
        return column.valid[rows] & np.asarray(column.keys[rows] >= self.first_high_key, np.bool_)

    def find_sides(self, regions: Regions, rows: Rows) -> Sides:
        """Return for each row of `rows` whether its region is on the low and on the high side."""
        low, high, positions, batch, batch_rows = _find_constrained(regions, self.attribute, rows)
        if batch is not None:
            # Comparing the ends is exact: a constraint admits the ends of its interval even if it
            # has a list.
            below = np.asarray(batch.lower[batch_rows] < self.first_high_key, np.bool_)
            low[positions] = batch.nulls[batch_rows] | below
            high[positions] = np.asarray(batch.upper[batch_rows] >= self.first_high_key, np.bool_)
        return low, high

    def to_predicate(self, column: str) -> str:
        """Return a SQL predicate that is true for an event on the high side.

        >>> from covey.space.types import DOUBLE
        >>> from covey.space.keys import encode_floats
        >>> KeySplit("price", DOUBLE, int(encode_floats(np.array([5.0]))[0])).to_predicate("price")
        'price >= 5.0D'
        """
        return f"{column} >= {key_literal(self.first_high_key, self.type)}"


@dataclass(frozen=True, slots=True)
class NullSplit:
    """Split by null: null is on the low side, and all values are on the high side."""

    attribute: str

    def is_high(self, events: Events, rows: Rows) -> Bools:
        """Return for each row of `rows` whether its event is on the high side."""
        return _scalar_column(events, self.attribute).valid[rows]

    def find_sides(self, regions: Regions, rows: Rows) -> Sides:
        """Return for each row of `rows` whether its region is on the low and on the high side."""
        low, high, positions, batch, batch_rows = _find_constrained(regions, self.attribute, rows)
        if batch is not None:
            low[positions] = batch.nulls[batch_rows]
            high[positions] = np.asarray(
                batch.lower[batch_rows] <= batch.upper[batch_rows], np.bool_
            )
        return low, high

    def to_predicate(self, column: str) -> str:
        """Return a SQL predicate that is true for an event on the high side."""
        return f"{column} IS NOT NULL"


def _scalar_column(events: Events, attribute: str) -> ScalarColumn:
    """Return the column of an attribute, which must be scalar."""
    column = events[attribute]
    assert isinstance(column, ScalarColumn)
    return column


def _find_constrained(
    regions: Regions, attribute: str, rows: Rows
) -> tuple[Bools, Bools, Rows, Scalars | None, Rows]:
    """Return masks of both sides that are true for all regions, and the constraints on `attribute`.

    The caller corrects the masks for the regions that constrain the attribute.

    Returns:
        The mask of the low side and that of the high side; the positions in `rows` of the regions
        that constrain the attribute; the batch of all constraints on the attribute, or None if
        there are none; and for each of these positions the row of its constraint in the batch.
    """
    low, high = np.ones(len(rows), np.bool_), np.ones(len(rows), np.bool_)
    constraints = regions.constraints.get(attribute)
    if constraints is None:
        return low, high, rows[:0], None, rows[:0]
    assert isinstance(constraints.batch, Scalars)
    batch_rows, is_constrained = constraints.locate_rows(rows)
    return low, high, np.flatnonzero(is_constrained), constraints.batch, batch_rows[is_constrained]
