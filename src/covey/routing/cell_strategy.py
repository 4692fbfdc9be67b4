"""A table that advertises cells: regions as ranges of Hilbert's curve, merged as they come and go.

A region is the ranges of its cells. What is advertised is their union, so a region whose cells
others have is not told of, be it under one of them or under several together; neighbouring ranges
are one. Each region's own ranges are kept: when it goes, just what nothing else contains is
withdrawn. What a link is told are cells and not predicates, as it is cells that decide what is
covered; so a link forwards what lies in the cells, some of it in vain. (papers: mics)

Cost: a region costs its ranges and, for each, what `covey.routing.counted_ranges` says; 16
bytes a range. Wrong choice for many attributes (choose few: the others are ignored) and for wide
regions.
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
    """How many ranges of the last call that added were told of, and how.

    `covered_count`: nothing of it was new; `partial_count`: some of it; `new_count`: all of it.
    `merged_count` of the last two became one with what was advertised beside them.
    """

    covered_count: int = 0
    partial_count: int = 0
    new_count: int = 0
    merged_count: int = 0


class HilbertCellStrategy:
    """Living regions by number, and the cells that are advertised for them.

    Without a grid the first regions choose one: their three most selective attributes, 256 cells of
    each. It stays then, so give one where the first are not like the others.

    `gap` fills gaps of at most so many positions in what is advertised: fewer ranges, more events
    in vain. `max_ranges` bounds the ranges of one region, likewise.

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
        """Adds regions under numbers that are not in use; gives what to advertise."""
        if len(numbers) != len(regions):
            raise InvalidArgumentError(f"{len(numbers)} numbers for {len(regions)} regions")
        self._check_numbers(numbers, False)
        if self._grid is None and len(regions):
            self._grid = HilbertGrid.from_regions(
                regions, find_selective_attributes(regions, _DIMENSIONS), _BITS
            )
        if not len(regions):
            return CellUpdate.empty()
        rows = self.grid.find_ranges(regions, max_ranges=self.max_ranges)
        self._region_ranges.add(numbers, rows)
        told = self._counted_ranges.add(rows.first, rows.last)
        self.last_insertion = InsertionCounts(
            told.covered_count, told.partial_count, told.new_count, told.merged_count
        )
        return CellUpdate(told.ranges, RangeSet.empty())

    def remove(self, numbers: Numbers) -> CellUpdate:
        """Removes living regions; gives what to withdraw: what no other region contains."""
        self._check_numbers(numbers, True)
        rows = self._region_ranges.take(numbers)
        self._region_ranges.remove(numbers)
        return CellUpdate(
            RangeSet.empty(), self._counted_ranges.remove(rows.first, rows.last).ranges
        )

    @property
    def grid(self) -> HilbertGrid:
        """The cells; without regions and if none was given there are none yet."""
        if self._grid is None:
            raise InvalidArgumentError("no cells are chosen yet: they are with the first regions")
        return self._grid

    def reassign_orphans(self, max_regions: int | None = None) -> CellUpdate:
        """Nothing: removal is exact at once."""
        return CellUpdate.empty()

    def prune(self) -> CellUpdate:
        """Nothing: what is advertised is always as small as it can be."""
        return CellUpdate.empty()

    def build_sync_update(self, known: RangeSet) -> CellUpdate:
        """What brings a link that knows other positions up to date."""
        now = self.advertised_set
        return CellUpdate(now - known, known - now)

    @property
    def is_fully_withdrawn(self) -> bool:
        """Always: nothing is left for later."""
        return True

    @property
    def advertised_set(self) -> RangeSet:
        """The positions that are advertised. Cost: a step for each stored run."""
        return self._counted_ranges.advertised_ranges

    @property
    def numbers(self) -> Numbers:
        """The living regions, ascending."""
        return self._region_ranges.numbers

    @property
    def range_count(self) -> int:
        """How many disjoint ranges are advertised."""
        return self._counted_ranges.range_count

    def take_ranges(self, numbers: Numbers) -> RangeSets:
        """Living regions as ranges."""
        self._check_numbers(numbers, True)
        return self._region_ranges.take(numbers)

    def admits(self, events: Events) -> NDArray[np.bool_]:
        """Whether the cell of each event is advertised: whether a link that follows forwards it."""
        if self._grid is None:
            return np.zeros(len(events), np.bool_)
        return self._counted_ranges.contains(self.grid.find_positions(events))

    def covers(self, regions: Regions) -> NDArray[np.bool_]:
        """Whether all cells of each region are advertised: whether adding it would tell nothing."""
        rows = self.grid.find_ranges(regions, max_ranges=self.max_ranges)
        missing = np.flatnonzero(~self._counted_ranges.covers(rows.first, rows.last))
        answer = np.ones(len(regions), np.bool_)
        answer[np.searchsorted(rows.offsets, missing, "right") - 1] = False
        return answer

    def find_absorbers(self, numbers: Numbers) -> RaggedArray:
        """For each living region those that own its cells; itself alone if it owns some of them.

        The owner of a cell is the living region of the smallest number that has it. So a region is
        redundant if and only if it is not among its own absorbers.

        Cost: all living ranges are sorted, whatever is asked: a microsecond or two for each.
        """
        self._check_numbers(numbers, True)
        living = self._region_ranges.numbers
        rows = self._region_ranges.take(living)
        ends = np.unique(np.concatenate([rows.first, rows.last + 1]))
        start, stop = np.searchsorted(ends, rows.first), np.searchsorted(ends, rows.last + 1)
        owners = find_first_covering_rows(rows.offsets, start, stop, len(ends))
        asked = np.searchsorted(living, numbers)
        offsets, found = collect_absorbers(rows.offsets, start, stop, owners, asked)
        return RaggedArray(offsets, living[found])

    def _check_numbers(self, numbers: Numbers, must_be_live: bool) -> None:
        wrong = numbers[self._region_ranges.contains(numbers) != must_be_live]
        if len(wrong):
            state = "is not living" if must_be_live else "is living already"
            raise InvalidArgumentError(f"region {wrong[0]} {state}")
        if len(np.unique(numbers)) != len(numbers):
            raise InvalidArgumentError("a number is given twice in one batch")
