"""Codes of keys among the boundaries of a codebook, and the guide for fast search.

The guide of a codebook divides the range of boundaries into cells, and each cell into parts. It is
written once, when the codebook is built, and then used to find codes of keys and of interval ends.
Another kernel of this module finds the distinct codes in lists of tokens.
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
    """Write the code of each key to `codes`.

    The code of a valid key is even if the key equals a boundary, and odd otherwise. If `valid` is
    false, the code is 0.
    """
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
    """Write the lowest and the highest code that intervals of keys admit.

    The codes of interval i are written to `low_codes[rows[i]]` and `high_codes[rows[i]]`. The ends
    `low` and `high` of the domain have codes of their own. The code of null, 0, is below all other
    codes. It is the lower code of an interval that admits null, and both codes of an interval
    without a key.
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
    """Return the code of a key.

    The distance of the key from the first boundary determines a cell of the guide and a part of the
    cell. The guide has the number of boundaries before each part, so only the boundaries within the
    part are searched. The first steps of this binary search do not branch, because wrong branch
    predictions would cost more than everything else.
    """
    first, last = boundaries[0], boundaries[-1]
    clipped = min(max(key, first), last)
    off = np.uint64(clipped) - np.uint64(first)
    cell = off >> np.uint64(shift)
    within = off - (cell << np.uint64(shift))
    part = np.uint64(cells[cell]) + (within >> np.uint64(shifts[cell]))
    low, high = np.uint64(guide[part]), np.uint64(guide[part + ONE])
    for _ in range(steps):
        middle = (low + high) >> ONE
        is_below = boundaries[middle] < clipped
        low = middle + ONE if is_below and low < high else low
        high = high if is_below else middle
    while low < high:
        middle = (low + high) >> ONE
        if boundaries[middle] < clipped:
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
    """Return the distinct codes of each list, except 0, as parallel arrays of list and code.

    List i is `codes[offsets[i]:offsets[i + 1]]`.
    """
    list_numbers, distinct = np.empty(len(codes), np.int32), np.empty(len(codes), np.uint16)
    count = 0
    for i in range(len(offsets) - 1):
        first = count
        for code in codes[offsets[i] : offsets[i + 1]]:
            is_new = code != 0
            for j in range(first, count):
                is_new &= distinct[j] != code
            if is_new:
                list_numbers[count], distinct[count] = i, code
                count += 1
    return list_numbers[:count], distinct[:count]


@kernel
def divide_cells(
    boundaries: NDArray[np.int64], shift: int, cells: NDArray[np.uint32], shifts: NDArray[np.uint8]
) -> int:
    """Divide each cell into parts of equal width, and return the number of parts of all cells.

    A cell with n boundaries has more than 2n parts if it is wide enough; an empty cell is one part.
    The number of the first part of each cell is written to `cells`, which must contain zeros. The
    parts of cell i have 2^shifts[i] keys.
    """
    for i in range(len(boundaries)):
        cells[_boundary_offset(boundaries, i) >> np.uint64(shift)] += np.uint32(1)
    parts = 0
    for cell in range(len(cells)):
        bits, boundary_count = 0, cells[cell]
        while boundary_count >> np.uint32(bits):
            bits += 1
        bits = min(shift, bits + 1) if boundary_count else 0
        cells[cell], shifts[cell] = parts, shift - bits
        parts += 1 << bits
    return parts


@kernel
def write_guide(
    boundaries: NDArray[np.int64], shift: int, cells: NDArray[np.uint32],
    shifts: NDArray[np.uint8], guide: NDArray[np.uint16],
) -> int:  # fmt: skip
    """Write to `guide` the number of boundaries before each part.

    The guide has one more entry after those for parts: the index of the last boundary. The result
    is the largest difference of neighbouring entries, which limits the steps of a search in a part.
    """
    guide[:] = 0
    for i in range(len(boundaries)):
        off = _boundary_offset(boundaries, i)
        cell = off >> np.uint64(shift)
        within = off - (cell << np.uint64(shift))
        guide[np.uint64(cells[cell]) + (within >> np.uint64(shifts[cell]))] += np.uint16(1)
    before, max_part_count = 0, 0
    for part in range(len(guide) - 1):
        part_count = int(guide[part])
        guide[part] = before
        before += part_count
        end = before if part < len(guide) - 2 else len(boundaries) - 1
        max_part_count = max(max_part_count, end - int(guide[part]))
    guide[-1] = len(boundaries) - 1
    return max_part_count


@kernel(inline="always")
def _boundary_offset(boundaries: Any, i: Any) -> Any:
    """Return the distance of boundary i from the first boundary."""
    return np.uint64(boundaries[i]) - np.uint64(boundaries[0])
