"""Boxes as those that may absorb others: in a fixed order, and indexed for points of codes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covey.compact.axes import NULL
from covey.compact.boxes import Boxes
from covey.errors import TooManyPairs
from covey.geometry import Regions
from covey.geometry.regions import Constraints
from covey.geometry.scalars import Scalars
from covey.index import Pairs, Segment
from covey.space import Events, Space
from covey.space.events import ScalarColumn
from covey.space.keys import domain
from covey.space.types import INT

__all__ = ["MANY", "Absorbing"]

Codes = NDArray[np.int32]
Rows = NDArray[np.int64]
_EIGHT = 8
_PAIRS, _SAMPLE = 1 << 24, 256
MANY = 64
"""How many boxes that hold a point are looked at where points are crowded."""


@dataclass(frozen=True, slots=True)
class Absorbing:
    """Boxes, the rank of each in the order, and indexes over their codes as whole numbers.

    Codes are values of their own, what is between two ends and null included, so that a point can
    be asked for that no event of the space may have. The first eighth in the order, the `leaders`,
    have an index to themselves: who takes most of a piece is mostly among them. Where very many
    boxes hold a point, `MANY` of them are looked at.
    """

    boxes: Boxes
    ranks: Codes
    index: Segment
    leaders: Rows
    leading: Segment
    is_crowded: bool

    @classmethod
    def of(cls, boxes: Boxes) -> Absorbing:
        """Cost: that of a segment of as many regions, and of one of an eighth."""
        ranks = _ranks(boxes)
        leaders = np.flatnonzero(ranks < len(boxes) // _EIGHT)
        indexes = Segment.build(_coded(boxes)), Segment.build(_coded(boxes.take(leaders)))
        made = cls(boxes, ranks, indexes[0], leaders, indexes[1], False)
        return replace(made, is_crowded=_crowded(made))

    def leaders_holding(self, points: Codes) -> Pairs:
        """The leaders that hold each point, whatever their rest; if crowded, at most `MANY`."""
        pairs = self._asked(self.leading, points)
        return Pairs(pairs.asked, self.leaders[pairs.stored])

    def holding(self, points: Codes) -> Pairs:
        """The same of all boxes. `TooManyPairs` if they are too many together."""
        return self._asked(self.index, points)

    def _asked(self, index: Segment, points: Codes) -> Pairs:
        if self.is_crowded:
            return index.covering(Regions.points(self._events(points)), limit=MANY)
        return index.matching(self._events(points), _PAIRS)

    def _events(self, points: Codes) -> Events:
        valid = np.ones(len(points), np.bool_)
        columns = {
            name: ScalarColumn(points[:, k].astype(np.int64), valid)
            for k, name in enumerate(_names(self.boxes))
        }
        return Events(self.index.space, len(points), columns)


def _crowded(absorbing: Absorbing) -> bool:
    """Whether points are held by more than `MANY` boxes, on the average of some."""
    boxes = absorbing.boxes
    rows = np.arange(0, len(boxes), -(-len(boxes) // _SAMPLE) or 1)
    middle = boxes.lower[rows] + (boxes.upper[rows] - boxes.lower[rows]) // 2
    try:
        return len(absorbing.index.matching(absorbing._events(middle), _PAIRS)) > MANY * len(rows)
    except TooManyPairs:
        return True


def _ranks(boxes: Boxes) -> Codes:
    """The place of each box in the order: from the largest, in codes.

    Of two of a size the one without a rest comes first, then the one whose row does. Only quotients
    and products are taken, one after the other, so that the order is the same on every machine.
    """
    volume = np.ones(len(boxes))
    for k, axis in enumerate(boxes.axes):
        volume *= (boxes.upper[:, k] - boxes.lower[:, k] + 1) / (axis.top + 2)
    ranks = np.empty(len(boxes), np.int32)
    ranks[np.lexsort((boxes.rest != 0, -volume))] = np.arange(len(boxes))
    return ranks


def _coded(boxes: Boxes) -> Regions:
    """Boxes as regions of a space whose values are codes."""
    space = Space.of({name: pa.int32() for name in _names(boxes)})
    constraints = {}
    for k, (name, axis) in enumerate(zip(_names(boxes), boxes.axes, strict=True)):
        free = (boxes.lower[:, k] == NULL) & (boxes.upper[:, k] == axis.top)
        rows = np.flatnonzero(~free)
        ends = (boxes.lower[rows, k].astype(np.int64), boxes.upper[rows, k].astype(np.int64))
        constraints[name] = Constraints(rows, Scalars.of(domain(INT), *ends))
    return Regions(space, len(boxes), constraints)


def _names(boxes: Boxes) -> list[str]:
    return [f"x{k}" for k in range(boxes.lower.shape[1])]
