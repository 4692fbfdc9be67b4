"""The exact index: boxes of codes propose, the originals decide what codes cannot.

Intervals are pruned by a tree of bitmaps; lists, tags and balls are verified on what is left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.geometry.relations import contains, covers, overlaps
from covey.index.codes import Table, coded_events, coded_regions, tables
from covey.index.contract import Pairs
from covey.index.tree import BitmapTree
from covey.space import Events

__all__ = ["BoxTree"]

Bools = NDArray[np.bool_]
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class BoxTree:
    """An index that is fast where regions are boxes.

    Guarantee: every answer is that of `Scan`. Cost: `matching` and `covering` grow slower than the
    number of regions as long as intervals tell them apart; `covered_by` and `overlapping` look at
    the codes of every region. Wrong choice for regions of tags or balls alone: nothing prunes them.

    >>> import pyarrow as pa
    >>> from covey import Space, parse
    >>> space = Space.of({"price": pa.float64()})
    >>> stored = BoxTree.build(parse(space, ["price > 5", "price > 7"]).regions)
    >>> list(stored.matching(Events.from_arrow(pa.table({"price": [6.0, 8.0]}), space)))
    [(0, 0), (1, 0), (1, 1)]
    """

    regions: Regions
    tables: list[Table]
    tree: BitmapTree

    @classmethod
    def build(cls, regions: Regions) -> BoxTree:
        """An index of all these regions, by their row numbers."""
        by = tables(regions)
        return cls(regions, by, BitmapTree.build(coded_regions(regions, by)))

    def matching(self, events: Events) -> Pairs:
        """Stored regions that contain each event."""
        codes = coded_events(events, self.tables)
        asked, stored, certain = self.tree.containing(codes, codes)
        doubt = np.flatnonzero(~certain)
        certain[doubt] = contains(self.regions, stored[doubt], events, asked[doubt])
        return Pairs.of(asked[certain], stored[certain])

    def covering(self, regions: Regions, limit: int | None = None) -> Pairs:
        """Stored regions that cover each given one; with a limit, the first ones."""
        boxes = coded_regions(regions, self.tables)
        asked, stored, certain = self.tree.containing(boxes.lower, boxes.upper)
        certain &= boxes.exact[asked]
        doubt = np.flatnonzero(~certain)
        certain[doubt] = covers(self.regions, stored[doubt], regions, asked[doubt])
        found = Pairs.of(asked[certain], stored[certain])
        return found if limit is None else found.first(limit)

    def covered_by(self, regions: Regions) -> Pairs:
        """Stored regions that each given one covers."""
        boxes, mine = coded_regions(regions, self.tables), self.tree.boxes
        return self._tried(
            len(regions),
            lambda row: (boxes.lower[row] <= mine.lower) & (mine.upper <= boxes.upper[row]),
            lambda asked, stored: covers(regions, asked, self.regions, stored),
        )

    def overlapping(self, regions: Regions) -> Pairs:
        """Stored regions that have an event in common with each given one."""
        boxes, mine = coded_regions(regions, self.tables), self.tree.boxes
        return self._tried(
            len(regions),
            lambda row: (boxes.lower[row] <= mine.upper) & (mine.lower <= boxes.upper[row]),
            lambda asked, stored: overlaps(regions, asked, self.regions, stored),
        )

    def _tried(
        self, count: int, may: Callable[[int], Bools], holds: Callable[[Rows, Rows], Bools]
    ) -> Pairs:
        """Pairs that hold, of those that the codes of all stored regions propose row by row."""
        found = [(np.empty(0, np.int64), np.empty(0, np.int64))]
        for row in range(count):
            stored = self.tree.order[np.flatnonzero(may(row).all(axis=1))]
            asked = np.full(len(stored), row)
            kept = holds(asked, stored)
            found.append((asked[kept], stored[kept]))
        return Pairs.of(
            np.concatenate([a for a, _ in found]), np.concatenate([s for _, s in found])
        )
