"""Chains of moves that free capacity for unassigned subscribers, and widen few filters.

Each row is a subscriber. Leaves are the vertices of a small graph; an edge leads from one leaf to
another if the second may serve a row that the first serves. For an unassigned row, the search looks
for a path that begins at a leaf that may serve the row, and ends at a leaf with free capacity.
Along each edge of the path, one row is moved. An edge costs 0 if the filter at its end covers the
box of a row that can be moved, and otherwise 1, because that filter must be widened. The cheapest
path is used.
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
    """Return whether the bits of a row contain a leaf."""
    contains: bool = (bits[row, leaf >> 6] >> np.uint64(leaf & 63)) & np.uint64(1) != 0
    return contains


@kernel
def make_room(
    allowed_bits: Bits,
    covering_bits: Bits,
    sizes: Floats,
    leaf_of: NDArray[np.int32],
    loads: Ints,
    capacities: Ints,
) -> int:
    """Assign unassigned rows, each by the cheapest path of moves; return how many stay unassigned.

    Along each edge of the path, from one leaf to the next, one row is moved: the first row whose
    box the next leaf's filter covers. If there is no such row, it is, of the rows that the next
    leaf may serve, the one with the smallest size.

    Args:
        allowed_bits: the leaves that may serve each row, as bits.
        covering_bits: the allowed leaves whose filter contains the box of the row, as bits.
        sizes: the measure of the box of each row.
        leaf_of: the leaf of each row, or -1 for unassigned rows; changed in place.
        loads: the number of rows that each leaf serves; changed in place.
        capacities: the number of rows that each leaf may serve.
    """
    leaves = len(loads)
    # Number of rows at one leaf (second axis) that may move to another leaf (third axis). On the
    # first axis, 0 counts the rows whose box the other leaf's filter covers, 1 counts all.
    movable_counts = np.zeros((2, leaves, leaves), np.int64)
    for row in range(len(leaf_of)):
        if leaf_of[row] >= 0:
            _count_moves(allowed_bits, covering_bits, row, leaf_of[row], 1, movable_counts)
    unassigned_count = 0
    for row in range(len(leaf_of)):
        if leaf_of[row] >= 0:
            continue
        end, previous_leaf = _find_augmenting_path(
            allowed_bits, covering_bits, row, movable_counts, loads, capacities
        )
        if end < 0:
            unassigned_count += 1
            continue
        loads[end] += 1
        while previous_leaf[end] >= 0:  # backwards from the leaf with free capacity
            start = previous_leaf[end]
            moved = _find_smallest_row(
                allowed_bits,
                covering_bits,
                sizes,
                leaf_of,
                start,
                end,
                movable_counts[0, start, end] > 0,
            )
            _count_moves(allowed_bits, covering_bits, moved, start, -1, movable_counts)
            _count_moves(allowed_bits, covering_bits, moved, end, 1, movable_counts)
            leaf_of[moved] = end
            end = start
        leaf_of[row] = end
        _count_moves(allowed_bits, covering_bits, row, end, 1, movable_counts)
    return unassigned_count


@kernel
def _count_moves(
    allowed_bits: Bits, covering_bits: Bits, row: int, leaf: int, delta: int, movable_counts: Ints
) -> None:
    """Add `delta` to the counts of the moves that a row at a leaf makes possible.

    `movable_counts[1, leaf, other]` counts all rows that may move from a leaf to another one, and
    `movable_counts[0, leaf, other]` only the rows whose box the other leaf's filter covers.
    """
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
    """Return the end of the cheapest path for an unassigned row, and the leaves before it.

    A path begins at a leaf that may serve the row, and ends at a leaf with free capacity. Its cost
    is the number of filters that must be widened.

    Returns:
        The leaf at the end of the path, or -1 if there is no path; and an array that has for each
        leaf the previous leaf on the path to it, or -1 if the path begins at the leaf.
    """
    leaves = len(loads)
    costs, previous_leaf = np.full(leaves, leaves + 1), np.full(leaves, -1, np.int64)
    is_done = np.zeros(leaves, np.bool_)
    for leaf in range(leaves):
        if _has_leaf(allowed_bits, row, leaf):
            costs[leaf] = 0 if _has_leaf(covering_bits, row, leaf) else 1
    for _ in range(leaves):
        nearest = -1
        for leaf in range(leaves):
            if (
                not is_done[leaf]
                and costs[leaf] <= leaves
                and (nearest < 0 or costs[leaf] < costs[nearest])
            ):
                nearest = leaf
        if nearest < 0:
            break
        if loads[nearest] < capacities[nearest]:
            return nearest, previous_leaf
        is_done[nearest] = True
        for other in range(leaves):
            if movable_counts[1, nearest, other] > 0:
                cost = costs[nearest] + (0 if movable_counts[0, nearest, other] > 0 else 1)
                if cost < costs[other]:
                    costs[other], previous_leaf[other] = cost, nearest
    return -1, previous_leaf


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
    """Return the row to move from leaf `start` to leaf `end`; -1 if there is none.

    If `is_free`, it is the first row whose box the filter of `end` covers; otherwise, of the rows
    that `end` may serve, the one with the smallest size.
    """
    smallest = -1
    for row in range(len(leaf_of)):
        if leaf_of[row] != start or not _has_leaf(
            covering_bits if is_free else allowed_bits, row, end
        ):
            continue
        if is_free:
            return row
        if smallest < 0 or sizes[row] < sizes[smallest]:
            smallest = row
    return smallest
