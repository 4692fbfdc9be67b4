"""Covering: regions that are equal to another one, or covered by another one.

The index is queried for any portions of rows; each result depends on its own row only, so that
tasks can share the work. The results are pointers from covered regions to regions that cover them.
At the end of a chain of pointers is a region that no other covers.

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
    """Return for each region the first row that is equal to it, which may be its own."""
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

    No two stored regions may be equal.
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
    """Covering pointers of all regions, followed to their ends.

    Args:
        root_rows: for each region a region that covers it and that no other one covers, which may
            be itself.
        distinct_rows: the first row of each set of equal regions.
        index: the regions of `distinct_rows`, in their order.
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
            equal_rows: for each region the first row equal to it, as `find_equal_rows` returns it.
            find_covers: applies `find_covering_rows` to all rows of an index.
        """
        rows = np.arange(len(regions))
        distinct = np.flatnonzero(equal_rows == rows)
        index, root_rows = SegmentIndex.build(regions.take(distinct)), rows.copy()
        root_rows[distinct] = distinct[find_chain_roots(find_covers(index))]
        return cls(root_rows[equal_rows], distinct, index)


def find_chain_roots(pointers: Rows) -> Rows:
    """Return for each row the end of its chain of pointers; the pointer of an end is -1.

    Regions can cover each other although they are written differently, for example as balls. Such
    regions point in a circle; its first row is then the end.

    >>> find_chain_roots(np.array([1, 2, -1, 4, 3])).tolist()
    [2, 2, 2, 3, 3]
    """
    rows = np.arange(len(pointers))
    ahead = np.where(pointers < 0, rows, pointers)
    least = np.minimum(rows, ahead)  # the smallest row on the way
    for _ in range(len(pointers).bit_length()):
        least = np.minimum(least, least[ahead])
        further = ahead[ahead]
        if (further == ahead).all():
            break
        ahead = further
    ends: Rows = least[ahead]  # all chains have reached their end or their circle
    return ends
