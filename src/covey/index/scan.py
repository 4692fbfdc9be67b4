"""The brute-force index: every stored region is tried. The oracle that other indexes are held to.

Cost: asked × stored comparisons, nothing else kept than the regions. Wrong choice for more than a
few thousand regions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.geometry.relations import contains, covers, overlaps
from covey.index.contract import Pairs
from covey.space import Events

__all__ = ["Scan"]

Rows = NDArray[np.int64]

_PAIRS_AT_ONCE = 1 << 18


@dataclass(frozen=True, slots=True)
class Scan:
    """An index that tries every stored region.

    >>> import pyarrow as pa
    >>> from covey import Space, parse
    >>> space = Space.of({"price": pa.float64()})
    >>> stored = Scan(parse(space, ["price > 5", "price > 7"]).regions)
    >>> list(stored.matching(Events.from_arrow(pa.table({"price": [6.0, 8.0]}), space)))
    [(0, 0), (1, 0), (1, 1)]
    """

    regions: Regions

    def matching(self, events: Events) -> Pairs:
        """Stored regions that contain each event."""
        return self._try(len(events), lambda e, r: contains(self.regions, r, events, e))

    def covering(self, regions: Regions, limit: int | None = None) -> Pairs:
        """Stored regions that cover each given one; with a limit, the first ones."""
        found = self._try(len(regions), lambda i, r: covers(self.regions, r, regions, i))
        return found if limit is None else found.first(limit)

    def covered_by(self, regions: Regions) -> Pairs:
        """Stored regions that each given one covers."""
        return self._try(len(regions), lambda i, r: covers(regions, i, self.regions, r))

    def overlapping(self, regions: Regions) -> Pairs:
        """Stored regions that have an event in common with each given one."""
        return self._try(len(regions), lambda i, r: overlaps(regions, i, self.regions, r))

    def _try(self, asked: int, holds: Callable[[Rows, Rows], NDArray[np.bool_]]) -> Pairs:
        """All pairs for which `holds`, asked in blocks that fit in memory."""
        stored = len(self.regions)
        step = max(1, _PAIRS_AT_ONCE // max(1, stored))
        found = [(np.empty(0, np.int64), np.empty(0, np.int64))]
        for start in range(0, asked, step):
            block = np.arange(start, min(start + step, asked))
            i, r = np.repeat(block, stored), np.tile(np.arange(stored), len(block))
            true = holds(i, r)
            found.append((i[true], r[true]))
        return Pairs(np.concatenate([i for i, _ in found]), np.concatenate([r for _, r in found]))
