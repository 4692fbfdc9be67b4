"""Codes of keys."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.compiled import kernel
from covey.index.kernels.bits import ONE

__all__ = ["encode"]


@kernel
def encode(
    keys: NDArray[np.int64], valid: NDArray[np.bool_], boundaries: NDArray[np.int64],
    shift: int, cells: NDArray[np.uint32], shifts: NDArray[np.uint8], guide: NDArray[np.uint16],
    codes: NDArray[np.uint16],
) -> None:  # fmt: skip
    """Writes each key's code: even at a boundary, odd between two, 0 where not valid.

    The distance from the first boundary names a cell, and within it a part: the guide knows
    between which boundaries a part begins and ends.
    """
    first, last = boundaries[0], boundaries[-1]
    for i in range(len(keys)):
        key = keys[i]
        if not valid[i]:
            codes[i] = 0
        elif key < first:
            codes[i] = 3
        elif key > last:
            codes[i] = 2 * len(boundaries) + 3
        else:
            off = np.uint64(key) - np.uint64(first)
            cell = off >> np.uint64(shift)
            within = off - (cell << np.uint64(shift))
            part = np.uint64(cells[cell]) + (within >> np.uint64(shifts[cell]))
            low, high = np.uint64(guide[part]), np.uint64(guide[part + ONE])
            while low < high:
                middle = (low + high) >> ONE
                if boundaries[middle] < key:
                    low = middle + ONE
                else:
                    high = middle
            codes[i] = np.uint64(2) * low + np.uint64(3 + (boundaries[low] == key))
