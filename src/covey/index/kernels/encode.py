"""Codes of keys, and of the ends of intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.compiled import kernel
from covey.index.kernels.bits import LAST, ONE

__all__ = ["encode", "encode_ends"]


_UNBOUNDED, _LAST = np.uint64(2), np.uint64(LAST)


@kernel
def encode(
    keys: NDArray[np.int64], valid: NDArray[np.bool_], boundaries: NDArray[np.int64],
    shift: int, cells: NDArray[np.uint32], shifts: NDArray[np.uint8], guide: NDArray[np.uint16],
    steps: int, codes: NDArray[np.uint16],
) -> None:  # fmt: skip
    """Writes each key's code: even at a boundary, odd between two, 0 where not valid."""
    for i in range(len(keys)):
        code = _code(keys[i], boundaries, shift, cells, shifts, guide, steps)
        codes[i] = code if valid[i] else np.uint64(0)


@kernel
def encode_ends(
    lower: NDArray[np.int64], upper: NDArray[np.int64], nulls: NDArray[np.bool_],
    low: int, high: int, boundaries: NDArray[np.int64], shift: int, cells: NDArray[np.uint32],
    shifts: NDArray[np.uint8], guide: NDArray[np.uint16], steps: int, rows: NDArray[np.int64],
    low_codes: NDArray[np.uint16], high_codes: NDArray[np.uint16],
) -> None:  # fmt: skip
    """Writes, at their rows, the lowest and the highest code that intervals of keys admit.

    An end that no key is beyond has a code of its own; null is below all, so an interval without a
    key has only that.
    """
    for i in range(len(lower)):
        row = np.uint64(rows[i])
        first = _code(lower[i], boundaries, shift, cells, shifts, guide, steps)
        last = _code(upper[i], boundaries, shift, cells, shifts, guide, steps)
        first = _UNBOUNDED if lower[i] == low else first
        last = _LAST if upper[i] == high else last
        is_empty = lower[i] > upper[i]
        low_codes[row] = np.uint64(0) if is_empty or nulls[i] else first
        high_codes[row] = np.uint64(0) if is_empty else last


@kernel(inline="always")
def _code(
    key: Any, boundaries: Any, shift: Any, cells: Any, shifts: Any, guide: Any, steps: Any
) -> Any:
    """The code of a key.

    The distance from the first boundary names a cell, and within it a part: the guide knows
    between which boundaries a part begins and ends. The first steps of the search do not branch:
    guesses of a processor that go wrong would cost more than all else.
    """
    first, last = boundaries[0], boundaries[-1]
    inside = min(max(key, first), last)
    off = np.uint64(inside) - np.uint64(first)
    cell = off >> np.uint64(shift)
    within = off - (cell << np.uint64(shift))
    part = np.uint64(cells[cell]) + (within >> np.uint64(shifts[cell]))
    low, high = np.uint64(guide[part]), np.uint64(guide[part + ONE])
    for _ in range(steps):
        middle = (low + high) >> ONE
        is_below = boundaries[middle] < inside
        low = middle + ONE if is_below and low < high else low
        high = high if is_below else middle
    while low < high:
        middle = (low + high) >> ONE
        if boundaries[middle] < inside:
            low = middle + ONE
        else:
            high = middle
    code = np.uint64(2) * low + np.uint64(3) + np.uint64(boundaries[low] == key)
    code = np.uint64(3) if key < first else code
    return np.uint64(2 * len(boundaries) + 3) if key > last else code
