"""Regions that are equal to another, or strictly within one.

An index is queried for rows in any portions: each answer is its own, so that tasks can share the
work. What they find are pointers, one from each covered region to one that covers it; the top of a
chain of them is a region that nothing was found to cover.

Cost: a sort of all boxes; a search in the index for each query row; a few passes over pointers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.covering.region_boxes import RegionBoxes
from covey.geometry import Regions
from covey.index import SegmentIndex

__all__ = ["CoverForest", "find_chain_roots", "find_covering_rows", "find_equal_rows"]

Rows = NDArray[np.int64]
_BATCH_ROWS = 1 << 14


def find_equal_rows(boxes: RegionBoxes) -> Rows:
    """For each region the first of the batch that is equal to it: its own row, if it is that."""
    columns = (*boxes.lower.T, *boxes.upper.T, boxes.residual_ids)
    order = np.lexsort(columns)
    differs = np.zeros(len(boxes), np.bool_)
    for column in columns:
        differs[1:] |= np.diff(column[order]) != 0
    firsts = order[np.maximum.accumulate(np.where(differs, np.arange(len(boxes)), 0))]
    equal = np.empty(len(boxes), np.int64)
    equal[order] = firsts
    return equal


def find_covering_rows(index: SegmentIndex, query_rows: Rows) -> Rows:
    """For each query row the row of another stored region that covers it, -1 if there is none.

    No two stored regions may be equal.
    """
    found, regions = np.full(len(query_rows), -1, np.int64), index.reconstruct_regions(query_rows)
    for start in range(0, len(query_rows), _BATCH_ROWS):
        some = query_rows[start : start + _BATCH_ROWS]
        asked_regions = regions.take(np.arange(start, start + len(some)))
        pairs = index.find_covering(asked_regions, limit=2)  # one of the two may be itself
        asked, stored = pairs.query_rows.astype(np.int64), pairs.stored_rows.astype(np.int64)
        other = stored != some[asked]
        found[start + asked[other][::-1]] = stored[other][::-1]  # the first that was found
    return found


@dataclass(frozen=True, slots=True)
class CoverForest:
    """For each region one that covers it and that nothing covers: its own row, if it is that.

    `index` has the regions at `distinct_rows`, in their order.
    """

    root_rows: Rows
    distinct_rows: Rows
    index: SegmentIndex

    @classmethod
    def build(
        cls, regions: Regions, equal_rows: Rows, find_covers: Callable[[SegmentIndex], Rows]
    ) -> CoverForest:
        """From what `find_equal_rows` gave.

        `find_covers` is `find_covering_rows` for all rows of an index.
        """
        rows = np.arange(len(regions))
        distinct = np.flatnonzero(equal_rows == rows)
        index, by = SegmentIndex.build(regions.take(distinct)), rows.copy()
        by[distinct] = distinct[find_chain_roots(find_covers(index))]
        return cls(by[equal_rows], distinct, index)


def find_chain_roots(pointers: Rows) -> Rows:
    """For each row the end of its chain of pointers, of which -1 is the end.

    Regions that cover each other though they are spelled differently, as balls can be, point in a
    circle: the first of them is the end.

    >>> find_chain_roots(np.array([1, 2, -1, 4, 3])).tolist()
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
