"""The ranges of each living region of a table that advertises cells."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.geometry.range_sets import RangeSets
from covey.routing.growable_array import GrowableArray

__all__ = ["RegionRanges"]

Numbers = NDArray[np.int64]


class RegionRanges:
    """Ranges by number of region, one after another in two arrays that grow."""

    def __init__(self) -> None:
        self._first, self._last = np.empty(1024, np.int64), np.empty(1024, np.int64)
        self._end, self._dead_count = 0, 0
        self._starts, self._lengths = GrowableArray(-1), GrowableArray(0)

    @property
    def numbers(self) -> Numbers:
        """The living regions, ascending."""
        return np.flatnonzero(self._starts.values >= 0)

    def contains(self, numbers: Numbers) -> NDArray[np.bool_]:
        """Whether each is living."""
        return np.asarray(self._starts.get(numbers) >= 0)

    def add(self, numbers: Numbers, rows: RangeSets) -> None:
        """Keeps the ranges of regions that are not living."""
        end = self._end + len(rows.first)
        if end > len(self._first):
            room = max(end, 2 * len(self._first)) - self._end
            blank = np.empty(room, np.int64)
            self._first = np.concatenate([self._first[: self._end], blank])
            self._last = np.concatenate([self._last[: self._end], blank])
        self._first[self._end : end], self._last[self._end : end] = rows.first, rows.last
        self._starts.set(numbers, self._end + rows.offsets[:-1])
        self._lengths.set(numbers, rows.lengths)
        self._end = end

    def take(self, numbers: Numbers) -> RangeSets:
        """The ranges of living regions."""
        starts, lengths = self._starts.get(numbers), self._lengths.get(numbers)
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        places = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
        return RangeSets(offsets, self._first[places], self._last[places])

    def remove(self, numbers: Numbers) -> None:
        """Forgets regions; when half of all that is kept is of such, it is given up."""
        self._dead_count += int(self._lengths.get(numbers).sum())
        self._starts.set(numbers, -1)
        self._lengths.set(numbers, 0)
        if self._dead_count > max(1024, self._end // 2):
            living = self.numbers
            rows = self.take(living)
            self._end, self._dead_count = 0, 0
            self.add(living, rows)
