"""A value for each region, by number, in an array that grows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Grown"]


class Grown:
    """Values by number; one that was never set is `empty`. Cost: a copy of all whenever it doubles.

    >>> grown = Grown(-1)
    >>> grown.set(np.array([2]), 7)
    >>> grown.get(np.array([0, 2, 1_000_000])).tolist()
    [-1, 7, -1]
    """

    def __init__(self, empty: int | bool) -> None:
        self._empty = empty
        self.values: NDArray[Any] = np.full(1024, empty)

    def get(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        """The values of some rows, of which some may be beyond all that were set."""
        last = len(self.values) - 1
        return np.where(rows <= last, self.values[np.minimum(rows, last)], self._empty)

    def set(self, rows: NDArray[np.int64], values: Any) -> None:
        """Sets the values of some rows, for which room is made."""
        most = int(rows.max(initial=-1))
        if most >= len(self.values):
            more = np.full(max(len(self.values), most + 1), self._empty)
            self.values = np.concatenate([self.values, more])
        self.values[rows] = values
