"""The advertised regions of a table, to be asked which of them covers a region.

The newest are few, and compared one by one. When they have become many they are indexed; eight
indexes of about one size are merged into one. What is withdrawn stays in its index until that is
merged, and is left out of answers.

A new region is not covered by an older one, or it would not be here. That it covers older ones is
found when they are merged: each region then asks for a cover. To ask for all that a new one covers
would cost fifty times as much.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.geometry.relations import covers
from covey.index import Index
from covey.table.corners import Corners
from covey.table.grown import Grown
from covey.table.kept import Kept
from covey.table.recent import Recent

__all__ = ["NONE", "Active", "Build", "Under", "covered"]

Numbers = NDArray[np.int64]
Bools = NDArray[np.bool_]
Build = Callable[[Regions], Index]
"""How regions are indexed."""
Under = tuple[Numbers, Numbers]
"""Numbers of regions, and for each that of one which covers it."""
NONE: Under = (np.empty(0, np.int64), np.empty(0, np.int64))
_FACTOR = 8
_MOST = 0.75


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Some regions, by number."""

    numbers: Numbers
    index: Index


class Active:
    """Advertised regions by number, out of those that are kept.

    Cost: each is indexed about log8(n / 4,096) times while others come, and a question is put to a
    few times as many indexes; to one after `tidy`.
    """

    def __init__(self, kept: Kept, build: Build, few: int) -> None:
        self.kept = kept
        self._build = build
        self._recent = Recent(kept, few)
        self._parts: list[_Part] = []
        self._grown = Grown(False)

    @property
    def numbers(self) -> Numbers:
        """All of them, ascending."""
        return np.flatnonzero(self._alive)

    def holds(self, numbers: Numbers) -> Bools:
        """Whether each is advertised."""
        return self._grown.get(numbers)

    def corners(self, regions: Regions) -> Corners:
        """Regions as points, for `add` and `covering`."""
        return self._recent.corners(regions)

    def add(self, numbers: Numbers, corners: Corners) -> Under:
        """Adds at most `few` regions that are kept, and new here.

        Gives those that were found to be under others, which are removed.
        """
        under = NONE
        if not self._recent.has_room(len(numbers)):
            under = self._index_recent()
        self._grown.set(numbers, True)
        self._recent.add(numbers, corners)
        return under

    def add_indexed(self, numbers: Numbers, index: Index, top: Numbers) -> Under:
        """Adds regions that are indexed already, of which only the rows `top` are advertised."""
        self._grown.set(numbers, False)
        self._alive[numbers[top]] = True
        return self._append(_Part(numbers, index))

    def indexed(self, regions: Regions) -> Index:
        """An index of regions, for `add_indexed`."""
        return self._build(regions)

    def remove(self, numbers: Numbers) -> None:
        """Removes regions."""
        self._grown.set(numbers, False)

    def tidy(self) -> Under:
        """Merges all there is, so that no region is under another; gives those that were."""
        numbers = [*(part.numbers for part in self._parts), self._recent.clear()]
        return self._merged(numbers, len(self._parts))

    def covering(self, regions: Regions, corners: Corners) -> Numbers:
        """For each region the number of one that covers it, -1 where there is none."""
        found = self._recent.covering(regions, corners, self._alive)
        rows = np.arange(len(regions))
        for part in self._parts:
            left = np.flatnonzero(found[rows] < 0)
            if not len(left):
                break
            if len(left) <= _MOST * len(rows):  # to take more of them apart would cost more
                rows, regions, left = rows[left], regions.take(left), np.arange(len(left))
            found[rows[left]] = self._covering(part, regions)[left]
        return found

    def _covering(self, part: _Part, regions: Regions) -> Numbers:
        found = np.full(len(regions), -1, np.int64)
        one = part.index.covering(regions, limit=1)
        found[one.asked] = part.numbers[one.stored]
        dead = np.flatnonzero((found >= 0) & ~self._alive[found])
        if len(dead):  # another one may be alive
            every = part.index.covering(regions.take(dead))
            numbers = part.numbers[every.stored]
            alive = self._alive[numbers]
            found[dead] = -1
            found[dead[every.asked[alive]]] = numbers[alive]
        return found

    @property
    def _alive(self) -> Bools:
        return self._grown.values

    def _index_recent(self) -> Under:
        """Makes an index of the newest."""
        numbers = self._living(self._recent.clear())
        if not len(numbers):
            return NONE
        return self._append(_Part(numbers, self._build(self.kept.take(numbers))))

    def _living(self, numbers: Numbers) -> Numbers:
        """Those that are advertised, ascending and each once: some may be in two parts."""
        numbers = np.sort(numbers[self._alive[numbers]], kind="stable")  # runs that ascend
        return numbers[np.diff(numbers, prepend=-1) > 0]

    def _append(self, part: _Part) -> Under:
        """Adds a part, and makes one of several of its size."""
        self._parts.append(part)
        under = [NONE]
        while (count := self._alike()) >= _FACTOR:
            under.append(self._merged([part.numbers for part in self._parts[-count:]], count))
        return _together(under)

    def _alike(self) -> int:
        """How many of the last parts are not larger than the last."""
        levels = [self._level(part) for part in self._parts]
        larger = [i for i, level in enumerate(levels) if level > levels[-1]]
        return len(levels) - (larger[-1] + 1 if larger else 0)

    def _level(self, part: _Part) -> int:
        """How large it is: one more for eight times as many."""
        return (2 * len(part.numbers) // self._recent.most).bit_length() // 3

    def _merged(self, all_numbers: Sequence[Numbers], count: int) -> Under:
        """Puts one part in the place of the last ones; gives those that others of it cover."""
        del self._parts[len(self._parts) - count :]
        numbers = self._living(np.concatenate([np.empty(0, np.int64), *all_numbers]))
        if not len(numbers):
            return NONE
        regions = self.kept.take(numbers)
        part = _Part(numbers, self._build(regions))
        self._parts.append(part)
        inner, outer = covered(part.index, regions)
        self._alive[numbers[inner]] = False
        return numbers[inner], numbers[outer]


def covered(index: Index, regions: Regions) -> tuple[Numbers, Numbers]:
    """Rows of indexed regions that others cover, and for each one that does; of equal ones the
    first is not covered by the others.
    """
    two = index.covering(regions, limit=2)
    inner, outer = two.asked.astype(np.int64), two.stored.astype(np.int64)
    others = np.flatnonzero(inner != outer)
    inner, outer = inner[others], outer[others]
    later = outer > inner
    later[later] = covers(regions, inner[later], regions, outer[later])
    if later.any():  # equal to a later one, and perhaps under a third
        equal = np.unique(inner[later])
        every = index.covering(regions.take(equal))
        more, over = equal[every.asked], every.stored.astype(np.int64)
        strict = more != over
        more, over = more[strict], over[strict]
        is_equal = covers(regions, more, regions, over)
        kept = ~is_equal | (over < more)
        inner = np.concatenate([inner[~later], more[kept]])
        outer = np.concatenate([outer[~later], over[kept]])
    rows, first = np.unique(inner, return_index=True)
    return rows, outer[first]


def _together(parts: Sequence[Under]) -> Under:
    inner, outer = (np.concatenate(some) for some in zip(*parts, strict=True))
    return inner, outer
