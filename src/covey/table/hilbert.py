"""A table that advertises cells: regions as ranges of Hilbert's curve, merged as they come and go.

A region is the ranges of its cells. What is advertised is their union, so a region whose cells
others have is not told of, be it under one of them or under several together; neighbouring ranges
are one. Each region's own ranges are kept: when it goes, just what nothing else contains is
withdrawn. What a link is told are cells and not predicates, as it is cells that decide what is
covered; so a link forwards what lies in the cells, some of it in vain. (papers: mics)

Cost: a region costs its ranges and, for each, what `covey.table.coverage` says; 16 bytes a range.
Wrong choice for many attributes (choose few: the others are ignored) and for wide regions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.errors import ValueRefused
from covey.geometry import Regions
from covey.geometry.ranges import RangeRows, Ranges
from covey.index.grid import Grid, selective
from covey.space import Events
from covey.space.ragged import Ragged
from covey.table.cell_steps import CellSteps
from covey.table.coverage import Coverage
from covey.table.kernels.owners import owners_of, painted
from covey.table.originals import Originals

__all__ = ["Cells", "Insertion"]

Numbers = NDArray[np.int64]
_DIMENSIONS, _BITS = 3, 8


@dataclass(frozen=True, slots=True)
class Insertion:
    """How many ranges of the last call that added were told of, and how.

    `covered`: nothing of it was new; `partly`: some of it; `new`: all of it. `merged` of the last
    two became one with what was advertised beside them.
    """

    covered: int = 0
    partly: int = 0
    new: int = 0
    merged: int = 0


class Cells:
    """Living regions by number, and the cells that are advertised for them.

    Without a grid the first regions choose one: their three most selective attributes, 256 cells of
    each. It stays then, so give one where the first are not like the others.

    `gap` fills gaps of at most so many positions in what is advertised: fewer ranges, more events
    in vain. `most` bounds the ranges of one region, likewise.

    >>> import pyarrow as pa
    >>> from covey import Space, parse
    >>> space = Space.of({"x": pa.int32()})
    >>> cells = Cells(Grid.uniform(space, ["x"], 5, {"x": (0, 31)}))
    >>> regions = parse(space, ["x BETWEEN 0 AND 12", "x BETWEEN 10 AND 20"]).regions
    >>> list(cells.add(np.array([0, 1]), regions).advertised)
    [(0, 20)]
    >>> list(cells.remove(np.array([0])).withdrawn), list(cells.advertised)
    ([(0, 9)], [(10, 20)])
    """

    def __init__(self, grid: Grid | None = None, gap: int = 0, most: int = 256) -> None:
        self._grid, self.most = grid, most
        self.insertion = Insertion()
        self._coverage = Coverage(gap)
        self._originals = Originals()

    def add(self, numbers: Numbers, regions: Regions) -> CellSteps:
        """Adds regions under numbers that are not in use; gives what to advertise."""
        if len(numbers) != len(regions):
            raise ValueRefused(f"{len(numbers)} numbers for {len(regions)} regions")
        self._check(numbers, False)
        if self._grid is None and len(regions):
            self._grid = Grid.of(regions, selective(regions, _DIMENSIONS), _BITS)
        if not len(regions):
            return CellSteps.nothing()
        rows = self.grid.ranges(regions, self.most)
        self._originals.add(numbers, rows)
        told = self._coverage.add(rows.first, rows.last)
        self.insertion = Insertion(told.covered, told.partly, told.new, told.merged)
        return CellSteps(told.ranges, Ranges.empty())

    def remove(self, numbers: Numbers) -> CellSteps:
        """Removes living regions; gives what to withdraw: what no other region contains."""
        self._check(numbers, True)
        rows = self._originals.take(numbers)
        self._originals.remove(numbers)
        return CellSteps(Ranges.empty(), self._coverage.remove(rows.first, rows.last).ranges)

    @property
    def grid(self) -> Grid:
        """The cells; without regions and if none was given there are none yet."""
        if self._grid is None:
            raise ValueRefused("no cells are chosen yet: they are with the first regions")
        return self._grid

    def settle(self, most: int | None = None) -> CellSteps:
        """Nothing: removal is exact at once."""
        return CellSteps.nothing()

    def tidy(self) -> CellSteps:
        """Nothing: what is advertised is always as small as it can be."""
        return CellSteps.nothing()

    def catch_up(self, known: Ranges) -> CellSteps:
        """What brings a link that knows other positions up to date."""
        now = self.advertised
        return CellSteps(now - known, known - now)

    @property
    def is_settled(self) -> bool:
        """Always: nothing is left for later."""
        return True

    @property
    def advertised(self) -> Ranges:
        """The positions that are advertised. Cost: a step for each stored segment."""
        return self._coverage.advertised

    @property
    def numbers(self) -> Numbers:
        """The living regions, ascending."""
        return self._originals.numbers

    @property
    def stored(self) -> int:
        """How many disjoint ranges are advertised."""
        return self._coverage.stored

    def ranges(self, numbers: Numbers) -> RangeRows:
        """Living regions as ranges."""
        self._check(numbers, True)
        return self._originals.take(numbers)

    def admits(self, events: Events) -> NDArray[np.bool_]:
        """Whether the cell of each event is advertised: whether a link that follows forwards it."""
        if self._grid is None:
            return np.zeros(len(events), np.bool_)
        return self._coverage.contains(self.grid.positions(events))

    def covers(self, regions: Regions) -> NDArray[np.bool_]:
        """Whether all cells of each region are advertised: whether adding it would tell nothing."""
        rows = self.grid.ranges(regions, self.most)
        missing = np.flatnonzero(~self._coverage.covers(rows.first, rows.last))
        answer = np.ones(len(regions), np.bool_)
        answer[np.searchsorted(rows.offsets, missing, "right") - 1] = False
        return answer

    def absorbers(self, numbers: Numbers) -> Ragged:
        """For each living region those that own its cells; itself alone if it owns some of them.

        The owner of a cell is the living region of the smallest number that has it. So a region is
        passive if and only if it is not among its own absorbers.

        Cost: all living ranges are sorted, whatever is asked: a microsecond or two for each.
        """
        self._check(numbers, True)
        living = self._originals.numbers
        rows = self._originals.take(living)
        ends = np.unique(np.concatenate([rows.first, rows.last + 1]))
        start, stop = np.searchsorted(ends, rows.first), np.searchsorted(ends, rows.last + 1)
        owners = painted(rows.offsets, start, stop, len(ends))
        asked = np.searchsorted(living, numbers)
        offsets, found = owners_of(rows.offsets, start, stop, owners, asked)
        return Ragged(offsets, living[found])

    def _check(self, numbers: Numbers, living: bool) -> None:
        wrong = numbers[self._originals.holds(numbers) != living]
        if len(wrong):
            state = "is not living" if living else "is living already"
            raise ValueRefused(f"region {wrong[0]} {state}")
        if len(np.unique(numbers)) != len(numbers):
            raise ValueRefused("a number is given twice in one batch")
