"""Skewed boxes by hand: a grid on two attributes, then a scan of the event's cell.

Bins hold equally many ends. A box stands in every cell that it meets, with all of its ends, so that
a cell is scanned in one piece; boxes that meet half of the grid are in a list that is scanned for
every event. Events of one cell come one after another.

Tuned at a million boxes: 48 to 512 bins of equal depth or of equal width, lists of boxes above 64
cells to none, any two attributes, boxes a row each or ends a row each. From 96 to 192 bins nothing
changes; ends a row each (SIMD) are twice as fast.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from benchmarks.peers.columns import boxes, points
from benchmarks.peers.contract import Found
from benchmarks.peers.kernels import BLOCK, inside, roomy
from covey.geometry import Regions
from covey.space import Events

__all__ = ["SkewedByHand"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_BINS = 128
_GRID = (0, 2)  # the attributes of the grid
_WIDE = _BINS * _BINS // 2  # cells
_SAMPLED = 20  # one of so many ends tells where bins end


@dataclass(frozen=True, slots=True)
class SkewedByHand:
    """A grid of boxes: cell c has the places from `starts[c]` to `starts[c + 1]`.

    The last cell is none: its boxes are those that meet too many.
    """

    names: list[str]
    edges: list[Floats]
    starts: Ints
    lower: Floats  # a row an attribute, a column a place
    upper: Floats
    rows: NDArray[np.int32]

    @classmethod
    def build(cls, regions: Regions) -> SkewedByHand:
        """A grid of all boxes."""
        names = [attribute.name for attribute in regions.space]
        lower, upper = boxes(regions, names)
        ends = np.concatenate([lower[::_SAMPLED], upper[::_SAMPLED]])
        edges = [np.quantile(ends[:, k], np.arange(1, _BINS) / _BINS) for k in _GRID]
        first, last = _bins(lower, edges), _bins(upper, edges)
        is_wide = (last - first + 1).prod(axis=1) >= _WIDE
        counts, none = np.zeros(_BINS * _BINS + 1, np.int64), np.empty(0, np.int32)
        _register(first, last, is_wide, counts, none)
        starts = np.concatenate([[0], np.cumsum(counts)])
        rows = np.empty(starts[-1], np.int32)
        _register(first, last, is_wide, starts.copy(), rows)
        return cls(
            names, edges, starts, np.ascontiguousarray(lower[rows].T),
            np.ascontiguousarray(upper[rows].T), rows,
        )  # fmt: skip

    def ready(self, events: Events) -> Floats:
        return points(events, self.names)

    def matching(self, ready: Floats) -> Found:
        cells = _bins(ready, self.edges) @ np.array([_BINS, 1])
        by_cell = np.argsort(cells, kind="stable")
        found: Found = _matching(
            by_cell, cells, ready, self.starts, self.lower, self.upper, self.rows
        )
        return found


def _bins(values: Floats, edges: list[Floats]) -> Ints:
    """The bin of each value of the attributes of the grid."""
    both = zip(edges, _GRID, strict=True)
    return np.stack([np.searchsorted(edge, values[:, k], "right") for edge, k in both], axis=1)


@njit(cache=True)
def _register(
    first: Ints, last: Ints, is_wide: NDArray[np.bool_], places: Ints, rows: NDArray[np.int32]
) -> None:
    """Moves the place of each cell by the boxes that meet it, and writes these unless `rows` is
    empty.
    """
    for i in range(len(first)):
        if is_wide[i]:
            if len(rows):
                rows[places[_BINS * _BINS]] = i
            places[_BINS * _BINS] += 1
            continue
        for a in range(first[i, 0], last[i, 0] + 1):
            for b in range(first[i, 1], last[i, 1] + 1):
                if len(rows):
                    rows[places[a * _BINS + b]] = i
                places[a * _BINS + b] += 1


@njit(cache=True)
def _matching(
    events: Ints, cells: Ints, numbers: Floats, starts: Ints, lower: Floats, upper: Floats,
    rows: NDArray[np.int32],
) -> Any:  # fmt: skip
    found, asked, stored = 0, np.empty(1 << 16, np.int32), np.empty(1 << 16, np.int32)
    marks = np.empty(BLOCK, np.uint8)
    for event in events:
        point = numbers[event]
        for cell in (cells[event], _BINS * _BINS):
            last = starts[cell + 1]
            size = found + last - starts[cell] + 1
            asked, stored = roomy(asked, size), roomy(stored, size)
            for start in range(starts[cell], last, BLOCK):
                stop = min(start + BLOCK, last)
                inside(lower, upper, start, stop, point, marks)
                for i in range(start, stop):
                    asked[found], stored[found] = event, rows[i]
                    found += marks[i - start]
    return asked[:found], stored[:found]
