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
from covey.routing.kernels.dominance import write_ends
from covey.space import Attribute, Type
from covey.space.keys import key_domain
from covey.space.text_bounds import Below

__all__ = ["DominancePoints"]

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
_MAX_INT = (1 << 63) - 1
_TEXT_PREFIX_BYTES = 7  # of a text, whose length is the eighth


@dataclass(frozen=True, slots=True)
class DominancePoints:
    """A column of `coordinates` for each region, and for which regions the point says all."""

    coordinates: Ints
    is_exact: Bools

    @classmethod
    def from_regions(cls, regions: Regions, attributes: Sequence[Attribute]) -> DominancePoints:
        """Points with the given scalar attributes; others are left to be compared."""
        count = len(regions)
        points, exact = np.zeros((3 * len(attributes), count), np.int64), np.ones(count, np.bool_)
        names = [attribute.name for attribute in attributes]
        for k, attribute in enumerate(attributes):
            low, high = _unconstrained_coordinates(attribute.type)
            points[2 * k], points[2 * k + 1] = low, high
            if attribute.name in regions.constraints:
                nulls = points[2 * len(attributes) + k]
                _write_coordinates(
                    regions.constraints[attribute.name], points[2 * k : 2 * k + 2], nulls, exact
                )
        for name, given in regions.constraints.items():
            if name not in names:
                exact[given.rows] = False
        return cls(points, exact)

    def __len__(self) -> int:
        return len(self.is_exact)

    def take(self, rows: Ints) -> DominancePoints:
        """The given regions in the given order."""
        return DominancePoints(self.coordinates.take(rows, axis=1), self.is_exact[rows])


@cache
def _unconstrained_coordinates(type_: Type) -> tuple[int, int]:
    """The two coordinates of an attribute that is not constrained."""
    whole = key_domain(type_)
    ends = np.array([whole.low], whole.dtype), np.array([whole.high], whole.dtype)
    (low,), (high,), _ = _ends_to_integers(*ends)
    return int(low), ~int(high)


def _write_coordinates(constraints: Constraints, ends: Ints, nulls: Ints, is_exact: Bools) -> None:
    """Writes the coordinates of an attribute for those that constrain it."""
    batch, rows = constraints.batch, constraints.rows
    assert isinstance(batch, Scalars)
    lower, upper, said = batch.lower, batch.upper, None
    if lower.dtype == object:
        is_valued = np.asarray(lower <= upper, np.bool_)
        lower, upper, said = _ends_to_integers(lower, upper)
        lower, upper = np.where(is_valued, lower, _MAX_INT), np.where(is_valued, upper, -_MAX_INT)
    write_ends(rows, lower, upper, batch.nulls, ends, nulls)
    if len(batch.lists.values):
        is_exact[rows[batch.listed != ALL]] = False
    if said is not None:
        is_exact[rows[~said]] = False


def _ends_to_integers(lower: NDArray[Any], upper: NDArray[Any]) -> tuple[Ints, Ints, Bools]:
    """Ends as integers in their order, and for which intervals these tell ends apart."""
    if lower.dtype != object:
        return lower, upper, np.ones(len(lower), np.bool_)
    both = [[_end_to_integer(end) for end in ends] for ends in (lower.tolist(), upper.tolist())]
    said = [a[1] and b[1] for a, b in zip(*both, strict=True)]
    first, second = (np.array([value for value, _ in ends], np.int64) for ends in both)
    return first, second, np.array(said, np.bool_)


def _end_to_integer(end: Any) -> tuple[int, bool]:
    """An end of text or of a long decimal; the latter only as far as it fits."""
    if isinstance(end, int):
        return max(-_MAX_INT - 1, min(_MAX_INT, end)), -_MAX_INT - 1 < end < _MAX_INT
    text = end.text if isinstance(end, Below) else end
    if text is None:
        return _MAX_INT, True
    letters = text.encode()
    whole = letters[:_TEXT_PREFIX_BYTES].ljust(_TEXT_PREFIX_BYTES, b"\0") + bytes(
        [min(len(letters), _TEXT_PREFIX_BYTES + 1)]
    )
    is_short = len(letters) <= _TEXT_PREFIX_BYTES
    before = isinstance(end, Below) and is_short
    return int.from_bytes(whole) - (1 << 63) - before, is_short
