"""Regions that are equal to another, or strictly within one.

Rows are asked of an index in any portions: each answer is its own, so that tasks can share the
work. What they find are pointers, one from each covered region to one that covers it; the top of a
chain of them is a region that nothing was found to cover.

Cost: a sort of all boxes; a search in the index for each asked row; a few passes over pointers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.compact.boxes import Boxes
from covey.geometry import Regions
from covey.index import Segment

__all__ = ["Covered", "covers_of", "equal_rows", "tops"]

Rows = NDArray[np.int64]
_AT_ONCE = 1 << 14


def equal_rows(boxes: Boxes) -> Rows:
    """For each region the first of the batch that is equal to it: its own row, if it is that."""
    columns = (*boxes.lower.T, *boxes.upper.T, boxes.rest)
    order = np.lexsort(columns)
    differs = np.zeros(len(boxes), np.bool_)
    for column in columns:
        differs[1:] |= np.diff(column[order]) != 0
    firsts = order[np.maximum.accumulate(np.where(differs, np.arange(len(boxes)), 0))]
    equal = np.empty(len(boxes), np.int64)
    equal[order] = firsts
    return equal


def covers_of(index: Segment, rows: Rows) -> Rows:
    """For the asked rows the row of another stored region that covers it, -1 if there is none.

    No two stored regions may be equal.
    """
    found, regions = np.full(len(rows), -1, np.int64), index.regions(rows)
    for start in range(0, len(rows), _AT_ONCE):
        some = rows[start : start + _AT_ONCE]
        asked_regions = regions.take(np.arange(start, start + len(some)))
        pairs = index.covering(asked_regions, limit=2)  # one of the two may be itself
        asked, stored = pairs.asked.astype(np.int64), pairs.stored.astype(np.int64)
        other = stored != some[asked]
        found[start + asked[other][::-1]] = stored[other][::-1]  # the first that was found
    return found


@dataclass(frozen=True, slots=True)
class Covered:
    """For each region one that covers it and that nothing covers: its own row, if it is that.

    `index` has the `distinct` ones, in their order.
    """

    by: Rows
    distinct: Rows
    index: Segment

    @classmethod
    def of(cls, regions: Regions, equal: Rows, covers: Callable[[Segment], Rows]) -> Covered:
        """From what `equal_rows` gave; `covers` is `covers_of` for all rows of an index."""
        rows = np.arange(len(regions))
        distinct = np.flatnonzero(equal == rows)
        index, by = Segment.build(regions.take(distinct)), rows.copy()
        by[distinct] = distinct[tops(covers(index))]
        return cls(by[equal], distinct, index)


def tops(pointers: Rows) -> Rows:
    """For each row the end of its chain of pointers, of which -1 is the end.

    Regions that cover each other though they are spelled differently, as balls can be, point in a
    circle: the first of them is the end.

    >>> tops(np.array([1, 2, -1, 4, 3])).tolist()
    [2, 2, 2, 3, 3]
    """
    rows = np.arange(len(pointers))
    ahead = np.where(pointers < 0, rows, pointers)
    least = np.minimum(rows, ahead)  # of those passed on the way
    for _ in range(len(pointers).bit_length()):
        least = np.minimum(least, least[ahead])
        further = ahead[ahead]
        if (further == ahead).all():
            break
        ahead = further
    ends: Rows = least[ahead]  # all chains are in their circle by now, or at its only member
    return ends
