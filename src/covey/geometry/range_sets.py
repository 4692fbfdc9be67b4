"""Sets of integers as ranges that are disjoint, ascending and not adjacent.

Each set has exactly one such sequence of ranges. The integers are positions on Hilbert's curve,
from 0 to 2^62 - 1. A range includes both of its ends. `RangeSets` is a batch with one set per row.
(papers: mics)

Cost: 16 bytes per range; union, difference and intersection sort the ends of their operands.
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
    """The integers from `first[i]` to `last[i]`, inclusive, for all i.

    >>> ranges = RangeSet.from_ranges([5, 1], [9, 3])
    >>> list(ranges.union(RangeSet.from_ranges([4], [4])))
    [(1, 9)]
    >>> list(ranges - RangeSet.from_ranges([2], [6])), ranges.count
    ([(1, 1), (7, 9)], 8)
    """

    first: Ints
    last: Ints

    @classmethod
    def from_ranges(cls, first: ArrayLike, last: ArrayLike) -> RangeSet:
        """Return the set of all integers from `first[i]` to `last[i]`, inclusive, for all i.

        The ranges may overlap and be in any order. A range is empty if `last[i]` is below
        `first[i]`.
        """
        starts, ends = np.asarray(first, np.int64), np.asarray(last, np.int64)
        is_nonempty = starts <= ends
        order = np.argsort(starts[is_nonempty], kind="stable")
        starts, ends = starts[is_nonempty][order], np.maximum.accumulate(ends[is_nonempty][order])
        is_start = np.ones(len(starts) + 1, np.bool_)
        is_start[1:-1] = starts[1:] > ends[:-1] + 1
        return cls(starts[is_start[:-1]], ends[is_start[1:]])

    @classmethod
    def empty(cls) -> RangeSet:
        """Return the empty set."""
        return cls(np.empty(0, np.int64), np.empty(0, np.int64))

    @classmethod
    def concat(cls, sets: Sequence[RangeSet]) -> RangeSet:
        """Return the union of all sets."""
        firsts = [np.empty(0, np.int64), *(ranges.first for ranges in sets)]
        lasts = [np.empty(0, np.int64), *(ranges.last for ranges in sets)]
        return cls.from_ranges(np.concatenate(firsts), np.concatenate(lasts))

    def __len__(self) -> int:
        """Return the number of ranges, not of integers."""
        return len(self.first)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Yield each range as its first and last integer, ascending."""
        return zip(self.first.tolist(), self.last.tolist(), strict=True)

    def __eq__(self, other: object) -> bool:
        """Return whether `other` is a `RangeSet` with the same integers."""
        return isinstance(other, RangeSet) and (
            np.array_equal(self.first, other.first) and np.array_equal(self.last, other.last)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def count(self) -> int:
        """Number of integers in the set."""
        return int((self.last - self.first + 1).sum())

    def contains(self, points: ArrayLike) -> Bools:
        """Return for each point whether it is in the set."""
        values = np.asarray(points, np.int64)
        if not len(self):
            return np.zeros(values.shape, np.bool_)
        range_rows = np.searchsorted(self.first, values, "right") - 1
        inside: Bools = (range_rows >= 0) & (values <= self.last[range_rows])
        return inside

    def union(self, other: RangeSet) -> RangeSet:
        """Return the integers that are in this set, in `other` or in both."""
        return RangeSet.concat([self, other])

    def difference(self, other: RangeSet) -> RangeSet:
        """Return the integers of this set that are not in `other`."""
        return _combine_sets(self, other, lambda in_self, in_other: in_self & ~in_other)

    def intersection(self, other: RangeSet) -> RangeSet:
        """Return the integers that are in both sets."""
        return _combine_sets(self, other, lambda in_self, in_other: in_self & in_other)

    def __sub__(self, other: RangeSet) -> RangeSet:
        """Return `self.difference(other)`."""
        return self.difference(other)

    def __or__(self, other: RangeSet) -> RangeSet:
        """Return `self.union(other)`."""
        return self.union(other)

    def fill_gaps(self, max_gap: int) -> RangeSet:
        """Return the set with all gaps of at most `max_gap` integers filled.

        >>> list(RangeSet.from_ranges([0, 12, 30], [10, 20, 40]).fill_gaps(1))
        [(0, 20), (30, 40)]
        """
        is_start = np.ones(len(self) + 1, np.bool_)
        is_start[1:-1] = self.first[1:] - self.last[:-1] > max_gap + 1
        return RangeSet(self.first[is_start[:-1]], self.last[is_start[1:]])


def _combine_sets(a: RangeSet, b: RangeSet, select: Callable[[Bools, Bools], Bools]) -> RangeSet:
    """Return the integers that `select` accepts.

    `select` gets two arrays of booleans about the same integers: whether `a` contains each integer,
    and whether `b` contains it. Integers between two neighbouring ends of ranges are all in the
    same sets, so `select` decides only the first of them.
    """
    ends = np.unique(np.concatenate([a.first, a.last + 1, b.first, b.last + 1]))
    starts = ends[:-1]
    is_selected = select(a.contains(starts), b.contains(starts))
    return RangeSet.from_ranges(starts[is_selected], ends[1:][is_selected] - 1)


@dataclass(frozen=True, slots=True)
class RangeSets:
    """A batch of sets of integers, one set per row.

    Range j runs from `first[j]` to `last[j]`, inclusive. The set of row i consists of the ranges
    with the numbers from `offsets[i]` to `offsets[i + 1] - 1`.

    >>> rows = RangeSets(np.array([0, 2, 3]), np.array([1, 7, 2]), np.array([4, 9, 2]))
    >>> list(rows.row(0)), rows.lengths.tolist(), list(rows.take(np.array([1])).row(0))
    ([(1, 4), (7, 9)], [2, 1], [(2, 2)])
    """

    offsets: Ints
    first: Ints
    last: Ints

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Ints:
        """Number of ranges of each row."""
        return np.diff(self.offsets)

    def row(self, i: int) -> RangeSet:
        """Return the set of row i."""
        ranges = slice(int(self.offsets[i]), int(self.offsets[i + 1]))
        return RangeSet(self.first[ranges], self.last[ranges])

    def take(self, rows: Ints) -> RangeSets:
        """Return the given rows in the given order; a row may occur several times."""
        first = RaggedArray(self.offsets, self.first).take(rows)
        return RangeSets(
            first.offsets, first.values, RaggedArray(self.offsets, self.last).take(rows).values
        )

    @property
    def union(self) -> RangeSet:
        """The integers that are in at least one row."""
        return RangeSet.from_ranges(self.first, self.last)
