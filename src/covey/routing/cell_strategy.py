"""Routing strategy that advertises cells: regions as ranges of positions on Hilbert's curve.

The ranges of a region contain the positions of its cells. The union of all ranges is advertised,
with neighbouring ranges joined. If one other region, or several together, contain all cells of a
region, the region therefore adds nothing to what is advertised. The ranges of each region are
stored, so that its removal withdraws exactly the positions that no other region contains.

Links receive cells and not predicates: a region is redundant if other regions contain its cells,
but then the predicates of the other regions need not contain it. A link therefore forwards every
event in an advertised cell, which includes false forwards. (papers: mics)

Cost: per region its ranges, 16 bytes each, and for each range the cost of
`covey.routing.counted_ranges`. Do not use this strategy if regions constrain many attributes, since
a grid has only a few of them, nor for wide regions, which have many ranges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.errors import InvalidArgumentError
from covey.geometry import Regions
from covey.geometry.range_sets import RangeSet, RangeSets
from covey.index.hilbert import HilbertGrid, find_selective_attributes
from covey.routing.counted_ranges import CountedRanges
from covey.routing.kernels.first_cover import collect_absorbers, find_first_covering_rows
from covey.routing.region_ranges import RegionRanges
from covey.routing.updates import CellUpdate
from covey.space import Events
from covey.space.ragged_array import RaggedArray

__all__ = ["HilbertCellStrategy", "InsertionCounts"]

Numbers = NDArray[np.int64]
_DIMENSIONS, _BITS = 3, 8


@dataclass(frozen=True, slots=True)
class InsertionCounts:
    """Numbers of ranges that the last call of `add` with at least one region added, by kind.

    Args:
        covered_count: number of ranges whose positions were all advertised already.
        partial_count: number of ranges with some new positions.
        new_count: number of ranges with only new positions.
        merged_count: number of partial and new ranges that were joined with advertised neighbours.
    """

    covered_count: int = 0
    partial_count: int = 0
    new_count: int = 0
    merged_count: int = 0


class HilbertCellStrategy:
    """A `RoutingStrategy` that advertises the cells of all live regions.

    Args:
        grid: the grid of the cells. By default, the regions of the first call of `add` determine a
            grid with at most 256 cells on each of their three most selective attributes. A grid is
            never changed: pass one if the first regions are not typical.
        gap: gaps of at most this many positions between ranges are advertised as well. With a
            larger value, fewer ranges are advertised, but there are more false forwards.
        max_ranges: the largest number of ranges of one region. With a smaller value, there are
            fewer ranges, but more false forwards.

    >>> import pyarrow as pa
    >>> from covey import Space, parse
    >>> space = Space.from_types({"x": pa.int32()})
    >>> cells = HilbertCellStrategy(HilbertGrid.uniform(space, ["x"], 5, {"x": (0, 31)}))
    >>> regions = parse(space, ["x BETWEEN 0 AND 12", "x BETWEEN 10 AND 20"]).regions
    >>> list(cells.add(np.array([0, 1]), regions).advertised)
    [(0, 20)]
    >>> list(cells.remove(np.array([0])).withdrawn), list(cells.advertised_set)
    ([(0, 9)], [(10, 20)])
    """

    def __init__(
        self, grid: HilbertGrid | None = None, gap: int = 0, *, max_ranges: int = 256
    ) -> None:
        self._grid, self.max_ranges = grid, max_ranges
        self.last_insertion = InsertionCounts()
        self._counted_ranges = CountedRanges(gap)
        self._region_ranges = RegionRanges()

    def add(self, numbers: Numbers, regions: Regions) -> CellUpdate:
        """Add regions under numbers that are not in use; return the update for the link.

        Raises:
            InvalidArgumentError: if the number of a live region is passed, a number occurs more
                than once, or there is not one number for each region.
        """
        if len(numbers) != len(regions):
            raise InvalidArgumentError(
                f"numbers must have one item for each of {len(regions)} regions, "
                f"got {len(numbers)} items"
            )
        self._check_numbers(numbers, False)
        if self._grid is None and len(regions):
            self._grid = HilbertGrid.from_regions(
                regions, find_selective_attributes(regions, _DIMENSIONS), _BITS
            )
        if not len(regions):
            return CellUpdate.empty()
        rows = self.grid.find_ranges(regions, max_ranges=self.max_ranges)
        self._region_ranges.add(numbers, rows)
        delta = self._counted_ranges.add(rows.first, rows.last)
        self.last_insertion = InsertionCounts(
            delta.covered_count, delta.partial_count, delta.new_count, delta.merged_count
        )
        return CellUpdate(delta.ranges, RangeSet.empty())

    def remove(self, numbers: Numbers) -> CellUpdate:
        """Remove live regions; return the update for the link.

        The update withdraws the positions that need not be advertised any more.
        """
        self._check_numbers(numbers, True)
        rows = self._region_ranges.take(numbers)
        self._region_ranges.remove(numbers)
        return CellUpdate(
            RangeSet.empty(), self._counted_ranges.remove(rows.first, rows.last).ranges
        )

    @property
    def grid(self) -> HilbertGrid:
        """Grid of the cells.

        Raises:
            InvalidArgumentError: if no grid was passed and no region has been added.
        """
        if self._grid is None:
            raise InvalidArgumentError(
                "the strategy has no grid yet: add regions first, or pass grid to "
                "HilbertCellStrategy"
            )
        return self._grid

    def reassign_orphans(self, max_regions: int | None = None) -> CellUpdate:
        """Return an empty update, because `remove` leaves no orphans."""
        return CellUpdate.empty()

    def prune(self) -> CellUpdate:
        """Return an empty update: `remove` withdraws all positions that no region needs."""
        return CellUpdate.empty()

    def build_sync_update(self, known: RangeSet) -> CellUpdate:
        """Return the update after which exactly `advertised_set` is advertised on the link.

        `known` has the positions that are advertised on the link before the update.
        """
        advertised = self.advertised_set
        return CellUpdate(advertised - known, known - advertised)

    @property
    def is_fully_withdrawn(self) -> bool:
        """Always True, because `remove` withdraws at once."""
        return True

    @property
    def advertised_set(self) -> RangeSet:
        """Advertised positions, as ranges. Cost: that of `CountedRanges.union`."""
        return self._counted_ranges.advertised_ranges

    @property
    def numbers(self) -> Numbers:
        """Numbers of the live regions, ascending."""
        return self._region_ranges.numbers

    @property
    def range_count(self) -> int:
        """Number of disjoint advertised ranges."""
        return self._counted_ranges.range_count

    def take_ranges(self, numbers: Numbers) -> RangeSets:
        """Return the ranges of the live regions with these numbers, in this order."""
        self._check_numbers(numbers, True)
        return self._region_ranges.take(numbers)

    def admits(self, events: Events) -> NDArray[np.bool_]:
        """Return for each event whether its cell is advertised.

        The neighbour forwards exactly these events.
        """
        if self._grid is None:
            return np.zeros(len(events), np.bool_)
        return self._counted_ranges.contains(self.grid.find_positions(events))

    def covers(self, regions: Regions) -> NDArray[np.bool_]:
        """Return for each region whether all of its cells are advertised."""
        rows = self.grid.find_ranges(regions, max_ranges=self.max_ranges)
        missing = np.flatnonzero(~self._counted_ranges.covers(rows.first, rows.last))
        is_covered = np.ones(len(regions), np.bool_)
        is_covered[np.searchsorted(rows.offsets, missing, "right") - 1] = False
        return is_covered

    def find_absorbers(self, numbers: Numbers) -> RaggedArray:
        """Return for each of these live regions the regions that together contain its cells.

        The absorber of a cell is the live region with the smallest number that contains the cell. A
        region that is the absorber of one of its own cells is active, and is its only absorber. All
        other regions are redundant.

        Cost: a sort of all live ranges, independent of the query: one or two microseconds per
        range.
        """
        self._check_numbers(numbers, True)
        live_numbers = self._region_ranges.numbers
        rows = self._region_ranges.take(live_numbers)
        ends = np.unique(np.concatenate([rows.first, rows.last + 1]))
        start_runs = np.searchsorted(ends, rows.first)
        stop_runs = np.searchsorted(ends, rows.last + 1)
        first_rows = find_first_covering_rows(rows.offsets, start_runs, stop_runs, len(ends))
        query_rows = np.searchsorted(live_numbers, numbers)
        offsets, absorber_rows = collect_absorbers(
            rows.offsets, start_runs, stop_runs, first_rows, query_rows
        )
        return RaggedArray(offsets, live_numbers[absorber_rows])

    def _check_numbers(self, numbers: Numbers, must_be_live: bool) -> None:
        """Raise InvalidArgumentError if the numbers are not suitable.

        No number may occur more than once. With `must_be_live`, the regions of all numbers must be
        live; otherwise none may be live.
        """
        wrong = numbers[self._region_ranges.contains(numbers) != must_be_live]
        if len(wrong):
            state = (
                "is not in the routing table: pass only numbers of regions that were added and not "
                "removed"
                if must_be_live
                else "is already in the routing table: pass numbers that are not in use"
            )
            raise InvalidArgumentError(f"region {wrong[0]} {state}")
        if len(np.unique(numbers)) != len(numbers):
            raise InvalidArgumentError("numbers has a region number twice: pass each number once")
