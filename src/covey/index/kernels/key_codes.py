"""Codes of keys among the boundaries of a codebook: its guide, keys, interval ends, tokens.

The guide of a codebook divides the distance from the first boundary into cells, and each cell into
parts; it is written once, when the codebook is built. Codes are then found by it. At the end are
the codes of lists of tokens, which an event or a region has each once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey._jit import kernel
from covey.index.kernels.bits import LAST, ONE

__all__ = [
    "collect_distinct_codes",
    "divide_cells",
    "encode_ends",
    "encode_keys",
    "write_guide",
]

_UNBOUNDED, _LAST = np.uint64(2), np.uint64(LAST)


@kernel
def encode_keys(
    keys: NDArray[np.int64], valid: NDArray[np.bool_], boundaries: NDArray[np.int64],
    shift: int, cells: NDArray[np.uint32], shifts: NDArray[np.uint8], guide: NDArray[np.uint16],
    steps: int, codes: NDArray[np.uint16],
) -> None:  # fmt: skip
    """Writes each key's code: even at a boundary, odd between two, 0 where not valid."""
    for i in range(len(keys)):
        code = _encode_key(keys[i], boundaries, shift, cells, shifts, guide, steps)
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
        first = _encode_key(lower[i], boundaries, shift, cells, shifts, guide, steps)
        last = _encode_key(upper[i], boundaries, shift, cells, shifts, guide, steps)
        first = _UNBOUNDED if lower[i] == low else first
        last = _LAST if upper[i] == high else last
        is_empty = lower[i] > upper[i]
        low_codes[row] = np.uint64(0) if is_empty or nulls[i] else first
        high_codes[row] = np.uint64(0) if is_empty else last


@kernel(inline="always")
def _encode_key(
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


@kernel
def collect_distinct_codes(
    offsets: NDArray[np.int64], codes: NDArray[np.uint16]
) -> tuple[NDArray[np.int32], NDArray[np.uint16]]:
    """The codes of each list, without 0 and each once, and the list that each belongs to."""
    owners, kept = np.empty(len(codes), np.int32), np.empty(len(codes), np.uint16)
    count = 0
    for i in range(len(offsets) - 1):
        first = count
        for code in codes[offsets[i] : offsets[i + 1]]:
            is_new = code != 0
            for j in range(first, count):
                is_new &= kept[j] != code
            if is_new:
                owners[count], kept[count] = i, code
                count += 1
    return owners[:count], kept[:count]


@kernel
def divide_cells(
    boundaries: NDArray[np.int64], shift: int, cells: NDArray[np.uint32], shifts: NDArray[np.uint8]
) -> int:
    """Divides each cell into parts, twice as many as boundaries in it or more; how many in all.

    `cells` gets the first part of each, and `shifts` the width of its parts.
    """
    for i in range(len(boundaries)):
        cells[_boundary_offset(boundaries, i) >> np.uint64(shift)] += np.uint32(1)
    parts = 0
    for cell in range(len(cells)):
        bits, inside = 0, cells[cell]
        while inside >> np.uint32(bits):
            bits += 1
        bits = min(shift, bits + 1) if inside else 0
        cells[cell], shifts[cell] = parts, shift - bits
        parts += 1 << bits
    return parts


@kernel
def write_guide(
    boundaries: NDArray[np.int64], shift: int, cells: NDArray[np.uint32],
    shifts: NDArray[np.uint8], guide: NDArray[np.uint16],
) -> int:  # fmt: skip
    """Writes how many boundaries are before each part; the most that are in one.

    The guide has one place more than there are parts, for the last boundary.
    """
    guide[:] = 0
    for i in range(len(boundaries)):
        off = _boundary_offset(boundaries, i)
        cell = off >> np.uint64(shift)
        within = off - (cell << np.uint64(shift))
        guide[np.uint64(cells[cell]) + (within >> np.uint64(shifts[cell]))] += np.uint16(1)
    before, most = 0, 0
    for part in range(len(guide) - 1):
        inside = int(guide[part])
        guide[part] = before
        before += inside
        end = before if part < len(guide) - 2 else len(boundaries) - 1
        most = max(most, end - int(guide[part]))
    guide[-1] = len(boundaries) - 1
    return most


@kernel(inline="always")
def _boundary_offset(boundaries: Any, i: Any) -> Any:
    """How far a boundary is from the first."""
    return np.uint64(boundaries[i]) - np.uint64(boundaries[0])
