"""The brute-force index, which compares every stored region: the oracle for other indexes.

Cost: every query row is compared with every stored row. The memory is that of the regions. Do not
use this index for more than a few thousand regions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey._argument_checks import check_arguments
from covey.geometry import Regions
from covey.geometry.relations import contains, covers, overlaps
from covey.index.protocol import MatchResult, Pairs
from covey.space import Events

__all__ = ["BruteForceIndex"]

Rows = NDArray[np.int64]

_MAX_PAIRS_PER_BATCH = 1 << 18


@dataclass(frozen=True, slots=True)
class BruteForceIndex:
    """Index that compares every stored region with every query.

    >>> import pyarrow as pa
    >>> from covey import Space, parse
    >>> space = Space.from_types({"price": pa.float64()})
    >>> stored = BruteForceIndex(parse(space, ["price > 5", "price > 7"]).regions)
    >>> list(stored.match(Events.from_arrow(pa.table({"price": [6.0, 8.0]}), space)))
    [(0, 0), (1, 0), (1, 1)]
    """

    regions: Regions

    @check_arguments
    def match(self, events: Events) -> MatchResult:
        """Return for each event the stored regions that contain it.

        A region with late conditions is in `undecided` of the result, not among its pairs.
        """
        pairs = self._try_pairs(len(events), lambda e, r: contains(self.regions, r, events, e))
        return MatchResult.from_pairs(pairs, self.regions)

    @check_arguments
    def find_covering(self, regions: Regions, *, limit: int | None = None) -> Pairs:
        """Return for each query region the stored regions that cover it, at most `limit`."""
        pairs = self._try_pairs(len(regions), lambda i, r: covers(self.regions, r, regions, i))
        return pairs if limit is None else pairs.limit_per_query(limit)

    @check_arguments
    def find_covered(self, regions: Regions) -> Pairs:
        """Return for each query region the stored regions that it covers."""
        return self._try_pairs(len(regions), lambda i, r: covers(regions, i, self.regions, r))

    @check_arguments
    def find_overlapping(self, regions: Regions) -> Pairs:
        """Return for each query region the stored regions that overlap it."""
        return self._try_pairs(len(regions), lambda i, r: overlaps(regions, i, self.regions, r))

    def _try_pairs(
        self, query_count: int, relation: Callable[[Rows, Rows], NDArray[np.bool_]]
    ) -> Pairs:
        """Return the pairs for which `relation` is true.

        All pairs of a query row and a stored row are tried, in blocks that fit in memory.
        """
        stored_count = len(self.regions)
        step = max(1, _MAX_PAIRS_PER_BATCH // max(1, stored_count))
        pairs = [(np.empty(0, np.int64), np.empty(0, np.int64))]
        for start in range(0, query_count, step):
            block = np.arange(start, min(start + step, query_count))
            i, r = np.repeat(block, stored_count), np.tile(np.arange(stored_count), len(block))
            holds = relation(i, r)
            pairs.append((i[holds], r[holds]))
        return Pairs(np.concatenate([i for i, _ in pairs]), np.concatenate([r for _, r in pairs]))
