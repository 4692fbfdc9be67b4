"""Regions that no other one of their batch covers, and under which of them the others are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.index import Index, Scan, Segment

__all__ = ["FEW", "index_of", "maximal"]

Rows = NDArray[np.int64]
FEW = 256
"""How many regions are tried one by one rather than indexed."""


def index_of(regions: Regions) -> Index:
    """An index that costs little to make."""
    return Scan(regions) if len(regions) <= FEW else Segment.build(regions)


def maximal(regions: Regions) -> Rows:
    """For each region the row of one that covers it and is under no other; its own if it is that.

    Equal regions cover each other: the first of them counts. Cost: that of all pairs of which one
    covers the other, so a square where all do; batches should be small.
    """
    count = len(regions)
    pairs = index_of(regions).covering(regions)
    inner, outer = pairs.asked.astype(np.int64), pairs.stored.astype(np.int64)
    is_equal = np.isin(outer * count + inner, inner * count + outer)
    counts = (outer != inner) & ~(is_equal & (outer > inner))
    inner, outer = inner[counts], outer[counts]
    under = np.arange(count)
    is_covered = np.zeros(count, np.bool_)
    is_covered[inner] = True
    of_tops = ~is_covered[outer]
    under[inner[of_tops]] = outer[of_tops]
    return under
