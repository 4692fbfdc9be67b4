"""The advertised regions of a table, to be asked which of them covers a region.

The newest are few, and tried one by one. When they have become many they are indexed, and segments
are merged in tiers as those of a store are. What is withdrawn stays in its segment until that is
merged, and is left out of answers.

That a new region covers old ones is found when their segments are merged: each of the old ones then
asks for a cover. To ask for all that a new one covers would cost fifty times as much.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.geometry.relations import covers
from covey.index import Index, Scan, Segment
from covey.store.tiers import Size, Tiers
from covey.table.kept import Kept
from covey.table.maximal import index_of

__all__ = ["NONE", "Active", "Under"]

Numbers = NDArray[np.int64]
Bools = NDArray[np.bool_]
Under = tuple[Numbers, Numbers]
"""Numbers of regions, and for each that of one which covers it."""
NONE: Under = (np.empty(0, np.int64), np.empty(0, np.int64))
_NEWEST = 256  # regions that are tried one by one
_TIERS = Tiers(smallest=1024)


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Some regions, by number."""

    numbers: Numbers
    index: Index


@dataclass(slots=True)
class Active:
    """Advertised regions by number, out of those that are kept.

    Cost: each is indexed a few times while others come; a question is put to about
    log8(n / 1024) segments.
    """

    kept: Kept
    _segments: list[_Part] = field(default_factory=list)
    _newest: _Part | None = None
    _alive: Bools = field(default_factory=lambda: np.zeros(1024, np.bool_))

    @property
    def numbers(self) -> Numbers:
        """All of them, ascending."""
        return np.flatnonzero(self._alive)

    def holds(self, numbers: Numbers) -> Bools:
        """Whether each is advertised."""
        return self._alive[numbers]

    def add(self, numbers: Numbers) -> Under:
        """Adds regions that are kept, and new here; gives those that were found to be under others.

        These are removed.
        """
        if not len(numbers):
            return NONE
        if len(self.kept) > len(self._alive):
            room = np.zeros(2 * len(self.kept), np.bool_)
            room[: len(self._alive)] = self._alive
            self._alive = room
        self._alive[numbers] = True
        parts = [_Part(numbers, index_of(self.kept.take(numbers)))]
        if self._newest is not None:
            parts.insert(0, self._newest)
        under = self._thin(parts)
        numbers = self._living(parts)
        self._newest = None
        if len(numbers) > _NEWEST:
            self._segments.append(_Part(numbers, Segment.build(self.kept.take(numbers))))
            return _together([under, self._merge_some()])
        if len(numbers):
            self._newest = _Part(numbers, Scan(self.kept.take(numbers)))
        return under

    def remove(self, numbers: Numbers) -> None:
        """Removes regions."""
        self._alive[numbers] = False

    def tidy(self) -> Under:
        """Merges all there is, so that no region is under another; gives those that were."""
        parts = list(self._parts())
        self._segments, self._newest = [], None
        return self._merge(parts) if parts else NONE

    def covering(self, regions: Regions) -> Numbers:
        """For each region the number of one that covers it, -1 where there is none."""
        found = np.full(len(regions), -1, np.int64)
        for part in self._parts():
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

    def _parts(self) -> Iterator[_Part]:
        """The largest first: it covers most."""
        yield from self._segments
        if self._newest is not None:
            yield self._newest

    def _living(self, parts: Sequence[_Part]) -> Numbers:
        numbers: Numbers = np.concatenate([part.numbers for part in parts])
        return numbers[self._alive[numbers]]

    def _merge_some(self) -> Under:
        """Merges segments until none should be."""
        under = [NONE]
        while chosen := _TIERS.plan([self._size(part) for part in self._segments]):
            parts = [self._segments[i] for i in chosen]
            self._segments = [p for i, p in enumerate(self._segments) if i not in chosen]
            under.append(self._merge(parts))
        return _together(under)

    def _merge(self, parts: Sequence[_Part]) -> Under:
        """One segment of some parts, without those that are under others."""
        under, numbers = self._thin(parts), self._living(parts)
        if len(numbers):
            self._segments.append(_Part(numbers, Segment.build(self.kept.take(numbers))))
            self._segments.sort(key=lambda part: len(part.numbers), reverse=True)
        return under

    def _thin(self, parts: Sequence[_Part]) -> Under:
        """Removes regions that are under those of another part."""
        under = [NONE]
        for part in parts if len(parts) > 1 else ():
            numbers = self._living([part])
            regions = self.kept.take(numbers)
            for other in parts:
                if other is not part:
                    over = self._covering(other, regions)
                    found = np.flatnonzero((over >= 0) & self._alive[numbers])
                    found = found[self._is_first(over[found], regions, found, numbers[found])]
                    self._alive[numbers[found]] = False
                    under.append((numbers[found], over[found]))
        return _together(under)

    def _is_first(self, over: Numbers, regions: Regions, rows: Numbers, numbers: Numbers) -> Bools:
        """Whether each cover counts: of equal regions only the one with the least number does."""
        above = self.kept.take(over)
        is_equal = covers(regions, rows, above, np.arange(len(rows)))
        return ~is_equal | (over < numbers)

    def _size(self, part: _Part) -> Size:
        dead = len(part.numbers) - int(np.count_nonzero(self._alive[part.numbers]))
        return Size(len(part.numbers), dead / len(part.numbers))


def _together(parts: Sequence[Under]) -> Under:
    inner, outer = (np.concatenate(some) for some in zip(*parts, strict=True))
    return inner, outer
