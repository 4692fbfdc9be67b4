"""An index on the few most selective attributes, by Hilbert's curve; the others are verified.

A stored region's cells are blocks of the curve: runs of 2^t positions that start at a multiple of
2^t. All blocks are in one sorted array, numbered so that a block is in the middle of those within
it. What contains a position is found by one binary search per size of block that occurs; what lies
within a block is together in the array. Cells propose, `covey.geometry.relations` decides.
(papers: mics)

Cost: 12 bytes a block, some tens of blocks a region; an answer costs its candidates, 0.4 µs each
and more for tags and balls. Wrong choice where regions constrain no attribute that most others do,
or with few cells for all: then candidates are many. `SegmentIndex` prunes by all attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey._argument_checks import check_arguments, check_range
from covey.geometry import Regions, hilbert
from covey.geometry.relations import contains, covers, overlaps
from covey.index.hilbert.grid import HilbertGrid, find_selective_attributes
from covey.index.kernels.hilbert_blocks import (
    Proposal,
    find_curve_blocks,
    propose_covered,
    propose_covering,
    propose_overlapping,
)
from covey.index.protocol import Pairs
from covey.space import Events

__all__ = ["HilbertIndex"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_DEFAULT_ATTRIBUTES = 3


@dataclass(frozen=True, slots=True, eq=False)
class HilbertIndex:
    """Stored regions with the blocks of the curve that each is in.

    >>> import pyarrow as pa
    >>> from covey import Space, parse
    >>> space = Space.from_types({"x": pa.int32(), "y": pa.int32()})
    >>> stored = HilbertIndex.build(parse(space, ["x > 5 AND y < 3", "x > 7"]).regions, ["x"])
    >>> list(stored.match(Events.from_arrow(pa.table({"x": [6, 8], "y": [1, 4]}), space)))
    [(0, 0), (1, 1)]
    >>> queries = parse(space, ["x = 8 AND y = 1", "x = 2"]).regions
    >>> stored.count_covering_candidates(queries).tolist()
    [2, 0]
    """

    regions: Regions
    grid: HilbertGrid
    max_ranges: int
    lower: Ints
    upper: Ints
    blocks: Ints
    block_rows: NDArray[np.int32]
    block_sizes: Ints
    corners: Ints
    corner_rows: Ints

    @classmethod
    @check_arguments
    def build(
        cls,
        regions: Regions,
        attributes: Sequence[str] | None = None,
        *,
        bits: int = 8,
        max_ranges: int = 64,
    ) -> HilbertIndex:
        """An index of regions by some attributes, of 2^bits cells each: the three most selective.

        `max_ranges` bounds those of a region; with fewer an index is smaller and proposes more.
        """
        check_range("bits", bits, 1, 30)
        check_range("max_ranges", max_ranges, 1)
        chosen = (
            find_selective_attributes(regions, _DEFAULT_ATTRIBUTES)
            if attributes is None
            else attributes
        )
        grid = HilbertGrid.from_regions(regions, chosen, bits)
        lower, upper = grid.find_boxes(regions)
        ranges = hilbert.decompose_boxes(lower, upper, bits, max_ranges=max_ranges)
        parts, rows = find_curve_blocks(ranges.offsets, ranges.first, ranges.last)
        order = np.argsort(parts, kind="stable")
        sizes = np.flatnonzero(np.bincount(_find_block_sizes(parts), minlength=1))
        corners = hilbert.encode_cells(lower, bits)
        by_corner = np.argsort(corners, kind="stable")
        return cls(
            regions, grid, max_ranges, lower, upper,
            parts[order], rows[order], sizes, corners[by_corner], by_corner,
        )  # fmt: skip

    @check_arguments
    def match(self, events: Events) -> Pairs:
        """Stored regions that contain each event."""
        cells = self.grid.find_cells(events)
        return _verify_proposals(
            len(events),
            self._make_covering_proposer(cells, cells),
            lambda e, r: contains(self.regions, r, events, e),
        )

    @check_arguments
    def find_covering(self, regions: Regions, *, limit: int | None = None) -> Pairs:
        """Stored regions that cover each given one; with a limit, some of them."""
        found = _verify_proposals(
            len(regions),
            self._make_covering_proposer(*self.grid.find_boxes(regions)),
            lambda i, r: covers(self.regions, r, regions, i),
        )
        return found if limit is None else found.limit_per_query(limit)

    @check_arguments
    def find_covered(self, regions: Regions) -> Pairs:
        """Stored regions that each given one covers."""
        lower, upper = self.grid.find_boxes(regions)
        ranges = hilbert.decompose_boxes(lower, upper, self.grid.bits, max_ranges=self.max_ranges)

        def propose(start: int) -> Proposal:
            stored = (self.corners, self.corner_rows, self.lower, self.upper)
            found: Proposal = propose_covered(
                start, lower, upper, ranges.offsets, ranges.first, ranges.last, *stored
            )
            return found

        return _verify_proposals(
            len(regions), propose, lambda i, r: covers(regions, i, self.regions, r)
        )

    @check_arguments
    def find_overlapping(self, regions: Regions) -> Pairs:
        """Stored regions that have an event in common with each given one."""
        return _verify_proposals(
            len(regions),
            self._make_overlapping_proposer(regions),
            lambda i, r: overlaps(regions, i, self.regions, r),
        )

    def count_covering_candidates(self, regions: Regions) -> Ints:
        """How many stored regions `find_covering` verifies each given one against."""
        return _count_candidates(
            len(regions), self._make_covering_proposer(*self.grid.find_boxes(regions))
        )

    def count_overlapping_candidates(self, regions: Regions) -> Ints:
        """How many stored regions `find_overlapping` verifies each given one against."""
        return _count_candidates(len(regions), self._make_overlapping_proposer(regions))

    def _make_covering_proposer(self, lower: Ints, upper: Ints) -> Callable[[int], Proposal]:
        """Stored boxes that contain each box: they have its lower corner."""
        positions = hilbert.encode_cells(lower, self.grid.bits)

        def propose(start: int) -> Proposal:
            stored = (self.blocks, self.block_rows, self.block_sizes, self.lower, self.upper)
            found: Proposal = propose_covering(start, lower, upper, positions, *stored)
            return found

        return propose

    def _make_overlapping_proposer(self, regions: Regions) -> Callable[[int], Proposal]:
        """Stored boxes that have a cell of each region's."""
        lower, upper = self.grid.find_boxes(regions)
        ranges = hilbert.decompose_boxes(lower, upper, self.grid.bits, max_ranges=self.max_ranges)
        parts, of = find_curve_blocks(ranges.offsets, ranges.first, ranges.last)
        starts = np.searchsorted(of, np.arange(len(regions) + 1))

        def propose(start: int) -> Proposal:
            stored = (self.blocks, self.block_rows, self.block_sizes, self.lower, self.upper)
            found: Proposal = propose_overlapping(start, lower, upper, starts, parts, *stored)
            return found

        return propose


def _verify_proposals(
    query_count: int, propose: Callable[[int], Proposal], holds: Callable[[Ints, Ints], Bools]
) -> Pairs:
    """The pairs that hold among those that are proposed, some at a time."""
    found, done = [(np.empty(0, np.int64), np.empty(0, np.int64))], 0
    while done < query_count:
        some, asked, stored = propose(done)
        true = holds(asked, stored)
        found.append((asked[true], stored[true]))
        done += some
    return Pairs(*(np.concatenate(rows) for rows in zip(*found, strict=True)))


def _count_candidates(query_count: int, propose: Callable[[int], Proposal]) -> Ints:
    """How many pairs are proposed of each query row."""
    counts, done = np.zeros(query_count, np.int64), 0
    while done < query_count:
        some, asked, _ = propose(done)
        counts += np.bincount(asked, minlength=query_count)
        done += some
    return counts


def _find_block_sizes(blocks: Ints) -> Ints:
    """The t of each block."""
    exact: Ints = np.log2((blocks & -blocks).astype(np.float64)).astype(np.int64)
    return exact
