"""Grouping of pairs, which are two parallel arrays, by the values of one of these arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey._jit import kernel
from covey.index.kernels.bits import ONE

__all__ = ["group_pairs", "write_pairs"]


@kernel
def group_pairs(
    groups: NDArray[np.int32], values: NDArray[np.int32], starts: NDArray[np.int64],
    sorted_values: NDArray[np.int32],
) -> None:  # fmt: skip
    """Write the values sorted by group to `sorted_values`, and the start of each group to `starts`.

    `starts` has one more item, the end of the last group. Within a group, values keep their order.
    """
    starts[:] = 0
    for i in range(np.uint64(len(groups))):
        starts[np.uint64(groups[i]) + ONE] += 1
    for g in range(len(starts) - 1):
        starts[g + 1] += starts[g]
    next_slots = starts[:-1].copy()
    for i in range(np.uint64(len(groups))):
        g = np.uint64(groups[i])
        sorted_values[np.uint64(next_slots[g])] = values[i]
        next_slots[g] += 1


@kernel
def write_pairs(
    query_rows: NDArray[np.int32],
    ordinals: NDArray[np.int32],
    stored_values: NDArray[np.int32],
    query_count: int,
    pair_query_rows: NDArray[np.int32],
    pair_stored_rows: NDArray[np.int32],
) -> None:
    """Write pairs of a query row and a stored value, sorted by query row.

    Pair i of the input has the stored value `stored_values[ordinals[i]]`. Within a query row, pairs
    keep their order. Consecutive pairs with the same query row are moved together.
    """
    next_slots = np.zeros(query_count + 1, np.int64)
    size = np.uint64(len(query_rows))
    i = np.uint64(0)
    while i < size:
        start, query_row = i, query_rows[i]
        while i < size and query_rows[i] == query_row:
            i += ONE
        next_slots[np.uint64(query_row) + ONE] += np.int64(i - start)
    for g in range(query_count):
        next_slots[g + 1] += next_slots[g]
    i = np.uint64(0)
    while i < size:
        query_row = query_rows[i]
        slot = np.uint64(next_slots[np.uint64(query_row)])
        while i < size and query_rows[i] == query_row:
            pair_query_rows[slot], pair_stored_rows[slot] = (
                query_row,
                stored_values[np.uint64(ordinals[i])],
            )
            i += ONE
            slot += ONE
        next_slots[np.uint64(query_row)] = np.int64(slot)
