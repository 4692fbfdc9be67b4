"""Blocks of Hilbert's curve: candidates for covering, covered and overlapping regions.

The block of 2^t positions that starts at p·2^t has the number (2p + 1)·2^t. The blocks within it
have numbers between 2p·2^t and (2p + 2)·2^t; the blocks that contain it do not.
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
"""Number of finished query rows, and pairs in two arrays: query rows and stored rows."""
_PAIRS_PER_BATCH = 1 << 18  # number of candidates at which a call ends


@kernel
def find_curve_blocks(offsets: Ints, first: Ints, last: Ints) -> tuple[Ints, NDArray[np.int32]]:
    """Divide the ranges of each row into blocks; return the number and the row of each block.

    Row i has the ranges from `offsets[i]` to `offsets[i + 1]` - 1, and range r has the positions
    from `first[r]` to `last[r]`.
    """
    blocks, rows = np.empty(4 * len(first) + 64, np.int64), np.empty(4 * len(first) + 64, np.int32)
    count = 0
    for row in range(len(offsets) - 1):
        for r in range(offsets[row], offsets[row + 1]):
            position = first[r]
            while position <= last[r]:
                t = 0
                while (position >> t) & 1 == 0 and t < 62 and position + (2 << t) - 1 <= last[r]:
                    t += 1
                if count == len(blocks):
                    blocks = np.concatenate((blocks, np.empty_like(blocks)))
                    rows = np.concatenate((rows, np.empty_like(rows)))
                blocks[count], rows[count] = (position << 1) + (1 << t), row
                count += 1
                position += 1 << t
    return blocks[:count].copy(), rows[:count].copy()


@kernel
def _lower_bound(numbers: Ints, number: int) -> int:
    """Return the index of the first of ascending numbers that is not less than `number`."""
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
    """Return whether box i of `lower` and `upper` contains box j of `low` and `high`."""
    for m in range(lower.shape[1]):
        if lower[i, m] > low[j, m] or upper[i, m] < high[j, m]:
            return False
    return True


@kernel
def _append_pair(pairs: Ints, count: int, query_row: int, stored_row: int) -> Ints:
    """Write a pair at index `count`; return the array, or a larger copy if it was full."""
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
    """Propose the stored boxes that contain each query box, from query row `start` on.

    `positions` has the position of the lower corner cell of each query box. The call ends after the
    query row at which the number of candidates reaches `_PAIRS_PER_BATCH`, or after the last one.
    """
    pairs, count = np.empty((2, 4096), np.int64), 0
    for i in range(start, len(lower)):
        for t in block_sizes:
            number = ((2 * (positions[i] >> t)) + 1) << t
            slot = _lower_bound(blocks, number)
            while slot < len(blocks) and blocks[slot] == number:
                if _contains_box(stored_lower, stored_upper, block_rows[slot], lower, upper, i):
                    pairs = _append_pair(pairs, count, i, block_rows[slot])
                    count += 1
                slot += 1
        if count >= _PAIRS_PER_BATCH:
            return i + 1 - start, pairs[0, :count].copy(), pairs[1, :count].copy()
    return len(lower) - start, pairs[0, :count].copy(), pairs[1, :count].copy()


@kernel
def propose_covered(
    start: int, lower: Ints, upper: Ints, offsets: Ints, first: Ints, last: Ints,
    corners: Ints, corner_rows: Ints, stored_lower: Ints, stored_upper: Ints,
) -> Proposal:  # fmt: skip
    """Propose the stored boxes within each query box, from query row `start` on.

    The lower corner cell of a stored box within a query box lies in one of the ranges of positions
    of the query box. As in `propose_covering`, the call ends early if there are enough candidates.
    """
    pairs, count = np.empty((2, 4096), np.int64), 0
    for i in range(start, len(lower)):
        for r in range(offsets[i], offsets[i + 1]):
            slot = _lower_bound(corners, first[r])
            while slot < len(corners) and corners[slot] <= last[r]:
                if _contains_box(lower, upper, i, stored_lower, stored_upper, corner_rows[slot]):
                    pairs = _append_pair(pairs, count, i, corner_rows[slot])
                    count += 1
                slot += 1
        if count >= _PAIRS_PER_BATCH:
            return i + 1 - start, pairs[0, :count].copy(), pairs[1, :count].copy()
    return len(lower) - start, pairs[0, :count].copy(), pairs[1, :count].copy()


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
    """Propose the stored boxes that overlap each query box, from query row `start` on.

    If two boxes overlap, a block of one box is within a block of the other box, or equal to it. The
    blocks of query row i are `query_blocks[starts[i]:starts[i + 1]]`. As in `propose_covering`, the
    call ends early if there are enough candidates.
    """
    pairs, count = np.empty((2, 4096), np.int64), 0
    seen = np.full(len(stored_lower), -1, np.int32)
    for i in range(start, len(lower)):
        for p in range(starts[i], starts[i + 1]):
            size = query_blocks[p] & -query_blocks[p]
            for k in range(-1, len(block_sizes)):  # -1: the blocks within the query block
                low, high = query_blocks[p] - size + 1, query_blocks[p] + size
                if k >= 0:
                    t = block_sizes[k]
                    if 1 << t <= size:
                        continue
                    low = (((query_blocks[p] >> (t + 1)) << 1) + 1) << t
                    high = low + 1
                slot = _lower_bound(blocks, low)
                while slot < len(blocks) and blocks[slot] < high:
                    row = block_rows[slot]
                    slot += 1
                    if seen[row] == i:
                        continue
                    seen[row] = i
                    if _overlaps_box(lower, upper, i, stored_lower, stored_upper, row):
                        pairs = _append_pair(pairs, count, i, row)
                        count += 1
        if count >= _PAIRS_PER_BATCH:
            return i + 1 - start, pairs[0, :count].copy(), pairs[1, :count].copy()
    return len(lower) - start, pairs[0, :count].copy(), pairs[1, :count].copy()


@kernel
def _overlaps_box(lower: Ints, upper: Ints, i: int, low: Ints, high: Ints, j: int) -> bool:
    """Return whether box i of `lower` and `upper` and box j of `low` and `high` share a cell."""
    for m in range(lower.shape[1]):
        if lower[i, m] > high[j, m] or upper[i, m] < low[j, m]:
            return False
    return True
