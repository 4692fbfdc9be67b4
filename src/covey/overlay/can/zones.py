"""Zones: boxes that cut the unit cube into parts, one or more for each node.

A zone contains its lower ends and not its upper ones, so every point of the cube is in one zone.
Sides are halves of halves, which floats have exactly. Boxes of subscriptions contain both ends.
(papers: can)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

__all__ = ["INSIDE", "Box", "Point", "Zone", "meets_any", "nearness", "united"]

Point = tuple[float, ...]
Box = tuple[Point, Point]
INSIDE = math.nextafter(1.0, 0.0)
"""The largest coordinate of a point."""


@dataclass(frozen=True, slots=True)
class Zone:
    """From `low`, included, to `high`, excluded.

    `since` counts how often it changed hands: of two claims to a point the later one is right.

    >>> left, right = Zone.whole(2).halves()
    >>> left, right.contains((0.5, 0.0)), left.touches(right)
    (Zone(low=(0.0, 0.0), high=(0.5, 1.0)), True, True)
    """

    low: Point
    high: Point
    since: int = field(default=0, compare=False, repr=False)

    @classmethod
    def whole(cls, k: int) -> Zone:
        """The cube."""
        return cls((0.0,) * k, (1.0,) * k)

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

    def within(self, other: Zone) -> bool:
        """Whether all of it is in another."""
        return all(a >= b for a, b in zip(self.low, other.low, strict=True)) and all(
            a <= b for a, b in zip(self.high, other.high, strict=True)
        )

    def halves(self) -> tuple[Zone, Zone]:
        """The lower and the upper half along the longest side, the first of equals."""
        sides = [high - low for low, high in zip(self.low, self.high, strict=True)]
        j = sides.index(max(sides))
        middle = (self.low[j] + self.high[j]) / 2
        return self._until(j, middle), self._from(j, middle)

    def handed_over(self) -> Zone:
        """The same, with another owner."""
        return replace(self, since=self.since + 1)

    def minus(self, other: Zone) -> list[Zone]:
        """What another does not have of it, as boxes.

        >>> Zone.whole(1).minus(Zone((0.25,), (0.5,)))
        [Zone(low=(0.0,), high=(0.25,)), Zone(low=(0.5,), high=(1.0,))]
        """
        left, rest = [], self
        for j, (low, high) in enumerate(zip(other.low, other.high, strict=True)):
            if high <= rest.low[j] or low >= rest.high[j]:
                return [self]
            if low > rest.low[j]:
                left.append(rest._until(j, low))
                rest = rest._from(j, low)
            if high < rest.high[j]:
                left.append(rest._from(j, high))
                rest = rest._until(j, high)
        return left

    def _until(self, j: int, x: float) -> Zone:
        return replace(self, high=(*self.high[:j], x, *self.high[j + 1 :]))

    def _from(self, j: int, x: float) -> Zone:
        return replace(self, low=(*self.low[:j], x, *self.low[j + 1 :]))

    def touches(self, other: Zone) -> bool:
        """Whether the two have a face, or part of one, in common."""
        faces = 0
        for a, b, c, d in zip(self.low, self.high, other.low, other.high, strict=True):
            if b == c or d == a:
                faces += 1
            elif b < c or d < a:
                return False
        return faces == 1

    def distance(self, point: Point) -> tuple[float, int]:
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

    def united(self, other: Zone) -> Zone | None:
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
        both = replace(self, since=max(self.since, other.since))
        low, high = min(self.low[j], other.low[j]), max(self.high[j], other.high[j])
        return both._from(j, low)._until(j, high)


def nearness(zones: Iterable[Zone], point: Point) -> tuple[float, int]:
    """The distance of the nearest."""
    return min(zone.distance(point) for zone in zones)


def meets_any(zones: Iterable[Zone], box: Box) -> bool:
    """Whether one of them has a point of a box."""
    return any(zone.meets(box) for zone in zones)


def united(zones: Sequence[Zone]) -> tuple[Zone, ...]:
    """The same part of the cube in fewer zones, where two of them are a box."""
    left = list(zones)
    merged = True
    while merged:
        merged = False
        for i, one in enumerate(left):
            for j in range(i + 1, len(left)):
                if (both := one.united(left[j])) is not None:
                    left[i] = both
                    del left[j]
                    merged = True
                    break
            if merged:
                break
    return tuple(sorted(left, key=lambda zone: (zone.low, zone.high)))
