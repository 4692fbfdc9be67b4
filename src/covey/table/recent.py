"""The newest advertised regions, too few to be indexed: points that are compared one by one."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from covey.compact.covering import tops
from covey.geometry import Regions
from covey.geometry.relations import covers
from covey.space import Attribute
from covey.table.corners import Corners
from covey.table.kept import Kept
from covey.table.kernels.corners import dominating

__all__ = ["Recent", "maximal"]

Bools = NDArray[np.bool_]
Numbers = NDArray[np.int64]
_DOUBTS = 1 << 12  # pairs that there is room for at first


@dataclass(slots=True)
class Recent:
    """At most `most` regions by number, with room for all of them."""

    kept: Kept
    most: int
    attributes: tuple[Attribute, ...] = ()
    _count: int = 0
    _numbers: Numbers = field(init=False)
    _corners: Corners = field(init=False)

    def __post_init__(self) -> None:
        self._numbers, self._corners = np.empty(self.most, np.int64), self._room()

    @property
    def numbers(self) -> Numbers:
        """All that were added since it was emptied."""
        return self._numbers[: self._count]

    def corners(self, regions: Regions) -> Corners:
        """The points of regions; attributes that were not constrained before are added to all."""
        names = {attribute.name for attribute in self.attributes}
        new = [
            a
            for n in regions.constraints
            if n not in names and not (a := regions.space[n]).type.is_tags and not a.type.is_vector
        ]
        if new:
            self.attributes += tuple(new)
            self._corners = self._room()
            self._write(Corners.of(self.kept.take(self.numbers), self.attributes), 0)
        return Corners.of(regions, self.attributes)

    def has_room(self, count: int) -> bool:
        """Whether so many more can be added."""
        return self._count + count <= self.most

    def add(self, numbers: Numbers, corners: Corners) -> None:
        """Adds regions, for which there is room."""
        stop = self._count + len(numbers)
        self._numbers[self._count : stop] = numbers
        self._write(corners, self._count)
        self._count = stop

    def clear(self) -> Numbers:
        """Forgets all of them; gives their numbers."""
        numbers, self._count = self.numbers.copy(), 0
        return numbers

    def covering(self, regions: Regions, corners: Corners, alive: Bools) -> Numbers:
        """For each region the number of one that covers it and is alive, -1 where there is none."""
        if not self._count:
            return np.full(len(corners), -1, np.int64)
        living = alive[self.numbers]
        found, asked, stored = _dominating(self._corners, self._count, living, corners, among=False)
        if len(asked):
            mine = self.kept.take(self.numbers[stored])
            true = covers(mine, np.arange(len(stored)), regions, asked)
            found[asked[true]] = stored[true]
        found[found >= 0] = self.numbers[found[found >= 0]]
        return found

    def _room(self) -> Corners:
        rows = 3 * len(self.attributes)
        return Corners(np.empty((rows, self.most), np.int64), np.empty(self.most, np.bool_))

    def _write(self, corners: Corners, start: int) -> None:
        stop = start + len(corners)
        self._corners.points[:, start:stop] = corners.points
        self._corners.exact[start:stop] = corners.exact


def maximal(regions: Regions, corners: Corners) -> Numbers:
    """For each region the row of one that covers it and that no other does; its own if it is that.

    Equal regions cover each other: the first of them counts. Cost: a nanosecond or two a pair, so
    batches should be small.
    """
    count = len(corners)
    every = np.ones(count, np.bool_)
    under, inner, outer = _dominating(corners, count, every, corners, among=True)
    if len(inner):
        over = covers(regions, outer, regions, inner)
        inner, outer = inner[over], outer[over]
        later = outer > inner
        later[later] = covers(regions, inner[later], regions, outer[later])
        under[inner[~later]] = outer[~later]
    return tops(under)


def _dominating(
    stored: Corners, count: int, alive: Bools, asked: Corners, *, among: bool
) -> tuple[Numbers, Numbers, Numbers]:
    """For each point one that covers it, or -1; and pairs that may, where points say too little."""
    found, size = np.empty(len(asked), np.int64), _DOUBTS
    while True:
        doubts = np.empty((2, size), np.int64)
        size = dominating(
            stored.points, count, stored.exact, alive, asked.points, asked.exact, among, found,
            doubts,
        )  # fmt: skip
        if size <= doubts.shape[1]:
            return found, doubts[0, :size], doubts[1, :size]
