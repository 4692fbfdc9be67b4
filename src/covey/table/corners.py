"""Regions as points: one covers another only if it is at most the other in every coordinate.

A point has, per attribute, the lower end of the interval, the complement of the upper end, and
whether null is left out. Where intervals say all of two regions the points decide alone; what they
cannot say (lists, tags, balls, long texts) must be compared besides. (papers: projection, which has
such points of projected balls)

Cost: 24 bytes a region and attribute. A pair costs about a nanosecond, so this is for some thousand
regions at a time; more are for an index.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.geometry.regions import Constraints
from covey.geometry.scalars import ALL, Scalars
from covey.space import Attribute, Type
from covey.space.keys import domain
from covey.space.text import Below
from covey.table.kernels.corners import write_ends

__all__ = ["Corners"]

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
_TOP = (1 << 63) - 1
_BYTES = 7  # of a text, whose length is the eighth


@dataclass(frozen=True, slots=True)
class Corners:
    """A column of `points` for each region, and for which regions the point says all."""

    points: Ints
    exact: Bools

    @classmethod
    def of(cls, regions: Regions, attributes: Sequence[Attribute]) -> Corners:
        """Points with the given scalar attributes; others are left to be compared."""
        count = len(regions)
        points, exact = np.zeros((3 * len(attributes), count), np.int64), np.ones(count, np.bool_)
        names = [attribute.name for attribute in attributes]
        for k, attribute in enumerate(attributes):
            low, high = _free(attribute.type)
            points[2 * k], points[2 * k + 1] = low, high
            if attribute.name in regions.constraints:
                nulls = points[2 * len(attributes) + k]
                _write(regions.constraints[attribute.name], points[2 * k : 2 * k + 2], nulls, exact)
        for name, given in regions.constraints.items():
            if name not in names:
                exact[given.rows] = False
        return cls(points, exact)

    def __len__(self) -> int:
        return len(self.exact)

    def take(self, rows: Ints) -> Corners:
        """The given regions in the given order."""
        return Corners(self.points.take(rows, axis=1), self.exact[rows])


@cache
def _free(type_: Type) -> tuple[int, int]:
    """The two coordinates of an attribute that is not constrained."""
    whole = domain(type_)
    ends = np.array([whole.low], whole.dtype), np.array([whole.high], whole.dtype)
    (low,), (high,), _ = _integers(*ends)
    return int(low), ~int(high)


def _write(given: Constraints, ends: Ints, nulls: Ints, exact: Bools) -> None:
    """Writes the coordinates of an attribute for those that constrain it."""
    batch, rows = given.batch, given.rows
    assert isinstance(batch, Scalars)
    lower, upper, said = batch.lower, batch.upper, None
    if lower.dtype == object:
        is_valued = np.asarray(lower <= upper, np.bool_)
        lower, upper, said = _integers(lower, upper)
        lower, upper = np.where(is_valued, lower, _TOP), np.where(is_valued, upper, -_TOP)
    write_ends(rows, lower, upper, batch.nulls, ends, nulls)
    if len(batch.lists.values):
        exact[rows[batch.listed != ALL]] = False
    if said is not None:
        exact[rows[~said]] = False


def _integers(lower: NDArray[Any], upper: NDArray[Any]) -> tuple[Ints, Ints, Bools]:
    """Ends as integers in their order, and for which intervals these tell ends apart."""
    if lower.dtype != object:
        return lower, upper, np.ones(len(lower), np.bool_)
    both = [[_integer(end) for end in ends] for ends in (lower.tolist(), upper.tolist())]
    said = [a[1] and b[1] for a, b in zip(*both, strict=True)]
    first, second = (np.array([value for value, _ in ends], np.int64) for ends in both)
    return first, second, np.array(said, np.bool_)


def _integer(end: Any) -> tuple[int, bool]:
    """An end of text or of a long decimal; the latter only as far as it fits."""
    if isinstance(end, int):
        return max(-_TOP - 1, min(_TOP, end)), -_TOP - 1 < end < _TOP
    text = end.text if isinstance(end, Below) else end
    if text is None:
        return _TOP, True
    letters = text.encode()
    whole = letters[:_BYTES].ljust(_BYTES, b"\0") + bytes([min(len(letters), _BYTES + 1)])
    is_short = len(letters) <= _BYTES
    before = isinstance(end, Below) and is_short
    return int.from_bytes(whole) - (1 << 63) - before, is_short
