"""Regions as parts of Hilbert's curve, and which of them may cover, be covered by or meet others.

A part of 2^t positions from p·2^t on has the number (2p + 1)·2^t. Those within it have the
numbers between 2p·2^t and (2p + 2)·2^t, and those that contain it do not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.compiled import kernel

__all__ = ["Proposal", "beside", "curve_parts", "over", "under"]

Ints = NDArray[np.int64]
Proposal = tuple[int, Ints, Ints]
"""How many asked rows were done, and pairs of asked and stored rows."""
_AT_ONCE = 1 << 18  # candidates


@kernel
def curve_parts(offsets: Ints, first: Ints, last: Ints) -> tuple[Ints, NDArray[np.int32]]:
    """The parts that make up the ranges of each row, and their rows."""
    parts, rows = np.empty(4 * len(first) + 64, np.int64), np.empty(4 * len(first) + 64, np.int32)
    count = 0
    for row in range(len(offsets) - 1):
        for r in range(offsets[row], offsets[row + 1]):
            at = first[r]
            while at <= last[r]:
                t = 0
                while (at >> t) & 1 == 0 and t < 62 and at + (2 << t) - 1 <= last[r]:
                    t += 1
                if count == len(parts):
                    parts = np.concatenate((parts, np.empty_like(parts)))
                    rows = np.concatenate((rows, np.empty_like(rows)))
                parts[count], rows[count] = (at << 1) + (1 << t), row
                count += 1
                at += 1 << t
    return parts[:count].copy(), rows[:count].copy()


@kernel
def _place(numbers: Ints, number: int) -> int:
    """Where the first that is not less stands."""
    low, high = 0, len(numbers)
    while low < high:
        middle = (low + high) >> 1
        if numbers[middle] < number:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _contains(lower: Ints, upper: Ints, i: int, low: Ints, high: Ints, j: int) -> bool:
    """Whether box i contains box j."""
    for m in range(lower.shape[1]):
        if lower[i, m] > low[j, m] or upper[i, m] < high[j, m]:
            return False
    return True


@kernel
def _kept(found: Ints, count: int, asked: int, stored: int) -> Ints:
    if count == found.shape[1]:
        found = np.concatenate((found, np.empty_like(found)), axis=1)
    found[0, count], found[1, count] = asked, stored
    return found


@kernel
def over(
    start: int, lower: Ints, upper: Ints, positions: Ints,
    parts: Ints, rows: NDArray[np.int32], sizes: Ints, lowers: Ints, uppers: Ints,
) -> Proposal:  # fmt: skip
    """Stored boxes that contain each asked one, from row `start` on until they are many."""
    found, count = np.empty((2, 4096), np.int64), 0
    for i in range(start, len(lower)):
        for t in sizes:
            number = ((2 * (positions[i] >> t)) + 1) << t
            at = _place(parts, number)
            while at < len(parts) and parts[at] == number:
                if _contains(lowers, uppers, rows[at], lower, upper, i):
                    found = _kept(found, count, i, rows[at])
                    count += 1
                at += 1
        if count >= _AT_ONCE:
            return i + 1 - start, found[0, :count].copy(), found[1, :count].copy()
    return len(lower) - start, found[0, :count].copy(), found[1, :count].copy()


@kernel
def under(
    start: int, lower: Ints, upper: Ints, offsets: Ints, first: Ints, last: Ints,
    corners: Ints, by_corner: Ints, lowers: Ints, uppers: Ints,
) -> Proposal:  # fmt: skip
    """Stored boxes within each asked one: their lower corners are in its ranges."""
    found, count = np.empty((2, 4096), np.int64), 0
    for i in range(start, len(lower)):
        for r in range(offsets[i], offsets[i + 1]):
            at = _place(corners, first[r])
            while at < len(corners) and corners[at] <= last[r]:
                if _contains(lower, upper, i, lowers, uppers, by_corner[at]):
                    found = _kept(found, count, i, by_corner[at])
                    count += 1
                at += 1
        if count >= _AT_ONCE:
            return i + 1 - start, found[0, :count].copy(), found[1, :count].copy()
    return len(lower) - start, found[0, :count].copy(), found[1, :count].copy()


@kernel
def beside(
    start: int, lower: Ints, upper: Ints, starts: Ints, asked: Ints,
    parts: Ints, rows: NDArray[np.int32], sizes: Ints, lowers: Ints, uppers: Ints,
) -> Proposal:  # fmt: skip
    """Stored boxes that meet each asked one: a part of one is within a part of the other."""
    found, count = np.empty((2, 4096), np.int64), 0
    seen = np.full(len(lowers), -1, np.int32)
    for i in range(start, len(lower)):
        for p in range(starts[i], starts[i + 1]):
            one = asked[p] & -asked[p]
            for k in range(-1, len(sizes)):  # those within it, then each that contains it
                low, high = asked[p] - one + 1, asked[p] + one
                if k >= 0:
                    t = sizes[k]
                    if 1 << t <= one:
                        continue
                    low = (((asked[p] >> (t + 1)) << 1) + 1) << t
                    high = low + 1
                at = _place(parts, low)
                while at < len(parts) and parts[at] < high:
                    row = rows[at]
                    at += 1
                    if seen[row] == i:
                        continue
                    seen[row] = i
                    if _meets(lower, upper, i, lowers, uppers, row):
                        found = _kept(found, count, i, row)
                        count += 1
        if count >= _AT_ONCE:
            return i + 1 - start, found[0, :count].copy(), found[1, :count].copy()
    return len(lower) - start, found[0, :count].copy(), found[1, :count].copy()


@kernel
def _meets(lower: Ints, upper: Ints, i: int, low: Ints, high: Ints, j: int) -> bool:
    """Whether box i has a cell of box j."""
    for m in range(lower.shape[1]):
        if lower[i, m] > high[j, m] or upper[i, m] < low[j, m]:
            return False
    return True
