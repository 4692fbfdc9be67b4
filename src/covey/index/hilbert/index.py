"""The Hilbert index: candidates from a grid of few attributes, numbered by Hilbert's curve.

The cells of a stored region are divided into blocks of the curve; a block is a run of 2^t positions
that starts at a multiple of 2^t. All blocks are in one array, sorted by block number. In this order
a block is in the middle of the blocks within it. So the blocks within a block are neighbours in the
array, and the blocks that contain a position are found by one binary search for each block size.
Candidates are verified by `covey.geometry.relations`, also on the attributes that are not in the
grid (papers: mics).

Cost: 12 bytes per block and some tens of blocks per region; a query costs 0.4 µs per candidate, and
more with tags and balls. Do not use this index if most regions have no constrained attribute in
common, or if all regions are in a few cells: then there are too many candidates. `SegmentIndex`
uses all attributes.
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
from covey.index.protocol import MatchResult, Pairs
from covey.space import Events

__all__ = ["HilbertIndex"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_DEFAULT_ATTRIBUTES = 3


@dataclass(frozen=True, slots=True, eq=False)
class HilbertIndex:
    """Index that finds candidates by blocks of Hilbert's curve, and verifies them.

    Guarantee: every query returns the same pairs as `BruteForceIndex`; with a limit, it may return
    other covers.

    Args:
        regions: the stored regions.
        grid: the grid, usually of the most selective attributes.
        max_ranges: largest number of ranges of positions that represent a region.
        lower: the lower corner cell of the box of each region.
        upper: the upper corner cell of the box of each region.
        blocks: the numbers of all blocks, ascending.
        block_rows: the row of the region of each block.
        block_sizes: the exponents t of the block sizes 2^t that occur.
        corners: the positions of all lower corner cells on the curve, ascending.
        corner_rows: the row of the region of each of these corner cells.

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
        """Build an index of regions.

        Args:
            regions: the regions to store.
            attributes: names of the scalar attributes of the grid; None for the three most
                selective ones.
            bits: the grid has up to 2^bits cells per attribute. From 1 to 30, and at most 62 for
                all attributes together.
            max_ranges: largest number of ranges of positions that represent a region, at least 1.
                If it is smaller, the index is smaller but has more candidates.

        Raises:
            InvalidArgumentError: if `bits` or `max_ranges` is out of range.
            SchemaError: if an attribute is unknown or not scalar.
        """
        check_range("bits", bits, 1, 30)
        check_range("max_ranges", max_ranges, 1)
        chosen_attributes = (
            find_selective_attributes(regions, _DEFAULT_ATTRIBUTES)
            if attributes is None
            else attributes
        )
        grid = HilbertGrid.from_regions(regions, chosen_attributes, bits)
        lower, upper = grid.find_boxes(regions)
        ranges = hilbert.decompose_boxes(lower, upper, bits, max_ranges=max_ranges)
        blocks, rows = find_curve_blocks(ranges.offsets, ranges.first, ranges.last)
        order = np.argsort(blocks, kind="stable")
        sizes = np.flatnonzero(np.bincount(_find_block_sizes(blocks), minlength=1))
        corners = hilbert.encode_cells(lower, bits)
        by_corner = np.argsort(corners, kind="stable")
        return cls(
            regions, grid, max_ranges, lower, upper,
            blocks[order], rows[order], sizes, corners[by_corner], by_corner,
        )  # fmt: skip

    @check_arguments
    def match(self, events: Events) -> MatchResult:
        """Return for each event the stored regions that contain it."""
        cells = self.grid.find_cells(events)
        pairs = _verify_proposals(
            len(events),
            self._make_covering_proposer(cells, cells),
            lambda e, r: contains(self.regions, r, events, e),
        )
        return MatchResult.from_pairs(pairs, self.regions)

    @check_arguments
    def find_covering(self, regions: Regions, *, limit: int | None = None) -> Pairs:
        """Return for each query region the stored regions that cover it, at most `limit`."""
        pairs = _verify_proposals(
            len(regions),
            self._make_covering_proposer(*self.grid.find_boxes(regions)),
            lambda i, r: covers(self.regions, r, regions, i),
        )
        return pairs if limit is None else pairs.limit_per_query(limit)

    @check_arguments
    def find_covered(self, regions: Regions) -> Pairs:
        """Return for each query region the stored regions that it covers."""
        lower, upper = self.grid.find_boxes(regions)
        ranges = hilbert.decompose_boxes(lower, upper, self.grid.bits, max_ranges=self.max_ranges)

        def propose(start: int) -> Proposal:
            stored = (self.corners, self.corner_rows, self.lower, self.upper)
            proposal: Proposal = propose_covered(
                start, lower, upper, ranges.offsets, ranges.first, ranges.last, *stored
            )
            return proposal

        return _verify_proposals(
            len(regions), propose, lambda i, r: covers(regions, i, self.regions, r)
        )

    @check_arguments
    def find_overlapping(self, regions: Regions) -> Pairs:
        """Return for each query region the stored regions that overlap it."""
        return _verify_proposals(
            len(regions),
            self._make_overlapping_proposer(regions),
            lambda i, r: overlaps(regions, i, self.regions, r),
        )

    def count_covering_candidates(self, regions: Regions) -> Ints:
        """Return for each query region the number of candidates of `find_covering`."""
        return _count_candidates(
            len(regions), self._make_covering_proposer(*self.grid.find_boxes(regions))
        )

    def count_overlapping_candidates(self, regions: Regions) -> Ints:
        """Return for each query region the number of candidates of `find_overlapping`."""
        return _count_candidates(len(regions), self._make_overlapping_proposer(regions))

    def _make_covering_proposer(self, lower: Ints, upper: Ints) -> Callable[[int], Proposal]:
        """Return a function that proposes the stored boxes that contain each query box.

        A stored box that contains a query box has a block that contains the position of the lower
        corner cell of the query box.
        """
        positions = hilbert.encode_cells(lower, self.grid.bits)

        def propose(start: int) -> Proposal:
            stored = (self.blocks, self.block_rows, self.block_sizes, self.lower, self.upper)
            proposal: Proposal = propose_covering(start, lower, upper, positions, *stored)
            return proposal

        return propose

    def _make_overlapping_proposer(self, regions: Regions) -> Callable[[int], Proposal]:
        """Return a function that proposes the stored boxes that share a cell with each region."""
        lower, upper = self.grid.find_boxes(regions)
        ranges = hilbert.decompose_boxes(lower, upper, self.grid.bits, max_ranges=self.max_ranges)
        query_blocks, block_query_rows = find_curve_blocks(
            ranges.offsets, ranges.first, ranges.last
        )
        starts = np.searchsorted(block_query_rows, np.arange(len(regions) + 1))

        def propose(start: int) -> Proposal:
            stored = (self.blocks, self.block_rows, self.block_sizes, self.lower, self.upper)
            proposal: Proposal = propose_overlapping(
                start, lower, upper, starts, query_blocks, *stored
            )
            return proposal

        return propose


def _verify_proposals(
    query_count: int, propose: Callable[[int], Proposal], holds: Callable[[Ints, Ints], Bools]
) -> Pairs:
    """Return the proposed pairs for which `holds` is true.

    Pairs are proposed and verified for a portion of the query rows at a time; `propose` takes the
    first query row of the portion.
    """
    pairs, start = [(np.empty(0, np.int64), np.empty(0, np.int64))], 0
    while start < query_count:
        row_count, query_rows, stored_rows = propose(start)
        is_true = holds(query_rows, stored_rows)
        pairs.append((query_rows[is_true], stored_rows[is_true]))
        start += row_count
    return Pairs(*(np.concatenate(rows) for rows in zip(*pairs, strict=True)))


def _count_candidates(query_count: int, propose: Callable[[int], Proposal]) -> Ints:
    """Return for each query row the number of pairs that `propose` returns."""
    counts, start = np.zeros(query_count, np.int64), 0
    while start < query_count:
        row_count, query_rows, _ = propose(start)
        counts += np.bincount(query_rows, minlength=query_count)
        start += row_count
    return counts


def _find_block_sizes(blocks: Ints) -> Ints:
    """Return for each block number the exponent t of the size 2^t of the block."""
    exact: Ints = np.log2((blocks & -blocks).astype(np.float64)).astype(np.int64)
    return exact
