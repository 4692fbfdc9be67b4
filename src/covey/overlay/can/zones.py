"""Zones: boxes that cut the unit cube into parts, one or more for each node.

A zone contains its lower ends and not its upper ones, so every point of the cube is in one zone.
Sides are halves of halves, which floats have exactly. Boxes of subscriptions contain both ends.
(papers: can)
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
"""The largest coordinate of a point."""


@dataclass(frozen=True, slots=True)
class CanZone:
    """From `low`, included, to `high`, excluded.

    `transfer_count` counts how often it changed hands: of two claims to a point the later one is
    right.

    >>> left, right = CanZone.whole_cube(2).split_in_half()
    >>> left, right.contains((0.5, 0.0)), left.touches(right)
    (CanZone(low=(0.0, 0.0), high=(0.5, 1.0)), True, True)
    """

    low: Point
    high: Point
    transfer_count: int = field(default=0, compare=False, repr=False)

    @classmethod
    def whole_cube(cls, dimensions: int) -> CanZone:
        """The cube."""
        return cls((0.0,) * dimensions, (1.0,) * dimensions)

    @property
    def volume(self) -> float:
        """Its share of the cube."""
        return math.prod(high - low for low, high in zip(self.low, self.high, strict=True))

    def contains(self, point: Point) -> bool:
        """Whether a point is in it."""
        return all(low <= x < high for x, low, high in zip(point, self.low, self.high, strict=True))

    def meets(self, box: Box) -> bool:
        """Whether it has a point of a box."""
        return all(
            first < high and last >= low
            for first, last, low, high in zip(*box, self.low, self.high, strict=True)
        )

    def is_within(self, other: CanZone) -> bool:
        """Whether all of it is in another."""
        return all(a >= b for a, b in zip(self.low, other.low, strict=True)) and all(
            a <= b for a, b in zip(self.high, other.high, strict=True)
        )

    def split_in_half(self) -> tuple[CanZone, CanZone]:
        """The lower and the upper half along the longest side, the first of equals."""
        sides = [high - low for low, high in zip(self.low, self.high, strict=True)]
        j = sides.index(max(sides))
        middle = (self.low[j] + self.high[j]) / 2
        return self._with_high(j, middle), self._with_low(j, middle)

    def with_new_owner(self) -> CanZone:
        """The same, with another owner."""
        return replace(self, transfer_count=self.transfer_count + 1)

    def subtract(self, other: CanZone) -> list[CanZone]:
        """What another does not have of it, as boxes.

        >>> CanZone.whole_cube(1).subtract(CanZone((0.25,), (0.5,)))
        [CanZone(low=(0.0,), high=(0.25,)), CanZone(low=(0.5,), high=(1.0,))]
        """
        left, rest = [], self
        for j, (low, high) in enumerate(zip(other.low, other.high, strict=True)):
            if high <= rest.low[j] or low >= rest.high[j]:
                return [self]
            if low > rest.low[j]:
                left.append(rest._with_high(j, low))
                rest = rest._with_low(j, low)
            if high < rest.high[j]:
                left.append(rest._with_low(j, high))
                rest = rest._with_high(j, high)
        return left

    def _with_high(self, axis: int, coordinate: float) -> CanZone:
        return replace(self, high=(*self.high[:axis], coordinate, *self.high[axis + 1 :]))

    def _with_low(self, axis: int, coordinate: float) -> CanZone:
        return replace(self, low=(*self.low[:axis], coordinate, *self.low[axis + 1 :]))

    def touches(self, other: CanZone) -> bool:
        """Whether the two have a face, or part of one, in common."""
        faces = 0
        for a, b, c, d in zip(self.low, self.high, other.low, other.high, strict=True):
            if b == c or d == a:
                faces += 1
            elif b < c or d < a:
                return False
        return faces == 1

    def distance_to(self, point: Point) -> tuple[float, int]:
        """How far a point is: squared, and in how many coordinates it is not inside.

        Of the zones that touch one, some are always nearer to a point outside.
        """
        squared, outside = 0.0, 0
        for x, low, high in zip(point, self.low, self.high, strict=True):
            if not low <= x < high:
                gap = low - x if x < low else x - high
                squared += gap * gap
                outside += 1
        return squared, outside

    def try_union(self, other: CanZone) -> CanZone | None:
        """The two as one, if they are a box."""
        apart = [
            j
            for j, pair in enumerate(zip(self.low, other.low, strict=True))
            if pair[0] != pair[1] or self.high[j] != other.high[j]
        ]
        if len(apart) != 1:
            return None
        (j,) = apart
        if self.high[j] != other.low[j] and other.high[j] != self.low[j]:
            return None
        both = replace(self, transfer_count=max(self.transfer_count, other.transfer_count))
        low, high = min(self.low[j], other.low[j]), max(self.high[j], other.high[j])
        return both._with_low(j, low)._with_high(j, high)


def nearest_distance(zones: Iterable[CanZone], point: Point) -> tuple[float, int]:
    """The distance of the nearest."""
    return min(zone.distance_to(point) for zone in zones)


def meets_any(zones: Iterable[CanZone], box: Box) -> bool:
    """Whether one of them has a point of a box."""
    return any(zone.meets(box) for zone in zones)


def merge_zones(zones: Sequence[CanZone]) -> tuple[CanZone, ...]:
    """The same part of the cube in fewer zones, where two of them are a box."""
    left = list(zones)
    merged = True
    while merged:
        merged = False
        for i, one in enumerate(left):
            for j in range(i + 1, len(left)):
                if (both := one.try_union(left[j])) is not None:
                    left[i] = both
                    del left[j]
                    merged = True
                    break
            if merged:
                break
    return tuple(sorted(left, key=lambda zone: (zone.low, zone.high)))
