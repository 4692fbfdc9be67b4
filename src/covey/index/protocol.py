"""The protocol of all indexes, and the pairs of rows that are their results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covey._argument_checks import as_numeric_array, check_arguments
from covey.geometry import Regions
from covey.space import Events
from covey.space.space import LATE

__all__ = ["NO_PAIRS", "Index", "MatchResult", "Pairs"]

Rows = NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of a query row and a stored row, sorted by query row.

    `query_rows[i]` and `stored_rows[i]` are a pair. The stored rows of one query row may be in any
    order. An index returns each pair once.

    >>> list(Pairs.from_unsorted([1, 0, 1], [5, 2, 3]))
    [(0, 2), (1, 3), (1, 5)]
    """

    query_rows: Rows
    stored_rows: Rows

    @staticmethod
    def from_unsorted(query_rows: ArrayLike, stored_rows: ArrayLike) -> Pairs:
        """Return pairs sorted by query row, then stored row, from two arrays in any order.

        Duplicates are not removed.
        """
        queries = as_numeric_array("query_rows", query_rows, np.int64)
        stored = as_numeric_array("stored_rows", stored_rows, np.int64)
        width = int(stored.max(initial=0)) + 1
        if int(queries.max(initial=0)) * width >= 1 << 62:
            order = np.lexsort((stored, queries))
            return Pairs(queries[order], stored[order])
        combined = np.sort(queries * width + stored)
        return Pairs(combined // width, combined % width)

    def __len__(self) -> int:
        return len(self.query_rows)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self.query_rows.tolist(), self.stored_rows.tolist(), strict=True)

    def filter(self, mask: NDArray[np.bool_]) -> Pairs:
        """Return the pairs at which the mask is true."""
        return Pairs(self.query_rows[mask], self.stored_rows[mask])

    def drop_duplicates(self) -> Pairs:
        """Return each pair once; the pairs must be sorted as those of `from_unsorted`."""
        is_new = np.ones(len(self), np.bool_)
        is_new[1:] = (np.diff(self.query_rows) != 0) | (np.diff(self.stored_rows) != 0)
        return self.filter(is_new)

    @check_arguments
    def limit_per_query(self, limit: int) -> Pairs:
        """Return the first `limit` pairs of each query row."""
        starts = np.searchsorted(self.query_rows, self.query_rows)
        return self.filter(np.arange(len(self)) - starts < limit)


NO_PAIRS = Pairs(np.empty(0, np.int64), np.empty(0, np.int64))


@dataclass(frozen=True, slots=True)
class MatchResult(Pairs):
    """Pairs of a match.

    Attributes:
        candidates: number of candidates that the index proposed.
        undecided: pairs of an event and a region with late conditions (`covey.space.LATE`) that
            satisfies all other constraints. Spark must evaluate the late conditions.
    """

    candidates: int
    undecided: Pairs = NO_PAIRS

    @classmethod
    def from_pairs(cls, pairs: Pairs, regions: Regions) -> MatchResult:
        """Return the result for pairs of an event and the row of a region.

        The pairs satisfy all constraints except late conditions, and all count as candidates.
        """
        is_late = np.zeros(len(regions), np.bool_)
        if LATE in regions.constraints:
            is_late[regions.constraints[LATE].rows] = True
        is_undecided = is_late[pairs.stored_rows]
        matches = pairs.filter(~is_undecided)
        return cls(matches.query_rows, matches.stored_rows, len(pairs), pairs.filter(is_undecided))

    @property
    def possible_pairs(self) -> Pairs:
        """The matches and the undecided pairs together, sorted by query row."""
        if not len(self.undecided):
            return self
        return Pairs.from_unsorted(
            np.concatenate([self.query_rows, self.undecided.query_rows]),
            np.concatenate([self.stored_rows, self.undecided.stored_rows]),
        )


class Index(Protocol):
    """Protocol of an index, which stores regions under row numbers and is queried with batches.

    The pairs of a result are those for which the relation in `covey.geometry.relations` is true.
    `contains` is exact. For balls, `covers` may miss a cover, and `overlaps` may report an overlap
    that does not exist; so no event is lost.

    The tests of an implementation must run `covey.testing.IndexContract`.
    """

    def match(self, events: Events) -> MatchResult:
        """Return for each event the stored regions that contain it.

        A region with late conditions is in `undecided` of the result, not among its pairs.
        """
        ...

    def find_covering(self, regions: Regions, *, limit: int | None = None) -> Pairs:
        """Return for each query region the stored regions that cover it, at most `limit`.

        If more than `limit` stored regions cover a query region, any `limit` of them are returned.
        None means no limit.
        """
        ...

    def find_covered(self, regions: Regions) -> Pairs:
        """Return for each query region the stored regions that it covers."""
        ...

    def find_overlapping(self, regions: Regions) -> Pairs:
        """Return for each query region the stored regions that overlap it."""
        ...
