"""Covering: regions that are equal to another region, or covered by one.

The index can be queried with any portions of rows, because the result of a row does not depend on
the other query rows; so tasks can share the work. The results are pointers: each covered region
points to a region that covers it. At the end of a chain of pointers is a region that no other
region covers.

Cost: a sort of all boxes, a search in the index for each query row, and a few passes over the
pointers.
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
    """Return for each region the first row with an equal region, which may be its own row.

    Regions are equal if they have the same box and the same residual id.
    """
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
    """Return for each query row the row of another stored region that covers it, or -1.

    Query rows are rows of stored regions as well. No two stored regions may be equal.
    """
    covering_rows = np.full(len(query_rows), -1, np.int64)
    regions = index.reconstruct_regions(query_rows)
    for start in range(0, len(query_rows), _BATCH_ROWS):
        batch_rows = query_rows[start : start + _BATCH_ROWS]
        batch = regions.take(np.arange(start, start + len(batch_rows)))
        pairs = index.find_covering(batch, limit=2)  # one of the two may be the region itself
        queried, stored = pairs.query_rows.astype(np.int64), pairs.stored_rows.astype(np.int64)
        other = stored != batch_rows[queried]
        # Reversed, so that of two pairs of a query row the first one remains.
        covering_rows[start + queried[other][::-1]] = stored[other][::-1]
    return covering_rows


@dataclass(frozen=True, slots=True)
class CoverForest:
    """Roots of regions: for each region a region that covers it and that no other region covers.

    The root of a region is the end of its chain of pointers. Of regions that cover each other, only
    one is a root.

    Args:
        root_rows: for each region the row of its root, which may be its own row.
        distinct_rows: the first row of each set of equal regions, ascending.
        index: an index of the regions at `distinct_rows`, in this order.
    """

    root_rows: Rows
    distinct_rows: Rows
    index: SegmentIndex

    @classmethod
    def build(
        cls, regions: Regions, equal_rows: Rows, find_covers: Callable[[SegmentIndex], Rows]
    ) -> CoverForest:
        """Build the forest of these regions.

        Args:
            regions: all regions.
            equal_rows: for each region the first row with an equal region, as `find_equal_rows`
                returns it.
            find_covers: a function that applies `find_covering_rows` to all rows of an index.
        """
        rows = np.arange(len(regions))
        distinct = np.flatnonzero(equal_rows == rows)
        index, root_rows = SegmentIndex.build(regions.take(distinct)), rows.copy()
        root_rows[distinct] = distinct[find_chain_roots(find_covers(index))]
        return cls(root_rows[equal_rows], distinct, index)


def find_chain_roots(pointers: Rows) -> Rows:
    """Return for each row the end of its chain of pointers; the pointer of an end is -1.

    Two regions can cover each other although they are written differently, for example as balls.
    The pointers of such regions form a circle. The end of a chain that leads into a circle is the
    smallest row of the circle.

    >>> find_chain_roots(np.array([1, 2, -1, 4, 3])).tolist()
    [2, 2, 2, 3, 3]
    """
    rows = np.arange(len(pointers))
    ahead = np.where(pointers < 0, rows, pointers)
    least = np.minimum(rows, ahead)  # the smallest row on the path so far
    for _ in range(len(pointers).bit_length()):
        least = np.minimum(least, least[ahead])
        further = ahead[ahead]
        if (further == ahead).all():
            break
        ahead = further
    ends: Rows = least[ahead]  # all chains have reached their end or their circle
    return ends
