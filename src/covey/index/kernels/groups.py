"""Pairs brought together by one of their sides."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.compiled import kernel
from covey.index.kernels.bits import ONE

__all__ = ["grouped", "paired"]


@kernel
def grouped(
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
def paired(
    owners: NDArray[np.int32], places: NDArray[np.int32], order: NDArray[np.int32], count: int,
    asked: NDArray[np.int32], stored: NDArray[np.int32],
) -> None:  # fmt: skip
    """Writes pairs by their owner: the owner, and the row at the place.

    Run by run: pairs that were found together have one owner.
    """
    at = np.zeros(count + 1, np.int64)
    size = np.uint64(len(owners))
    i = np.uint64(0)
    while i < size:
        start, owner = i, owners[i]
        while i < size and owners[i] == owner:
            i += ONE
        at[np.uint64(owner) + ONE] += np.int64(i - start)
    for g in range(count):
        at[g + 1] += at[g]
    i = np.uint64(0)
    while i < size:
        owner = owners[i]
        to = np.uint64(at[np.uint64(owner)])
        while i < size and owners[i] == owner:
            asked[to], stored[to] = owner, order[np.uint64(places[i])]
            i += ONE
            to += ONE
        at[np.uint64(owner)] = np.int64(to)
