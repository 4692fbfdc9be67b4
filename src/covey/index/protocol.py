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

__all__ = ["Index", "MatchResult", "Pairs"]

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

    def drop_duplicates(self) -> Pairs:
        """Return each pair once; the pairs must be sorted as those of `from_unsorted`."""
        is_new = np.ones(len(self), np.bool_)
        is_new[1:] = (np.diff(self.query_rows) != 0) | (np.diff(self.stored_rows) != 0)
        return Pairs(self.query_rows[is_new], self.stored_rows[is_new])

    @check_arguments
    def limit_per_query(self, limit: int) -> Pairs:
        """Return the first `limit` pairs of each query row."""
        starts = np.searchsorted(self.query_rows, self.query_rows)
        is_within_limit = np.arange(len(self)) - starts < limit
        return Pairs(self.query_rows[is_within_limit], self.stored_rows[is_within_limit])


@dataclass(frozen=True, slots=True)
class MatchResult(Pairs):
    """Pairs of a match, with the number of candidates that the index proposed."""

    candidates: int


class Index(Protocol):
    """Protocol of an index, which stores regions under row numbers and is queried with batches.

    The pairs of a result are those for which the relation in `covey.geometry.relations` is true.
    `contains` is exact. For balls, `covers` may miss a cover, and `overlaps` may report an overlap
    that does not exist; so no event is lost.

    The tests of an implementation must run `covey.testing.IndexContract`.
    """

    def match(self, events: Events) -> Pairs:
        """Return for each event the stored regions that contain it."""
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
