"""Regions as blocks of Hilbert's curve: which may cover, be covered by or overlap others.

A block of 2^t positions from p·2^t on has the number (2p + 1)·2^t. Those within it have the
numbers between 2p·2^t and (2p + 2)·2^t, and those that contain it do not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey._jit import kernel

__all__ = [
    "Proposal",
    "find_curve_blocks",
    "propose_covered",
    "propose_covering",
    "propose_overlapping",
]

Ints = NDArray[np.int64]
Proposal = tuple[int, Ints, Ints]
"""How many query rows were done, and pairs of query rows and stored rows."""
_PAIRS_PER_BATCH = 1 << 18  # candidates


@kernel
def find_curve_blocks(offsets: Ints, first: Ints, last: Ints) -> tuple[Ints, NDArray[np.int32]]:
    """The blocks that make up the ranges of each row, and their rows."""
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
def _lower_bound(numbers: Ints, number: int) -> int:
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
def _contains_box(lower: Ints, upper: Ints, i: int, low: Ints, high: Ints, j: int) -> bool:
    """Whether box i contains box j."""
    for m in range(lower.shape[1]):
        if lower[i, m] > low[j, m] or upper[i, m] < high[j, m]:
            return False
    return True


@kernel
def _append_pair(pairs: Ints, count: int, query_row: int, stored_row: int) -> Ints:
    if count == pairs.shape[1]:
        pairs = np.concatenate((pairs, np.empty_like(pairs)), axis=1)
    pairs[0, count], pairs[1, count] = query_row, stored_row
    return pairs


@kernel
def propose_covering(
    start: int,
    lower: Ints,
    upper: Ints,
    positions: Ints,
    blocks: Ints,
    block_rows: NDArray[np.int32],
    block_sizes: Ints,
    stored_lower: Ints,
    stored_upper: Ints,
) -> Proposal:
    """Stored boxes that contain each query box, from row `start` on until they are many."""
    found, count = np.empty((2, 4096), np.int64), 0
    for i in range(start, len(lower)):
        for t in block_sizes:
            number = ((2 * (positions[i] >> t)) + 1) << t
            at = _lower_bound(blocks, number)
            while at < len(blocks) and blocks[at] == number:
                if _contains_box(stored_lower, stored_upper, block_rows[at], lower, upper, i):
                    found = _append_pair(found, count, i, block_rows[at])
                    count += 1
                at += 1
        if count >= _PAIRS_PER_BATCH:
            return i + 1 - start, found[0, :count].copy(), found[1, :count].copy()
    return len(lower) - start, found[0, :count].copy(), found[1, :count].copy()


@kernel
def propose_covered(
    start: int, lower: Ints, upper: Ints, offsets: Ints, first: Ints, last: Ints,
    corners: Ints, corner_rows: Ints, stored_lower: Ints, stored_upper: Ints,
) -> Proposal:  # fmt: skip
    """Stored boxes within each query box: their lower corners are in its ranges."""
    found, count = np.empty((2, 4096), np.int64), 0
    for i in range(start, len(lower)):
        for r in range(offsets[i], offsets[i + 1]):
            at = _lower_bound(corners, first[r])
            while at < len(corners) and corners[at] <= last[r]:
                if _contains_box(lower, upper, i, stored_lower, stored_upper, corner_rows[at]):
                    found = _append_pair(found, count, i, corner_rows[at])
                    count += 1
                at += 1
        if count >= _PAIRS_PER_BATCH:
            return i + 1 - start, found[0, :count].copy(), found[1, :count].copy()
    return len(lower) - start, found[0, :count].copy(), found[1, :count].copy()


@kernel
def propose_overlapping(
    start: int,
    lower: Ints,
    upper: Ints,
    starts: Ints,
    query_blocks: Ints,
    blocks: Ints,
    block_rows: NDArray[np.int32],
    block_sizes: Ints,
    stored_lower: Ints,
    stored_upper: Ints,
) -> Proposal:
    """Stored boxes that overlap each query box: a block of one is within a block of the other."""
    found, count = np.empty((2, 4096), np.int64), 0
    seen = np.full(len(stored_lower), -1, np.int32)
    for i in range(start, len(lower)):
        for p in range(starts[i], starts[i + 1]):
            one = query_blocks[p] & -query_blocks[p]
            for k in range(-1, len(block_sizes)):  # those within it, then each that contains it
                low, high = query_blocks[p] - one + 1, query_blocks[p] + one
                if k >= 0:
                    t = block_sizes[k]
                    if 1 << t <= one:
                        continue
                    low = (((query_blocks[p] >> (t + 1)) << 1) + 1) << t
                    high = low + 1
                at = _lower_bound(blocks, low)
                while at < len(blocks) and blocks[at] < high:
                    row = block_rows[at]
                    at += 1
                    if seen[row] == i:
                        continue
                    seen[row] = i
                    if _overlaps_box(lower, upper, i, stored_lower, stored_upper, row):
                        found = _append_pair(found, count, i, row)
                        count += 1
        if count >= _PAIRS_PER_BATCH:
            return i + 1 - start, found[0, :count].copy(), found[1, :count].copy()
    return len(lower) - start, found[0, :count].copy(), found[1, :count].copy()


@kernel
def _overlaps_box(lower: Ints, upper: Ints, i: int, low: Ints, high: Ints, j: int) -> bool:
    """Whether box i has a cell of box j."""
    for m in range(lower.shape[1]):
        if lower[i, m] > high[j, m] or upper[i, m] < low[j, m]:
            return False
    return True
