"""The compiled loops that several peers share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["BLOCK", "first_at_least", "inside", "roomy"]

BLOCK = 256
"""How many boxes are compared before any is looked at: plain loops that become SIMD."""


@njit(cache=True)
def inside(
    lower: NDArray[np.float64], upper: NDArray[np.float64], start: int, stop: int,
    point: NDArray[np.float64], marks: NDArray[np.uint8],
) -> int:  # fmt: skip
    """How many boxes from `start` to `stop` contain the point, and marks them.

    Ends have a row for each attribute.
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
    """The first place from `start` to `stop` that holds `value` or more."""
    while start < stop:
        middle = (start + stop) >> 1
        if ascending[middle] < value:
            start = middle + 1
        else:
            stop = middle
    return start


@njit(cache=True)
def roomy(found: NDArray[np.int32], size: int) -> Any:
    """The same rows in an array that has room for `size` of them."""
    if size <= len(found):
        return found
    larger = np.empty(max(size, 2 * len(found)), np.int32)
    larger[: len(found)] = found
    return larger
