"""Growable array with one value for each region number."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["GrowableArray"]


class GrowableArray:
    """Values by region number; a value that was never set is `fill_value`.

    Cost: a copy of all values whenever the array doubles.

    >>> values = GrowableArray(-1)
    >>> values.set(np.array([2]), 7)
    >>> values.get(np.array([0, 2, 1_000_000])).tolist()
    [-1, 7, -1]
    """

    def __init__(self, fill_value: int | bool) -> None:
        self._fill_value = fill_value
        self.values: NDArray[Any] = np.full(1024, fill_value)

    def get(self, indices: NDArray[np.int64]) -> NDArray[Any]:
        """Return the value at each index; beyond the end of the array it is the fill value."""
        last = len(self.values) - 1
        return np.where(indices <= last, self.values[np.minimum(indices, last)], self._fill_value)

    def set(self, indices: NDArray[np.int64], values: ArrayLike) -> None:
        """Set the values at these indices; the array grows if necessary."""
        max_index = int(indices.max(initial=-1))
        if max_index >= len(self.values):
            extension = np.full(max(len(self.values), max_index + 1), self._fill_value)
            self.values = np.concatenate([self.values, extension])
        self.values[indices] = values
