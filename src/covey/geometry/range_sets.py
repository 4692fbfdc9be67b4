"""Sets of integers as ranges: disjoint, ascending, no two of them neighbours: one spelling a set.

Positions of a curve from 0 up to 2^62, both ends of a range included. `RangeSets` holds one such
set a row, for batches. (papers: mics)

Cost: 16 bytes a range; every operation sorts the ends of its operands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covey.space.ragged_array import RaggedArray

__all__ = ["RangeSet", "RangeSets"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class RangeSet:
    """The integers from `first[i]` to `last[i]`, for all i.

    >>> some = RangeSet.from_ranges([5, 1], [9, 3])
    >>> list(some.union(RangeSet.from_ranges([4], [4])))
    [(1, 9)]
    >>> list(some - RangeSet.from_ranges([2], [6])), some.count
    ([(1, 1), (7, 9)], 8)
    """

    first: Ints
    last: Ints

    @classmethod
    def from_ranges(cls, first: ArrayLike, last: ArrayLike) -> RangeSet:
        """The integers of any ranges, in any order; one that ends before it starts has none."""
        starts, ends = np.asarray(first, np.int64), np.asarray(last, np.int64)
        some = starts <= ends
        order = np.argsort(starts[some], kind="stable")
        starts, ends = starts[some][order], np.maximum.accumulate(ends[some][order])
        new = np.ones(len(starts) + 1, np.bool_)
        new[1:-1] = starts[1:] > ends[:-1] + 1
        return cls(starts[new[:-1]], ends[new[1:]])

    @classmethod
    def empty(cls) -> RangeSet:
        """No integer."""
        return cls(np.empty(0, np.int64), np.empty(0, np.int64))

    @classmethod
    def concat(cls, sets: Sequence[RangeSet]) -> RangeSet:
        """The integers of all parts."""
        firsts = [np.empty(0, np.int64), *(part.first for part in sets)]
        lasts = [np.empty(0, np.int64), *(part.last for part in sets)]
        return cls.from_ranges(np.concatenate(firsts), np.concatenate(lasts))

    def __len__(self) -> int:
        return len(self.first)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self.first.tolist(), self.last.tolist(), strict=True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RangeSet) and (
            np.array_equal(self.first, other.first) and np.array_equal(self.last, other.last)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def count(self) -> int:
        """How many integers there are."""
        return int((self.last - self.first + 1).sum())

    def contains(self, points: ArrayLike) -> Bools:
        """Whether each point is in a range."""
        asked = np.asarray(points, np.int64)
        if not len(self):
            return np.zeros(asked.shape, np.bool_)
        places = np.searchsorted(self.first, asked, "right") - 1
        inside: Bools = (places >= 0) & (asked <= self.last[places])
        return inside

    def union(self, other: RangeSet) -> RangeSet:
        """What is in either."""
        return RangeSet.concat([self, other])

    def difference(self, other: RangeSet) -> RangeSet:
        """What is here and not in the other."""
        return _combine_sets(self, other, lambda here, there: here & ~there)

    def intersection(self, other: RangeSet) -> RangeSet:
        """What is in both."""
        return _combine_sets(self, other, lambda here, there: here & there)

    def __sub__(self, other: RangeSet) -> RangeSet:
        return self.difference(other)

    def __or__(self, other: RangeSet) -> RangeSet:
        return self.union(other)

    def fill_gaps(self, max_gap: int) -> RangeSet:
        """With all gaps of at most so many integers filled.

        >>> list(RangeSet.from_ranges([0, 12, 30], [10, 20, 40]).fill_gaps(1))
        [(0, 20), (30, 40)]
        """
        apart = np.ones(len(self) + 1, np.bool_)
        apart[1:-1] = self.first[1:] - self.last[:-1] > max_gap + 1
        return RangeSet(self.first[apart[:-1]], self.last[apart[1:]])


def _combine_sets(a: RangeSet, b: RangeSet, keep: Callable[[Bools, Bools], Bools]) -> RangeSet:
    """The stretches between neighbouring ends that are to be kept, by whether a and b have them."""
    ends = np.unique(np.concatenate([a.first, a.last + 1, b.first, b.last + 1]))
    starts = ends[:-1]
    kept = keep(a.contains(starts), b.contains(starts))
    return RangeSet.from_ranges(starts[kept], ends[1:][kept] - 1)


@dataclass(frozen=True, slots=True)
class RangeSets:
    """Row i is the ranges from `offsets[i]` up to `offsets[i + 1]`.

    >>> rows = RangeSets(np.array([0, 2, 3]), np.array([1, 7, 2]), np.array([4, 9, 2]))
    >>> list(rows.row(0)), rows.lengths.tolist(), list(rows.take(np.array([1])).row(0))
    ([(1, 4), (7, 9)], [2, 1], [(2, 2)])
    """

    offsets: Ints
    first: Ints
    last: Ints

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Ints:
        """How many ranges each row has."""
        return np.diff(self.offsets)

    def row(self, i: int) -> RangeSet:
        """The ranges of one row."""
        some = slice(int(self.offsets[i]), int(self.offsets[i + 1]))
        return RangeSet(self.first[some], self.last[some])

    def take(self, rows: Ints) -> RangeSets:
        """The given rows in the given order."""
        first = RaggedArray(self.offsets, self.first).take(rows)
        return RangeSets(
            first.offsets, first.values, RaggedArray(self.offsets, self.last).take(rows).values
        )

    @property
    def union(self) -> RangeSet:
        """What is in any row."""
        return RangeSet.from_ranges(self.first, self.last)
