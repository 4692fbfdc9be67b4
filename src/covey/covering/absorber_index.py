"""Boxes as those that may absorb others: in a fixed order, and indexed for points of codes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covey.covering.axes import NULL_CODE
from covey.covering.region_boxes import RegionBoxes
from covey.errors import ResultTooLargeError
from covey.geometry import Regions
from covey.geometry.regions import Constraints
from covey.geometry.scalars import Scalars
from covey.index import Pairs, SegmentIndex
from covey.space import Events, Space
from covey.space.events import ScalarColumn
from covey.space.keys import key_domain
from covey.space.types import INT

__all__ = ["MAX_CANDIDATES", "AbsorberIndex"]

Codes = NDArray[np.int32]
Rows = NDArray[np.int64]
_LARGEST_FRACTION = 8
_MAX_PAIRS, _SAMPLE_BOXES = 1 << 24, 256
MAX_CANDIDATES = 64
"""How many boxes that hold a point are looked at where points are crowded."""


@dataclass(frozen=True, slots=True)
class AbsorberIndex:
    """Boxes, the rank of each in the order, and indexes over their codes as whole numbers.

    Codes are values of their own, what is between two ends and null included, so that a point can
    be searched that no event of the space may have. The first eighth in the order, the largest,
    have an index to themselves: who takes most of a piece is mostly among them. Where very many
    boxes hold a point, `MAX_CANDIDATES` of them are looked at.
    """

    boxes: RegionBoxes
    ranks: Codes
    index: SegmentIndex
    largest_rows: Rows
    largest_index: SegmentIndex
    is_crowded: bool

    @classmethod
    def build(cls, boxes: RegionBoxes) -> AbsorberIndex:
        """Cost: that of a segment of as many regions, and of one of an eighth."""
        ranks = _rank_by_volume(boxes)
        leaders = np.flatnonzero(ranks < len(boxes) // _LARGEST_FRACTION)
        indexes = (
            SegmentIndex.build(_to_code_regions(boxes)),
            SegmentIndex.build(_to_code_regions(boxes.take(leaders))),
        )
        made = cls(boxes, ranks, indexes[0], leaders, indexes[1], False)
        return replace(made, is_crowded=_is_crowded(made))

    def find_largest_containing(self, points: Codes) -> Pairs:
        """The largest boxes that hold each point; if crowded, at most `MAX_CANDIDATES`.

        Residual constraints are not looked at.
        """
        pairs = self._find_in(self.largest_index, points)
        return Pairs(pairs.query_rows, self.largest_rows[pairs.stored_rows])

    def find_containing(self, points: Codes) -> Pairs:
        """All boxes that hold each point. Raises `ResultTooLargeError` if these are too many."""
        return self._find_in(self.index, points)

    def _find_in(self, index: SegmentIndex, points: Codes) -> Pairs:
        if self.is_crowded:
            return index.find_covering(
                Regions.from_events(self._to_events(points)), limit=MAX_CANDIDATES
            )
        return index.match(self._to_events(points), max_pairs=_MAX_PAIRS)

    def _to_events(self, points: Codes) -> Events:
        valid = np.ones(len(points), np.bool_)
        columns = {
            name: ScalarColumn(points[:, k].astype(np.int64), valid)
            for k, name in enumerate(_axis_names(self.boxes))
        }
        return Events(self.index.space, len(points), columns)


def _is_crowded(absorber_index: AbsorberIndex) -> bool:
    """Whether points are held by more than `MAX_CANDIDATES` boxes, on the average of some."""
    boxes = absorber_index.boxes
    rows = np.arange(0, len(boxes), -(-len(boxes) // _SAMPLE_BOXES) or 1)
    middle = boxes.lower[rows] + (boxes.upper[rows] - boxes.lower[rows]) // 2
    try:
        pairs = absorber_index.index.match(absorber_index._to_events(middle), max_pairs=_MAX_PAIRS)
        return len(pairs) > MAX_CANDIDATES * len(rows)
    except ResultTooLargeError:
        return True


def _rank_by_volume(boxes: RegionBoxes) -> Codes:
    """The rank of each box: from the largest, in codes.

    Of two of a size the one without residual constraints comes first, then the one whose row does.
    Only quotients and products are taken, one after the other, so that the order is the same on
    every machine.
    """
    volume = np.ones(len(boxes))
    for k, axis in enumerate(boxes.axes):
        volume *= (boxes.upper[:, k] - boxes.lower[:, k] + 1) / (axis.max_code + 2)
    ranks = np.empty(len(boxes), np.int32)
    ranks[np.lexsort((boxes.residual_ids != 0, -volume))] = np.arange(len(boxes))
    return ranks


def _to_code_regions(boxes: RegionBoxes) -> Regions:
    """Boxes as regions of a space whose values are codes."""
    space = Space.from_types({name: pa.int32() for name in _axis_names(boxes)})
    constraints = {}
    for k, (name, axis) in enumerate(zip(_axis_names(boxes), boxes.axes, strict=True)):
        free = (boxes.lower[:, k] == NULL_CODE) & (boxes.upper[:, k] == axis.max_code)
        rows = np.flatnonzero(~free)
        ends = (boxes.lower[rows, k].astype(np.int64), boxes.upper[rows, k].astype(np.int64))
        constraints[name] = Constraints(rows, Scalars.from_intervals(key_domain(INT), *ends))
    return Regions(space, len(boxes), constraints)


def _axis_names(boxes: RegionBoxes) -> list[str]:
    return [f"x{k}" for k in range(boxes.lower.shape[1])]
