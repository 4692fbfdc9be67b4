"""Rows of different lengths in two arrays, such as the tokens of tags or the values of `IN`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["RaggedArray"]


@dataclass(frozen=True, slots=True)
class RaggedArray:
    """Rows of different lengths: row i is `values[offsets[i]:offsets[i + 1]]`.

    >>> rows = RaggedArray.from_rows([["a", "b"], [], ["c"]])
    >>> rows.row(0).tolist(), rows.lengths.tolist(), rows.take(np.array([2, 0])).values.tolist()
    (['a', 'b'], [2, 0, 1], ['c', 'a', 'b'])
    """

    offsets: NDArray[np.int64]
    values: NDArray[Any]

    @classmethod
    def from_rows(cls, rows: Sequence[Iterable[object]], dtype: DTypeLike = object) -> RaggedArray:
        """Return the ragged array whose rows are the given Python sequences."""
        lists = [list(row) for row in rows]
        flat = np.empty(sum(map(len, lists)), dtype)
        flat[:] = [value for row in lists for value in row]
        return cls.from_lengths(np.array([len(row) for row in lists], np.int64), flat)

    @classmethod
    def from_lengths(cls, lengths: NDArray[np.int64], values: NDArray[Any]) -> RaggedArray:
        """Return the ragged array of rows with these lengths.

        `values` contains the values of all rows, one row after another.
        """
        offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return cls(offsets, values)

    @classmethod
    def empty(cls, count: int, dtype: DTypeLike = object) -> RaggedArray:
        """Return `count` empty rows."""
        return cls(np.zeros(count + 1, np.int64), np.empty(0, dtype))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    def row(self, i: int) -> NDArray[Any]:
        return self.values[self.offsets[i] : self.offsets[i + 1]]

    def take(self, rows: NDArray[np.int64]) -> RaggedArray:
        """Return the given rows in the given order; a row may occur several times."""
        value_indices, _ = self.flat_indices(rows)
        lengths = self.offsets[rows + 1] - self.offsets[rows]
        return RaggedArray.from_lengths(lengths, self.values[value_indices])

    def flat_indices(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where the values of the given rows are.

        Returns:
            For each value of the given rows, one row after another, its index in `values`, and the
            position of its row in `rows`.
        """
        lengths = self.offsets[rows + 1] - self.offsets[rows]
        positions = np.repeat(np.arange(len(rows)), lengths)
        starts = np.cumsum(lengths) - lengths
        value_indices = np.arange(len(positions)) - starts[positions]
        return value_indices + self.offsets[rows][positions], positions

    def hstack(self, other: RaggedArray) -> RaggedArray:
        """Return an array whose row i is row i of this array, followed by row i of `other`."""
        stacked = RaggedArray.concat([self, other])
        rows = np.arange(len(self))
        return RaggedArray.from_lengths(
            self.lengths + other.lengths,
            stacked.take(np.stack([rows, rows + len(self)], 1).ravel()).values,
        )

    @staticmethod
    def concat(arrays: Sequence[RaggedArray]) -> RaggedArray:
        """Return all rows of all arrays, one array after another."""
        lengths = np.concatenate([array.lengths for array in arrays])
        return RaggedArray.from_lengths(lengths, np.concatenate([array.values for array in arrays]))
