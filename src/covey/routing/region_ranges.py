"""Ranges of positions on the Hilbert curve, for each live region of a `HilbertCellStrategy`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.geometry.range_sets import RangeSets
from covey.routing.growable_array import GrowableArray

__all__ = ["RegionRanges"]

Numbers = NDArray[np.int64]


class RegionRanges:
    """Ranges of positions by region number, stored one after another in two growing arrays."""

    def __init__(self) -> None:
        self._first, self._last = np.empty(1024, np.int64), np.empty(1024, np.int64)
        self._end, self._dead_count = 0, 0
        self._starts, self._lengths = GrowableArray(-1), GrowableArray(0)

    @property
    def numbers(self) -> Numbers:
        """Numbers of the live regions, ascending."""
        return np.flatnonzero(self._starts.values >= 0)

    def contains(self, numbers: Numbers) -> NDArray[np.bool_]:
        """Return for each number whether its region is live."""
        return np.asarray(self._starts.get(numbers) >= 0)

    def add(self, numbers: Numbers, rows: RangeSets) -> None:
        """Store the ranges of regions that are not live; `rows` has one row for each number."""
        end = self._end + len(rows.first)
        if end > len(self._first):
            extra_length = max(end, 2 * len(self._first)) - self._end
            extension = np.empty(extra_length, np.int64)
            self._first = np.concatenate([self._first[: self._end], extension])
            self._last = np.concatenate([self._last[: self._end], extension])
        self._first[self._end : end], self._last[self._end : end] = rows.first, rows.last
        self._starts.set(numbers, self._end + rows.offsets[:-1])
        self._lengths.set(numbers, rows.lengths)
        self._end = end

    def take(self, numbers: Numbers) -> RangeSets:
        """Return the ranges of live regions, in the order of `numbers`."""
        starts, lengths = self._starts.get(numbers), self._lengths.get(numbers)
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        positions = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
        return RangeSets(offsets, self._first[positions], self._last[positions])

    def remove(self, numbers: Numbers) -> None:
        """Remove live regions.

        If more than half of the stored ranges, and more than 1,024, are those of removed regions,
        the other ranges are moved to the start of the arrays, so that the space is used again.
        """
        self._dead_count += int(self._lengths.get(numbers).sum())
        self._starts.set(numbers, -1)
        self._lengths.set(numbers, 0)
        if self._dead_count > max(1024, self._end // 2):
            live_numbers = self.numbers
            rows = self.take(live_numbers)
            self._end, self._dead_count = 0, 0
            self.add(live_numbers, rows)
