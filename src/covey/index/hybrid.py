"""An index on the few most selective attributes, by Hilbert's curve; the rest is verified.

A stored region's cells are parts of the curve: stretches of 2^t positions that start at a multiple
of 2^t. All parts are in one sorted array, numbered so that a part is in the middle of those within
it. What contains a position is found by one binary search per size of part that occurs; what lies
within a stretch is together in the array. Cells propose, `covey.geometry.relations` decides.
(papers: mics)

Cost: 12 bytes a part, some tens of parts a region; an answer costs its candidates, 0.4 µs each and
more for tags and balls. Wrong choice where regions constrain no attribute that most others do, or
with few cells for all: then candidates are many. `Segment` prunes by all attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions, hilbert
from covey.geometry.relations import contains, covers, overlaps
from covey.index.contract import Pairs
from covey.index.grid import Grid, selective
from covey.index.kernels.curve import Proposal, beside, curve_parts, over, under
from covey.space import Events

__all__ = ["Hybrid"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_DIMENSIONS = 3


@dataclass(frozen=True, slots=True, eq=False)
class Hybrid:
    """Stored regions with the parts of the curve that each is in.

    >>> import pyarrow as pa
    >>> from covey import Space, parse
    >>> space = Space.of({"x": pa.int32(), "y": pa.int32()})
    >>> stored = Hybrid.build(parse(space, ["x > 5 AND y < 3", "x > 7"]).regions, ["x"])
    >>> list(stored.matching(Events.from_arrow(pa.table({"x": [6, 8], "y": [1, 4]}), space)))
    [(0, 0), (1, 1)]
    >>> stored.proposed(parse(space, ["x = 8 AND y = 1", "x = 2"]).regions).tolist()
    [2, 0]
    """

    regions: Regions
    grid: Grid
    most: int
    lower: Ints
    upper: Ints
    parts: Ints
    rows: NDArray[np.int32]
    sizes: Ints
    corners: Ints
    by_corner: Ints

    @classmethod
    def build(
        cls,
        regions: Regions,
        attributes: Sequence[str] | None = None,
        bits: int = 8,
        most: int = 64,
    ) -> Hybrid:
        """An index of regions by some attributes, of 2^bits cells each: the three most selective.

        `most` bounds the ranges of a region; with less, an index is smaller and proposes more.
        """
        chosen = selective(regions, _DIMENSIONS) if attributes is None else attributes
        grid = Grid.of(regions, chosen, bits)
        lower, upper = grid.boxes(regions)
        ranges = hilbert.ranges(lower, upper, bits, most)
        parts, rows = curve_parts(ranges.offsets, ranges.first, ranges.last)
        order = np.argsort(parts, kind="stable")
        sizes = np.flatnonzero(np.bincount(_size(parts), minlength=1))
        corners = hilbert.indexes(lower, bits)
        by_corner = np.argsort(corners, kind="stable")
        return cls(
            regions, grid, most, lower, upper,
            parts[order], rows[order], sizes, corners[by_corner], by_corner,
        )  # fmt: skip

    def matching(self, events: Events) -> Pairs:
        """Stored regions that contain each event."""
        cells = self.grid.cells(events)
        return _verified(
            len(events), self._over(cells, cells), lambda e, r: contains(self.regions, r, events, e)
        )

    def covering(self, regions: Regions, limit: int | None = None) -> Pairs:
        """Stored regions that cover each given one; with a limit, some of them."""
        found = _verified(
            len(regions),
            self._over(*self.grid.boxes(regions)),
            lambda i, r: covers(self.regions, r, regions, i),
        )
        return found if limit is None else found.first(limit)

    def covered_by(self, regions: Regions) -> Pairs:
        """Stored regions that each given one covers."""
        lower, upper = self.grid.boxes(regions)
        ranges = hilbert.ranges(lower, upper, self.grid.bits, self.most)

        def propose(start: int) -> Proposal:
            stored = (self.corners, self.by_corner, self.lower, self.upper)
            found: Proposal = under(
                start, lower, upper, ranges.offsets, ranges.first, ranges.last, *stored
            )
            return found

        return _verified(len(regions), propose, lambda i, r: covers(regions, i, self.regions, r))

    def overlapping(self, regions: Regions) -> Pairs:
        """Stored regions that have an event in common with each given one."""
        return _verified(
            len(regions),
            self._beside(regions),
            lambda i, r: overlaps(regions, i, self.regions, r),
        )

    def proposed(self, regions: Regions) -> Ints:
        """How many stored regions `covering` verifies each given one against."""
        return _counted(len(regions), self._over(*self.grid.boxes(regions)))

    def proposed_overlaps(self, regions: Regions) -> Ints:
        """How many stored regions `overlapping` verifies each given one against."""
        return _counted(len(regions), self._beside(regions))

    def _over(self, lower: Ints, upper: Ints) -> Callable[[int], Proposal]:
        """Stored boxes that contain each box: they have its lower corner."""
        positions = hilbert.indexes(lower, self.grid.bits)

        def propose(start: int) -> Proposal:
            stored = (self.parts, self.rows, self.sizes, self.lower, self.upper)
            found: Proposal = over(start, lower, upper, positions, *stored)
            return found

        return propose

    def _beside(self, regions: Regions) -> Callable[[int], Proposal]:
        """Stored boxes that have a cell of each region's."""
        lower, upper = self.grid.boxes(regions)
        ranges = hilbert.ranges(lower, upper, self.grid.bits, self.most)
        parts, of = curve_parts(ranges.offsets, ranges.first, ranges.last)
        starts = np.searchsorted(of, np.arange(len(regions) + 1))

        def propose(start: int) -> Proposal:
            stored = (self.parts, self.rows, self.sizes, self.lower, self.upper)
            found: Proposal = beside(start, lower, upper, starts, parts, *stored)
            return found

        return propose


def _verified(
    count: int, propose: Callable[[int], Proposal], holds: Callable[[Ints, Ints], Bools]
) -> Pairs:
    """The pairs that hold among those that are proposed, some at a time."""
    found, done = [(np.empty(0, np.int64), np.empty(0, np.int64))], 0
    while done < count:
        some, asked, stored = propose(done)
        true = holds(asked, stored)
        found.append((asked[true], stored[true]))
        done += some
    return Pairs(*(np.concatenate(rows) for rows in zip(*found, strict=True)))


def _counted(count: int, propose: Callable[[int], Proposal]) -> Ints:
    """How many pairs are proposed of each asked row."""
    counts, done = np.zeros(count, np.int64), 0
    while done < count:
        some, asked, _ = propose(done)
        counts += np.bincount(asked, minlength=count)
        done += some
    return counts


def _size(parts: Ints) -> Ints:
    """The t of each part."""
    exact: Ints = np.log2((parts & -parts).astype(np.float64)).astype(np.int64)
    return exact
