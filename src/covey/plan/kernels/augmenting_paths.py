"""Room for those who found none: others move on, as few as can be to where filters must widen.

Leaves are the vertices of a small graph: from one to another if somebody served there could be
served here. A way that begins where one waits and ends where there is room moves one along each of
its edges; edges whose filters have what is wanted are free.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey._jit import kernel

__all__ = ["make_room"]

Bits = NDArray[np.uint64]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@kernel
def _has_leaf(bits: Bits, row: int, leaf: int) -> bool:
    has: bool = (bits[row, leaf >> 6] >> np.uint64(leaf & 63)) & np.uint64(1) != 0
    return has


@kernel
def make_room(
    allowed_bits: Bits,
    covering_bits: Bits,
    sizes: Floats,
    leaf_of: NDArray[np.int32],
    loads: Ints,
    capacities: Ints,
) -> int:
    """Gives a leaf to rows that have none (-1), moving others; gives how many are left without.

    Of rows at a leaf that could move, the one with the smallest size moves.
    """
    leaves = len(loads)
    could = np.zeros((2, leaves, leaves), np.int64)  # rows at one that may go to another: free, all
    for row in range(len(leaf_of)):
        if leaf_of[row] >= 0:
            _count_moves(allowed_bits, covering_bits, row, leaf_of[row], 1, could)
    left = 0
    for row in range(len(leaf_of)):
        if leaf_of[row] >= 0:
            continue
        end, before = _find_augmenting_path(
            allowed_bits, covering_bits, row, could, loads, capacities
        )
        if end < 0:
            left += 1
            continue
        loads[end] += 1
        while before[end] >= 0:  # back from where there is room
            start = before[end]
            moved = _find_smallest_row(
                allowed_bits, covering_bits, sizes, leaf_of, start, end, could[0, start, end] > 0
            )
            _count_moves(allowed_bits, covering_bits, moved, start, -1, could)
            _count_moves(allowed_bits, covering_bits, moved, end, 1, could)
            leaf_of[moved] = end
            end = start
        leaf_of[row] = end
        _count_moves(allowed_bits, covering_bits, row, end, 1, could)
    return left


@kernel
def _count_moves(
    allowed_bits: Bits, covering_bits: Bits, row: int, leaf: int, delta: int, movable_counts: Ints
) -> None:
    for other in range(movable_counts.shape[1]):
        if other != leaf and _has_leaf(allowed_bits, row, other):
            movable_counts[1, leaf, other] += delta
            if _has_leaf(covering_bits, row, other):
                movable_counts[0, leaf, other] += delta


@kernel
def _find_augmenting_path(
    allowed_bits: Bits,
    covering_bits: Bits,
    row: int,
    movable_counts: Ints,
    loads: Ints,
    capacities: Ints,
) -> tuple[int, Ints]:
    """The leaf with room at the end of the cheapest way, or -1; and for each the leaf before it."""
    leaves = len(loads)
    costs, before = np.full(leaves, leaves + 1), np.full(leaves, -1, np.int64)
    is_done = np.zeros(leaves, np.bool_)
    for leaf in range(leaves):
        if _has_leaf(allowed_bits, row, leaf):
            costs[leaf] = 0 if _has_leaf(covering_bits, row, leaf) else 1
    for _ in range(leaves):
        at = -1
        for leaf in range(leaves):
            if not is_done[leaf] and costs[leaf] <= leaves and (at < 0 or costs[leaf] < costs[at]):
                at = leaf
        if at < 0:
            break
        if loads[at] < capacities[at]:
            return at, before
        is_done[at] = True
        for other in range(leaves):
            if movable_counts[1, at, other] > 0:
                cost = costs[at] + (0 if movable_counts[0, at, other] > 0 else 1)
                if cost < costs[other]:
                    costs[other], before[other] = cost, at
    return -1, before


@kernel
def _find_smallest_row(
    allowed_bits: Bits,
    covering_bits: Bits,
    sizes: Floats,
    leaf_of: NDArray[np.int32],
    start: int,
    end: int,
    is_free: bool,
) -> int:
    best = -1
    for row in range(len(leaf_of)):
        if leaf_of[row] != start or not _has_leaf(
            covering_bits if is_free else allowed_bits, row, end
        ):
            continue
        if is_free:
            return row
        if best < 0 or sizes[row] < sizes[best]:
            best = row
    return best
