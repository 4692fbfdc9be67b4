"""A value for each region, by number, in an array that grows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["GrowableArray"]


class GrowableArray:
    """Values by number; one never set is `fill_value`. Cost: a copy of all whenever it doubles.

    >>> grown = GrowableArray(-1)
    >>> grown.set(np.array([2]), 7)
    >>> grown.get(np.array([0, 2, 1_000_000])).tolist()
    [-1, 7, -1]
    """

    def __init__(self, fill_value: int | bool) -> None:
        self._fill_value = fill_value
        self.values: NDArray[Any] = np.full(1024, fill_value)

    def get(self, indices: NDArray[np.int64]) -> NDArray[Any]:
        """The values of some rows, of which some may be beyond all that were set."""
        last = len(self.values) - 1
        return np.where(indices <= last, self.values[np.minimum(indices, last)], self._fill_value)

    def set(self, indices: NDArray[np.int64], values: ArrayLike) -> None:
        """Sets the values of some rows, for which room is made."""
        most = int(indices.max(initial=-1))
        if most >= len(self.values):
            more = np.full(max(len(self.values), most + 1), self._fill_value)
            self.values = np.concatenate([self.values, more])
        self.values[indices] = values
