"""What every index answers, and the pairs that it answers with."""

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
    """Pairs of a query row and a stored row, each once, sorted by query row.

    The order of the stored rows of one query row is the index's own.

    >>> list(Pairs.from_unsorted([1, 0, 1], [5, 2, 3]))
    [(0, 2), (1, 3), (1, 5)]
    """

    query_rows: Rows
    stored_rows: Rows

    @staticmethod
    def from_unsorted(query_rows: ArrayLike, stored_rows: ArrayLike) -> Pairs:
        """Return pairs in their order, from two arrays in any order."""
        first = as_numeric_array("query_rows", query_rows, np.int64)
        second = as_numeric_array("stored_rows", stored_rows, np.int64)
        width = int(second.max(initial=0)) + 1
        if int(first.max(initial=0)) * width >= 1 << 62:
            order = np.lexsort((second, first))
            return Pairs(first[order], second[order])
        both = np.sort(first * width + second)
        return Pairs(both // width, both % width)

    def __len__(self) -> int:
        return len(self.query_rows)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self.query_rows.tolist(), self.stored_rows.tolist(), strict=True)

    def drop_duplicates(self) -> Pairs:
        """Each pair once, of pairs in the order of `from_unsorted`."""
        new = np.ones(len(self), np.bool_)
        new[1:] = (np.diff(self.query_rows) != 0) | (np.diff(self.stored_rows) != 0)
        return Pairs(self.query_rows[new], self.stored_rows[new])

    @check_arguments
    def limit_per_query(self, limit: int) -> Pairs:
        """At most `limit` pairs of each query row."""
        starts = np.searchsorted(self.query_rows, self.query_rows)
        kept = np.arange(len(self)) - starts < limit
        return Pairs(self.query_rows[kept], self.stored_rows[kept])


@dataclass(frozen=True, slots=True)
class MatchResult(Pairs):
    """The pairs of a match, and how many candidates they were chosen from."""

    candidates: int


class Index(Protocol):
    """Stored regions with row numbers, asked with batches.

    Every answer is what `covey.geometry.relations` says of each pair: exact, but for relations
    between balls, which err on the side that loses no event.

    Whoever implements it runs `covey.testing.IndexContract`.
    """

    def match(self, events: Events) -> Pairs:
        """Stored regions that contain each event."""
        ...

    def find_covering(self, regions: Regions, *, limit: int | None = None) -> Pairs:
        """Stored regions that cover each given one: all, or some `limit` of them."""
        ...

    def find_covered(self, regions: Regions) -> Pairs:
        """Stored regions that each given one covers."""
        ...

    def find_overlapping(self, regions: Regions) -> Pairs:
        """Stored regions that have an event in common with each given one."""
        ...
