"""What every index answers, and the pairs that it answers with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.space import Events

__all__ = ["Index", "Pairs", "Tally"]

Rows = NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of a row of the question and a stored row, each once, sorted by the first.

    The order of the stored rows of one asked row is the index's own.

    >>> list(Pairs.of([1, 0, 1], [5, 2, 3]))
    [(0, 2), (1, 3), (1, 5)]
    """

    asked: Rows
    stored: Rows

    @classmethod
    def of(cls, asked: object, stored: object) -> Pairs:
        """Pairs in their order, from two arrays in any order."""
        first, second = np.asarray(asked, np.int64), np.asarray(stored, np.int64)
        width = int(second.max(initial=0)) + 1
        if int(first.max(initial=0)) * width >= 1 << 62:
            order = np.lexsort((second, first))
            return cls(first[order], second[order])
        both = np.sort(first * width + second)
        return cls(both // width, both % width)

    def __len__(self) -> int:
        return len(self.asked)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self.asked.tolist(), self.stored.tolist(), strict=True)

    def once(self) -> Pairs:
        """Each pair once, of pairs in the order of `of`."""
        new = np.ones(len(self), np.bool_)
        new[1:] = (np.diff(self.asked) != 0) | (np.diff(self.stored) != 0)
        return Pairs(self.asked[new], self.stored[new])

    def first(self, limit: int) -> Pairs:
        """At most `limit` pairs of each asked row."""
        starts = np.searchsorted(self.asked, self.asked)
        kept = np.arange(len(self)) - starts < limit
        return Pairs(self.asked[kept], self.stored[kept])


@dataclass(slots=True)
class Tally:
    """How many pairs were proposed, of which an answer has those that are right."""

    proposed: int = 0


class Index(Protocol):
    """Stored regions with row numbers, asked with batches.

    Every answer is what `covey.geometry.relations` says of each pair: exact, but for relations
    between balls, which err on the side that loses no event.

    Whoever implements it runs `covey.testing.contract.IndexContract`.
    """

    def matching(self, events: Events) -> Pairs:
        """Stored regions that contain each event."""
        ...

    def covering(self, regions: Regions, limit: int | None = None) -> Pairs:
        """Stored regions that cover each given one: all, or some `limit` of them."""
        ...

    def covered_by(self, regions: Regions) -> Pairs:
        """Stored regions that each given one covers."""
        ...

    def overlapping(self, regions: Regions) -> Pairs:
        """Stored regions that have an event in common with each given one."""
        ...
