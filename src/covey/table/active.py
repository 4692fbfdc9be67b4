"""The advertised regions of a table, to be asked which of them covers a region.

The newest are few, and tried one by one. When they have become many they are indexed; four segments
of about one size are merged into one. What is withdrawn stays in its segment until that is merged,
and is left out of answers.

A new region is not covered by an older one, or it would not be here. That it covers older ones is
found when they are merged: each of the older then asks for a cover. To ask for all that a new one
covers would cost fifty times as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.geometry.relations import covers
from covey.index import Index
from covey.table.grown import Grown
from covey.table.kept import Kept
from covey.table.maximal import FEW, index_of

__all__ = ["NONE", "Active", "Under"]

Numbers = NDArray[np.int64]
Bools = NDArray[np.bool_]
Under = tuple[Numbers, Numbers]
"""Numbers of regions, and for each that of one which covers it."""
NONE: Under = (np.empty(0, np.int64), np.empty(0, np.int64))
_FACTOR = 4


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Some regions, by number."""

    numbers: Numbers
    index: Index

    @property
    def level(self) -> int:
        """How large it is: one more for four times as many."""
        return (len(self.numbers) // FEW).bit_length() // 2


@dataclass(slots=True)
class Active:
    """Advertised regions by number, out of those that are kept.

    Cost: each is indexed about log4(n / 256) times while others come, and a question is put to
    about as many segments.
    """

    kept: Kept
    _parts: list[_Part] = field(default_factory=list)
    _grown: Grown = field(default_factory=lambda: Grown(False))

    @property
    def numbers(self) -> Numbers:
        """All of them, ascending."""
        return np.flatnonzero(self._alive)

    def holds(self, numbers: Numbers) -> Bools:
        """Whether each is advertised."""
        return self._grown.get(numbers)

    def add(self, numbers: Numbers) -> Under:
        """Adds regions that are kept, and new here; gives those that were found to be under others.

        These are removed.
        """
        if not len(numbers):
            return NONE
        self._grown.set(numbers, True)
        self._parts.append(self._part(numbers))
        under = NONE
        if len(self._parts) > 1 and len(self._parts[-2].numbers) <= FEW:
            under = self._merge_last(2)
        while (count := self._alike()) >= _FACTOR:
            under = _together([under, self._merge_last(count)])
        return under

    def remove(self, numbers: Numbers) -> None:
        """Removes regions."""
        self._grown.set(numbers, False)

    def tidy(self) -> Under:
        """Merges all there is, so that no region is under another; gives those that were."""
        return self._merge_last(len(self._parts))

    def covering(self, regions: Regions) -> Numbers:
        """For each region the number of one that covers it, -1 where there is none."""
        found = np.full(len(regions), -1, np.int64)
        for part in self._parts:
            left = np.flatnonzero(found < 0)
            if not len(left):
                break
            asked = regions if len(left) == len(regions) else regions.take(left)
            found[left] = self._covering(part, asked)
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

    def _part(self, numbers: Numbers) -> _Part:
        return _Part(numbers, index_of(self.kept.take(numbers)))

    def _living(self, part: _Part) -> Numbers:
        return part.numbers[self._alive[part.numbers]]

    def _alike(self) -> int:
        """How many of the last parts are not larger than the last."""
        count, level = 0, self._parts[-1].level if self._parts else 0
        for part in reversed(self._parts):
            if part.level > level:
                break
            count += 1
        return count

    def _merge_last(self, count: int) -> Under:
        """Makes one part of the last ones, without those that newer ones cover."""
        if not count:
            return NONE
        parts = self._parts[-count:]
        del self._parts[-count:]
        under = _together(
            [NONE, *(self._under_newer(p, parts[i + 1 :]) for i, p in enumerate(parts))]
        )
        # One that was withdrawn and is back is in two parts.
        numbers = np.unique(np.concatenate([self._living(part) for part in parts]))
        if len(numbers):
            self._parts.append(self._part(numbers))
        return under

    def _under_newer(self, part: _Part, newer: Sequence[_Part]) -> Under:
        """Removes those of a part that newer ones cover; of equal regions the older one stays."""
        under = [NONE]
        for other in newer:
            numbers = self._living(part)
            regions = self.kept.take(numbers)
            over = self._covering(other, regions)
            found = np.flatnonzero(over >= 0)
            above = self.kept.take(over[found])
            found = found[~covers(regions, found, above, np.arange(len(found)))]
            self._alive[numbers[found]] = False
            under.append((numbers[found], over[found]))
        return _together(under)


def _together(parts: Sequence[Under]) -> Under:
    inner, outer = (np.concatenate(some) for some in zip(*parts, strict=True))
    return inner, outer
