"""Index of possible absorbers: boxes in a fixed order, and a search for those that contain a point.

A box may absorb only boxes that come later in the order.
"""

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
"""Largest number of boxes per point that a search returns if the index is crowded."""


@dataclass(frozen=True, slots=True)
class AbsorberIndex:
    """Boxes with their ranks, and indexes that find the boxes that contain a point.

    A point has one code per axis. Codes are indexed as integer values. Because null and the gaps
    between interval ends have codes as well, a point need not correspond to a possible event.

    Args:
        boxes: the boxes.
        ranks: the position of each box in the order by volume, largest first.
        index: an index of all boxes.
        largest_rows: the rows of the eighth of the boxes with the largest volume. The box to
            subtract from a piece of a region is usually one of these.
        largest_index: an index of the boxes at `largest_rows`.
        is_crowded: whether a point is in more than `MAX_CANDIDATES` boxes on average; a search then
            returns at most `MAX_CANDIDATES` boxes per point.
    """

    boxes: RegionBoxes
    ranks: Codes
    index: SegmentIndex
    largest_rows: Rows
    largest_index: SegmentIndex
    is_crowded: bool

    @classmethod
    def build(cls, boxes: RegionBoxes) -> AbsorberIndex:
        """Build the index of these boxes.

        Cost: two segment indexes are built, one of all boxes and one of an eighth of them.
        """
        ranks = _rank_by_volume(boxes)
        largest_rows = np.flatnonzero(ranks < len(boxes) // _LARGEST_FRACTION)
        indexes = (
            SegmentIndex.build(_to_code_regions(boxes)),
            SegmentIndex.build(_to_code_regions(boxes.take(largest_rows))),
        )
        absorber_index = cls(boxes, ranks, indexes[0], largest_rows, indexes[1], False)
        return replace(absorber_index, is_crowded=_is_crowded(absorber_index))

    def find_largest_containing(self, points: Codes) -> Pairs:
        """Return pairs of a point and a box of `largest_rows` that contains it.

        If the index is crowded, each point has at most `MAX_CANDIDATES` pairs. Residual constraints
        are not compared.

        Raises:
            ResultTooLargeError: if there are more than about 16 million pairs, and the index is not
                crowded.
        """
        pairs = self._find_in(self.largest_index, points)
        return Pairs(pairs.query_rows, self.largest_rows[pairs.stored_rows])

    def find_containing(self, points: Codes) -> Pairs:
        """Return pairs of a point and a box that contains it; all boxes are searched.

        If the index is crowded, each point has at most `MAX_CANDIDATES` pairs. Residual constraints
        are not compared.

        Raises:
            ResultTooLargeError: if there are more than about 16 million pairs, and the index is not
                crowded.
        """
        return self._find_in(self.index, points)

    def _find_in(self, index: SegmentIndex, points: Codes) -> Pairs:
        """Return pairs of a point and a box of `index` that contains it."""
        if self.is_crowded:
            return index.find_covering(
                Regions.from_events(self._to_events(points)), limit=MAX_CANDIDATES
            )
        return index.match(self._to_events(points), max_pairs=_MAX_PAIRS)

    def _to_events(self, points: Codes) -> Events:
        """Return points as events of the space of the index, whose attribute values are codes."""
        valid = np.ones(len(points), np.bool_)
        columns = {
            name: ScalarColumn(points[:, k].astype(np.int64), valid)
            for k, name in enumerate(_axis_names(self.boxes))
        }
        return Events(self.index.space, len(points), columns)


def _is_crowded(absorber_index: AbsorberIndex) -> bool:
    """Return whether a point is in more than `MAX_CANDIDATES` boxes on average.

    The points of this average are the middles of at most 256 of the boxes.
    """
    boxes = absorber_index.boxes
    rows = np.arange(0, len(boxes), -(-len(boxes) // _SAMPLE_BOXES) or 1)
    middle = boxes.lower[rows] + (boxes.upper[rows] - boxes.lower[rows]) // 2
    try:
        pairs = absorber_index.index.match(absorber_index._to_events(middle), max_pairs=_MAX_PAIRS)
        return len(pairs) > MAX_CANDIDATES * len(rows)
    except ResultTooLargeError:
        return True


def _rank_by_volume(boxes: RegionBoxes) -> Codes:
    """Return the rank of each box in the order by volume, largest first.

    The volume is the product of the box's shares of the codes of each axis. Boxes of equal volume
    are ordered: first boxes without residual constraints, then by row number. Only quotients and
    products are computed, in a fixed order, so that the ranks are the same on every machine.
    """
    volume = np.ones(len(boxes))
    for k, axis in enumerate(boxes.axes):
        volume *= (boxes.upper[:, k] - boxes.lower[:, k] + 1) / (axis.max_code + 2)
    ranks = np.empty(len(boxes), np.int32)
    ranks[np.lexsort((boxes.residual_ids != 0, -volume))] = np.arange(len(boxes))
    return ranks


def _to_code_regions(boxes: RegionBoxes) -> Regions:
    """Return boxes, without residual constraints, as regions of a space whose values are codes."""
    space = Space.from_types({name: pa.int32() for name in _axis_names(boxes)})
    constraints = {}
    for k, (name, axis) in enumerate(zip(_axis_names(boxes), boxes.axes, strict=True)):
        is_unconstrained = (boxes.lower[:, k] == NULL_CODE) & (boxes.upper[:, k] == axis.max_code)
        rows = np.flatnonzero(~is_unconstrained)
        ends = (boxes.lower[rows, k].astype(np.int64), boxes.upper[rows, k].astype(np.int64))
        constraints[name] = Constraints(rows, Scalars.from_intervals(key_domain(INT), *ends))
    return Regions(space, len(boxes), constraints)


def _axis_names(boxes: RegionBoxes) -> list[str]:
    """Return the attribute names of the space of codes."""
    return [f"x{k}" for k in range(boxes.lower.shape[1])]
