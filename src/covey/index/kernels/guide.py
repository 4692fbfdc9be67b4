"""The guide of a codebook: where among its boundaries a search begins."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.compiled import kernel

__all__ = ["write_guide", "write_parts"]


@kernel
def write_parts(
    boundaries: NDArray[np.int64], shift: int, cells: NDArray[np.uint32], shifts: NDArray[np.uint8]
) -> int:
    """Divides each cell into parts, twice as many as boundaries in it or more; how many in all.

    `cells` gets the first part of each, and `shifts` the width of its parts.
    """
    for i in range(len(boundaries)):
        cells[_off(boundaries, i) >> np.uint64(shift)] += np.uint32(1)
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
        off = _off(boundaries, i)
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
def _off(boundaries: Any, i: Any) -> Any:
    """How far a boundary is from the first."""
    return np.uint64(boundaries[i]) - np.uint64(boundaries[0])
