"""Zones: boxes that divide the unit cube; a node owns one or several of them.

A zone contains its lower ends but not its upper ends, so every point of the cube is in exactly one
zone. Zones are made by repeated halving, so their ends are exact in floating point. In contrast,
the box of a subscription contains both ends. (papers: can)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

__all__ = [
    "MAX_COORDINATE",
    "Box",
    "CanZone",
    "Point",
    "meets_any",
    "merge_zones",
    "nearest_distance",
]

Point = tuple[float, ...]
Box = tuple[Point, Point]
MAX_COORDINATE = math.nextafter(1.0, 0.0)
"""The largest coordinate of a point: it is below 1, so that every point is in a zone."""


@dataclass(frozen=True, slots=True)
class CanZone:
    """The points from `low`, inclusive, to `high`, exclusive.

    `transfer_count` is the number of times that the owner has changed. If two known zones contain a
    point, the zone with the larger count is newer.

    >>> left, right = CanZone.whole_cube(2).split_in_half()
    >>> left, right.contains((0.5, 0.0)), left.touches(right)
    (CanZone(low=(0.0, 0.0), high=(0.5, 1.0)), True, True)
    """

    low: Point
    high: Point
    transfer_count: int = field(default=0, compare=False, repr=False)

    @classmethod
    def whole_cube(cls, dimensions: int) -> CanZone:
        """Return the zone that is the whole cube."""
        return cls((0.0,) * dimensions, (1.0,) * dimensions)

    @property
    def volume(self) -> float:
        """Volume of the zone, as a share of the cube."""
        return math.prod(high - low for low, high in zip(self.low, self.high, strict=True))

    def contains(self, point: Point) -> bool:
        """Return whether a point is in the zone."""
        return all(low <= x < high for x, low, high in zip(point, self.low, self.high, strict=True))

    def meets(self, box: Box) -> bool:
        """Return whether the zone and a box have a common point."""
        return all(
            first < high and last >= low
            for first, last, low, high in zip(*box, self.low, self.high, strict=True)
        )

    def is_within(self, other: CanZone) -> bool:
        """Return whether this zone lies within another."""
        return all(a >= b for a, b in zip(self.low, other.low, strict=True)) and all(
            a <= b for a, b in zip(self.high, other.high, strict=True)
        )

    def split_in_half(self) -> tuple[CanZone, CanZone]:
        """Return the lower and the upper half of the zone along its longest side.

        Of several longest sides, the first one is halved.
        """
        sides = [high - low for low, high in zip(self.low, self.high, strict=True)]
        j = sides.index(max(sides))
        middle = (self.low[j] + self.high[j]) / 2
        return self._with_high(j, middle), self._with_low(j, middle)

    def with_new_owner(self) -> CanZone:
        """Return the zone with its number of transfers increased by 1."""
        return replace(self, transfer_count=self.transfer_count + 1)

    def subtract(self, other: CanZone) -> list[CanZone]:
        """Return the part of this zone that is not in `other`, as disjoint zones.

        >>> CanZone.whole_cube(1).subtract(CanZone((0.25,), (0.5,)))
        [CanZone(low=(0.0,), high=(0.25,)), CanZone(low=(0.5,), high=(1.0,))]
        """
        parts, remainder = [], self
        for j, (low, high) in enumerate(zip(other.low, other.high, strict=True)):
            if high <= remainder.low[j] or low >= remainder.high[j]:
                return [self]
            if low > remainder.low[j]:
                parts.append(remainder._with_high(j, low))
                remainder = remainder._with_low(j, low)
            if high < remainder.high[j]:
                parts.append(remainder._with_low(j, high))
                remainder = remainder._with_high(j, high)
        return parts

    def _with_high(self, axis: int, coordinate: float) -> CanZone:
        """Return the zone with another upper end on one axis."""
        return replace(self, high=(*self.high[:axis], coordinate, *self.high[axis + 1 :]))

    def _with_low(self, axis: int, coordinate: float) -> CanZone:
        """Return the zone with another lower end on one axis."""
        return replace(self, low=(*self.low[:axis], coordinate, *self.low[axis + 1 :]))

    def touches(self, other: CanZone) -> bool:
        """Return whether the two zones have a face or a part of a face in common."""
        faces = 0
        for a, b, c, d in zip(self.low, self.high, other.low, other.high, strict=True):
            if b == c or d == a:
                faces += 1
            elif b < c or d < a:
                return False
        return faces == 1

    def distance_to(self, point: Point) -> tuple[float, int]:
        """Return the squared distance of a point, and how many of its coordinates lie outside.

        Greedy routing that compares these pairs arrives at the owner of a point: a zone that does
        not contain the point always touches another zone whose pair is smaller.
        """
        squared, outside = 0.0, 0
        for x, low, high in zip(point, self.low, self.high, strict=True):
            if not low <= x < high:
                gap = low - x if x < low else x - high
                squared += gap * gap
                outside += 1
        return squared, outside

    def try_union(self, other: CanZone) -> CanZone | None:
        """Return the union of two zones if it is a box, otherwise None."""
        unequal_axes = [
            j
            for j, pair in enumerate(zip(self.low, other.low, strict=True))
            if pair[0] != pair[1] or self.high[j] != other.high[j]
        ]
        if len(unequal_axes) != 1:
            return None
        (j,) = unequal_axes
        if self.high[j] != other.low[j] and other.high[j] != self.low[j]:
            return None
        union = replace(self, transfer_count=max(self.transfer_count, other.transfer_count))
        low, high = min(self.low[j], other.low[j]), max(self.high[j], other.high[j])
        return union._with_low(j, low)._with_high(j, high)


def nearest_distance(zones: Iterable[CanZone], point: Point) -> tuple[float, int]:
    """Return the distance, as in `distance_to`, of a point from the nearest of the given zones."""
    return min(zone.distance_to(point) for zone in zones)


def meets_any(zones: Iterable[CanZone], box: Box) -> bool:
    """Return whether one of the zones has a common point with a box."""
    return any(zone.meets(box) for zone in zones)


def merge_zones(zones: Sequence[CanZone]) -> tuple[CanZone, ...]:
    """Join pairs of zones whose union is a box; return the resulting zones, sorted."""
    result = list(zones)
    has_merged = True
    while has_merged:
        has_merged = False
        for i, zone in enumerate(result):
            for j in range(i + 1, len(result)):
                if (union := zone.try_union(result[j])) is not None:
                    result[i] = union
                    del result[j]
                    has_merged = True
                    break
            if has_merged:
                break
    return tuple(sorted(result, key=lambda zone: (zone.low, zone.high)))
