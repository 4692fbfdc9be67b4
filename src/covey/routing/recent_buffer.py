"""The newest advertised regions, too few to be indexed: points that are compared one by one."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from covey.covering.cover_pointers import find_chain_roots
from covey.geometry import Regions
from covey.geometry.relations import covers
from covey.routing.dominance import DominancePoints
from covey.routing.kernels.dominance import find_dominating
from covey.routing.region_log import RegionLog
from covey.space import Attribute

__all__ = ["RecentBuffer", "find_maximal_covers"]

Bools = NDArray[np.bool_]
Numbers = NDArray[np.int64]
_INITIAL_DOUBT_CAPACITY = 1 << 12  # pairs that there is room for at first


@dataclass(slots=True)
class RecentBuffer:
    """At most `capacity` regions by number, with room for all of them."""

    region_log: RegionLog
    capacity: int
    attributes: tuple[Attribute, ...] = ()
    _count: int = 0
    _numbers: Numbers = field(init=False)
    _points: DominancePoints = field(init=False)

    def __post_init__(self) -> None:
        self._numbers, self._points = np.empty(self.capacity, np.int64), self._allocate_points()

    @property
    def numbers(self) -> Numbers:
        """All that were added since it was emptied."""
        return self._numbers[: self._count]

    def encode_points(self, regions: Regions) -> DominancePoints:
        """The points of regions; attributes that were not constrained before are added to all."""
        names = {attribute.name for attribute in self.attributes}
        new = [
            a
            for n in regions.constraints
            if n not in names and not (a := regions.space[n]).type.is_tags and not a.type.is_vector
        ]
        if new:
            self.attributes += tuple(new)
            self._points = self._allocate_points()
            self._write_points(
                DominancePoints.from_regions(self.region_log.take(self.numbers), self.attributes), 0
            )
        return DominancePoints.from_regions(regions, self.attributes)

    def has_room(self, count: int) -> bool:
        """Whether so many more can be added."""
        return self._count + count <= self.capacity

    def add(self, numbers: Numbers, points: DominancePoints) -> None:
        """Adds regions, for which there is room."""
        stop = self._count + len(numbers)
        self._numbers[self._count : stop] = numbers
        self._write_points(points, self._count)
        self._count = stop

    def clear(self) -> Numbers:
        """Forgets all of them; gives their numbers."""
        numbers, self._count = self.numbers.copy(), 0
        return numbers

    def find_covering(
        self, regions: Regions, points: DominancePoints, advertised_flags: Bools
    ) -> Numbers:
        """For each region the number of one that covers it and is alive, -1 where there is none."""
        if not self._count:
            return np.full(len(points), -1, np.int64)
        living = advertised_flags[self.numbers]
        found, asked, stored = _find_dominating(
            self._points, self._count, living, points, exclude_self=False
        )
        if len(asked):
            mine = self.region_log.take(self.numbers[stored])
            true = covers(mine, np.arange(len(stored)), regions, asked)
            found[asked[true]] = stored[true]
        found[found >= 0] = self.numbers[found[found >= 0]]
        return found

    def _allocate_points(self) -> DominancePoints:
        rows = 3 * len(self.attributes)
        return DominancePoints(
            np.empty((rows, self.capacity), np.int64), np.empty(self.capacity, np.bool_)
        )

    def _write_points(self, points: DominancePoints, start: int) -> None:
        stop = start + len(points)
        self._points.coordinates[:, start:stop] = points.coordinates
        self._points.is_exact[start:stop] = points.is_exact


def find_maximal_covers(regions: Regions, points: DominancePoints) -> Numbers:
    """For each region the row of one that covers it and that no other does; its own if it is that.

    Equal regions cover each other: the first of them counts. Cost: a nanosecond or two a pair, so
    batches should be small.
    """
    count = len(points)
    every = np.ones(count, np.bool_)
    under, inner, outer = _find_dominating(points, count, every, points, exclude_self=True)
    if len(inner):
        over = covers(regions, outer, regions, inner)
        inner, outer = inner[over], outer[over]
        later = outer > inner
        later[later] = covers(regions, inner[later], regions, outer[later])
        under[inner[~later]] = outer[~later]
    return find_chain_roots(under)


def _find_dominating(
    stored_points: DominancePoints,
    stored_count: int,
    alive: Bools,
    query_points: DominancePoints,
    *,
    exclude_self: bool,
) -> tuple[Numbers, Numbers, Numbers]:
    """For each point one that covers it, or -1; and pairs that may, where points say too little."""
    found, size = np.empty(len(query_points), np.int64), _INITIAL_DOUBT_CAPACITY
    while True:
        doubts = np.empty((2, size), np.int64)
        size = find_dominating(
            stored_points.coordinates,
            stored_count,
            stored_points.is_exact,
            alive,
            query_points.coordinates,
            query_points.is_exact,
            exclude_self,
            found,
            doubts,
        )
        if size <= doubts.shape[1]:
            return found, doubts[0, :size], doubts[1, :size]
