"""Compiled loops that several peers share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["BLOCK", "first_at_least", "inside", "roomy"]

BLOCK = 256
"""Number of boxes that are compared in one loop, which compiles to SIMD, before marks are read."""


@njit(cache=True)
def inside(
    lower: NDArray[np.float64], upper: NDArray[np.float64], start: int, stop: int,
    point: NDArray[np.float64], marks: NDArray[np.uint8],
) -> int:  # fmt: skip
    """Mark the boxes from `start` to `stop` that contain a point, and return their number.

    `lower` and `upper` have one row per attribute. `marks[i]` is for box `start + i`.
    """
    size = stop - start
    for k in range(len(point)):
        value, low, high = point[k], lower[k, start:stop], upper[k, start:stop]
        if k == 0:
            for i in range(size):
                marks[i] = (low[i] <= value) & (value <= high[i])
        else:
            for i in range(size):
                marks[i] &= (low[i] <= value) & (value <= high[i])
    count = 0
    for i in range(size):
        count += marks[i]
    return count


@njit(cache=True)
def first_at_least(ascending: NDArray[np.float64], start: int, stop: int, value: float) -> int:
    """Return the first position from `start` with a value of at least `value`, or `stop`."""
    while start < stop:
        middle = (start + stop) >> 1
        if ascending[middle] < value:
            start = middle + 1
        else:
            stop = middle
    return start


@njit(cache=True)
def roomy(found: NDArray[np.int32], size: int) -> Any:
    """Return the array, or a larger copy if it has fewer than `size` elements."""
    if size <= len(found):
        return found
    larger = np.empty(max(size, 2 * len(found)), np.int32)
    larger[: len(found)] = found
    return larger
