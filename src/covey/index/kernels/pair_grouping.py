"""Pairs brought together by one of their sides."""

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
    """Writes values by their group, in their order, and where each group starts."""
    starts[:] = 0
    for i in range(np.uint64(len(groups))):
        starts[np.uint64(groups[i]) + ONE] += 1
    for g in range(len(starts) - 1):
        starts[g + 1] += starts[g]
    places = starts[:-1].copy()
    for i in range(np.uint64(len(groups))):
        g = np.uint64(groups[i])
        sorted_values[np.uint64(places[g])] = values[i]
        places[g] += 1


@kernel
def write_pairs(
    query_rows: NDArray[np.int32],
    ordinals: NDArray[np.int32],
    stored_values: NDArray[np.int32],
    query_count: int,
    pair_query_rows: NDArray[np.int32],
    pair_stored_rows: NDArray[np.int32],
) -> None:
    """Writes pairs by query row: the query row, and the stored value at the ordinal.

    Run by run: pairs that were found together have one query row.
    """
    at = np.zeros(query_count + 1, np.int64)
    size = np.uint64(len(query_rows))
    i = np.uint64(0)
    while i < size:
        start, owner = i, query_rows[i]
        while i < size and query_rows[i] == owner:
            i += ONE
        at[np.uint64(owner) + ONE] += np.int64(i - start)
    for g in range(query_count):
        at[g + 1] += at[g]
    i = np.uint64(0)
    while i < size:
        owner = query_rows[i]
        to = np.uint64(at[np.uint64(owner)])
        while i < size and query_rows[i] == owner:
            pair_query_rows[to], pair_stored_rows[to] = owner, stored_values[np.uint64(ordinals[i])]
            i += ONE
            to += ONE
        at[np.uint64(owner)] = np.int64(to)
