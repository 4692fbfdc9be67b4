"""Path lengths, and sets of leaves as rows of bits: leaf l is bit l % 64 of word l // 64."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey._jit import kernel

__all__ = [
    "compute_path_lengths",
    "find_first_subset",
    "select_covering_leaves",
    "select_near_leaves",
]

Bits = NDArray[np.uint64]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@kernel
def compute_path_lengths(positions: Floats, brokers: Floats, latencies: Floats) -> Floats:
    """Return the length of the path from the publisher through each leaf to each position.

    Args:
        positions: one row of coordinates for each position.
        brokers: one row of coordinates for each leaf.
        latencies: the length of the path from the publisher to each leaf.

    Returns:
        One row for each position and one column for each leaf.
    """
    total = np.empty((len(positions), len(brokers)))
    for i in range(len(positions)):
        for leaf in range(len(brokers)):
            squared = 0.0
            for k in range(positions.shape[1]):
                squared += (positions[i, k] - brokers[leaf, k]) ** 2
            total[i, leaf] = np.sqrt(squared) + latencies[leaf]
    return total


@kernel
def select_near_leaves(path_lengths: Floats, max_stretch: float) -> Bits:
    """Return for each row the leaves whose path is at most `max_stretch` times the shortest one.

    The leaves are returned as bits. `path_lengths` has one column for each leaf.
    """
    bits = np.zeros((len(path_lengths), (path_lengths.shape[1] + 63) // 64), np.uint64)
    for i in range(len(path_lengths)):
        limit = max_stretch * path_lengths[i].min()
        for leaf in range(path_lengths.shape[1]):
            if path_lengths[i, leaf] <= limit:
                bits[i, leaf >> 6] |= np.uint64(1) << np.uint64(leaf & 63)
    return bits


@kernel
def select_covering_leaves(
    allowed_bits: Bits, lower: Floats, upper: Floats, low: Floats, high: Floats, counts: Ints
) -> Bits:
    """Return for each row the allowed leaves with a rectangle that contains the row's box, as bits.

    Args:
        allowed_bits: the allowed leaves of each row, as bits.
        lower: lower ends of the box of each row.
        upper: upper ends of the box of each row.
        low: lower ends of the rectangles: `low[l, k]` belongs to rectangle k of leaf l.
        high: upper ends of the rectangles.
        counts: the number of rectangles of each leaf.
    """
    covering_bits = np.zeros_like(allowed_bits)
    for i in range(len(allowed_bits)):
        for leaf in range(len(counts)):
            bit = np.uint64(1) << np.uint64(leaf & 63)
            if not allowed_bits[i, leaf >> 6] & bit:
                continue
            for rectangle in range(counts[leaf]):
                is_in = True
                for k in range(lower.shape[1]):
                    is_in &= low[leaf, rectangle, k] <= lower[i, k]
                    is_in &= high[leaf, rectangle, k] >= upper[i, k]
                if is_in:
                    covering_bits[i, leaf >> 6] |= bit
                    break
    return covering_bits


@kernel
def find_first_subset(bits: Bits, leaf_sets: Bits) -> Ints:
    """Return for each row the index of the first leaf set that is a subset of the row's leaves.

    The index is -1 if there is no such set.
    """
    set_of_row = np.full(len(bits), -1, np.int64)
    for i in range(len(bits)):
        for number in range(len(leaf_sets)):
            is_in = True
            for word in range(bits.shape[1]):
                if leaf_sets[number, word] & ~bits[i, word]:
                    is_in = False
                    break
            if is_in:
                set_of_row[i] = number
                break
    return set_of_row
