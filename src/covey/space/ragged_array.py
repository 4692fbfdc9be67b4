"""Rows of different lengths in two arrays: tokens of a list of tags, values of an `IN` list."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["RaggedArray"]


@dataclass(frozen=True, slots=True)
class RaggedArray:
    """Row i is `values[offsets[i]:offsets[i + 1]]`.

    >>> rows = RaggedArray.from_rows([["a", "b"], [], ["c"]])
    >>> rows.row(0).tolist(), rows.lengths.tolist(), rows.take(np.array([2, 0])).values.tolist()
    (['a', 'b'], [2, 0, 1], ['c', 'a', 'b'])
    """

    offsets: NDArray[np.int64]
    values: NDArray[Any]

    @classmethod
    def from_rows(cls, rows: Sequence[Iterable[object]], dtype: DTypeLike = object) -> RaggedArray:
        """From Python sequences."""
        lists = [list(row) for row in rows]
        flat = np.empty(sum(map(len, lists)), dtype)
        flat[:] = [value for row in lists for value in row]
        return cls.from_lengths(np.array([len(row) for row in lists], np.int64), flat)

    @classmethod
    def from_lengths(cls, lengths: NDArray[np.int64], values: NDArray[Any]) -> RaggedArray:
        """From the length of each row and all values one after another."""
        offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return cls(offsets, values)

    @classmethod
    def empty(cls, count: int, dtype: DTypeLike = object) -> RaggedArray:
        """`count` rows without a value."""
        return cls(np.zeros(count + 1, np.int64), np.empty(0, dtype))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    def row(self, i: int) -> NDArray[Any]:
        return self.values[self.offsets[i] : self.offsets[i + 1]]

    def take(self, rows: NDArray[np.int64]) -> RaggedArray:
        """The given rows in the given order."""
        places, _ = self.flat_indices(rows)
        return RaggedArray.from_lengths(self.lengths[rows], self.values[places])

    def flat_indices(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For the values of some rows: where each stands, and which of `rows` it belongs to."""
        lengths = self.lengths[rows]
        owner = np.repeat(np.arange(len(rows)), lengths)
        starts = np.cumsum(lengths) - lengths
        return np.arange(len(owner)) - starts[owner] + self.offsets[rows][owner], owner

    def hstack(self, other: RaggedArray) -> RaggedArray:
        """Row i of this and then row i of the other, as one row."""
        both = RaggedArray.concat([self, other])
        rows = np.arange(len(self))
        return RaggedArray.from_lengths(
            self.lengths + other.lengths,
            both.take(np.stack([rows, rows + len(self)], 1).ravel()).values,
        )

    @staticmethod
    def concat(arrays: Sequence[RaggedArray]) -> RaggedArray:
        """All rows of all parts, one after another."""
        lengths = np.concatenate([part.lengths for part in arrays])
        return RaggedArray.from_lengths(lengths, np.concatenate([part.values for part in arrays]))
