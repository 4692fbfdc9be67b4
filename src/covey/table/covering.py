"""The strategies that advertise regions: one is advertised, or it is under one that is.

What a region is under is its absorber, or that one's absorber, and so on up. So the union of what
is advertised contains the union of what lives, at every moment; `Steps` keeps it so on the other
side of the link.

A removed region that others are under stays advertised until these have found another place.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covey.compact.covering import tops
from covey.geometry import Regions
from covey.index import Scan
from covey.space import Events
from covey.space.ragged import Ragged
from covey.table.active import Active, Build, Under, covered
from covey.table.grown import Grown
from covey.table.kept import Kept
from covey.table.recent import maximal
from covey.table.steps import Steps

__all__ = ["FEW", "Covering"]

Numbers = NDArray[np.int64]
FEW = 4096
"""How many regions are compared one by one rather than indexed."""
_UNSAID = 32  # regions of one batch that must be compared by more than their points


class Covering:
    """A `Strategy` that asks an index for covers; any exact index will do.

    The newest regions, at most `few`, are not indexed; `remove` finds another place for a quarter
    of as many at once.

    Cost: of an add, asking the indexes of what is advertised, and indexing it a few times while
    others arrive; of a remove, a pass over all regions, and an add for each that was under it.
    """

    def __init__(self, kept: Kept, build: Build, few: int = FEW) -> None:
        self._kept = kept
        self._active = Active(kept, build, few)
        self._at_once, self._moved = max(1, few // 2), max(1, few // 4)
        self._lives = Grown(False)
        self._absorbers = Grown(-1)
        self._leaving = np.empty(0, np.int64)

    @property
    def advertised(self) -> Numbers:
        """The numbers of all regions that are advertised, ascending."""
        return np.union1d(self._active.numbers, self._leaving)

    @property
    def is_settled(self) -> bool:
        return not len(self._leaving)

    def admits(self, events: Events) -> NDArray[np.bool_]:
        """Cost: events × advertised regions; for tests and small tables."""
        answer = np.zeros(len(events), np.bool_)
        answer[Scan(self._kept.take(self.advertised)).matching(events).asked] = True
        return answer

    def add(self, numbers: Numbers, regions: Regions) -> Steps:
        self._lives.set(numbers, True)
        if len(numbers) <= self._at_once:
            return self._place(numbers, regions)
        steps = []
        for start in range(0, len(numbers), self._at_once):
            rows = np.arange(start, min(start + self._at_once, len(numbers)))
            steps.append(self._place(numbers[rows], regions.take(rows)))
        return Steps.concat(steps)

    def remove(self, numbers: Numbers) -> Steps:
        self._lives.set(numbers, False)
        leaving = numbers[self._active.holds(numbers)]
        self._active.remove(leaving)
        self._leaving = np.union1d(self._leaving, leaving)
        return self.settle(self._moved)

    def settle(self, most: int | None = None) -> Steps:
        if self.is_settled:
            return self._withdrawing([])
        living = np.flatnonzero(self._lives.values)
        roots = self._roots()[living]
        leaves = np.zeros(self._kept.next, np.bool_)
        leaves[self._leaving] = True
        is_open = leaves[roots]
        moved = living[is_open][:most]
        steps = [self._withdrawing([])]
        for start in range(0, len(moved), self._at_once):
            some = moved[start : start + self._at_once]
            steps.append(self._place(some, self._kept.take(some)))
        open_ = roots[is_open][len(moved) :]
        done = self._leaving[~np.isin(self._leaving, open_)]
        self._leaving = np.setdiff1d(self._leaving, done)
        return Steps.concat([*steps, self._withdrawing(done)])

    def tidy(self) -> Steps:
        settled = self.settle()
        return Steps.concat([settled, self._withdrawing(self._put_under(self._active.tidy()))])

    def catch_up(self, known: Numbers) -> Steps:
        known = np.asarray(known, np.int64)
        numbers = np.setdiff1d(self.advertised, known)
        return Steps(self._kept.take(numbers), numbers, np.setdiff1d(known, self.advertised))

    def absorbers(self, numbers: Numbers) -> Ragged:
        return Ragged.from_lengths(np.ones(len(numbers), np.int64), self._roots()[numbers])

    def _place(self, numbers: Numbers, regions: Regions) -> Steps:
        """Puts some regions under others, or advertises them."""
        corners = self._active.corners(regions)
        over = self._active.covering(regions, corners)
        self._absorbers.set(numbers, over)
        left = np.flatnonzero(over < 0)
        if len(left) < len(numbers):
            numbers, regions, corners = numbers[left], regions.take(left), corners.take(left)
        if len(left) == 1:
            self._absorbers.set(numbers, numbers)
            return Steps(regions, numbers, self._put_under(self._active.add(numbers, corners)))
        if np.count_nonzero(~corners.exact) > _UNSAID:
            return self._place_indexed(numbers, regions)
        under = maximal(regions, corners)
        self._absorbers.set(numbers, numbers[under])
        top = np.flatnonzero(under == np.arange(len(under)))
        numbers, regions, corners = numbers[top], regions.take(top), corners.take(top)
        return Steps(regions, numbers, self._put_under(self._active.add(numbers, corners)))

    def _place_indexed(self, numbers: Numbers, regions: Regions) -> Steps:
        """The same for regions of which points say too little to be compared one by one."""
        index = self._active.indexed(regions)
        inner, outer = covered(index, regions)
        self._absorbers.set(numbers, numbers)
        self._absorbers.set(numbers[inner], numbers[outer])
        top = np.setdiff1d(np.arange(len(numbers)), inner)
        under = self._active.add_indexed(numbers, index, top)
        return Steps(regions.take(top), numbers[top], self._put_under(under))

    def _put_under(self, under: Under) -> Numbers:
        """Notes what was found to be under others; gives what is to be withdrawn for it."""
        covered, by = under
        self._absorbers.set(covered, by)
        return covered

    def _roots(self) -> Numbers:
        """For each region the one at the top of those it is under."""
        return tops(self._absorbers.values[: self._kept.next])

    def _withdrawing(self, numbers: ArrayLike) -> Steps:
        nothing = Regions(self._kept.space, 0, {})
        return Steps(nothing, np.empty(0, np.int64), np.asarray(numbers, np.int64))
