"""Segments with deep trees and coarse codes, and a comparison of their answers with a scan."""

from __future__ import annotations

import numpy as np
import pytest

from covey.geometry import Regions
from covey.index import BruteForceIndex, Pairs, SegmentIndex
from covey.index.segment import bitmap_tree, coded_boxes, encoded_column
from covey.index.segment.build import builder
from covey.space import Events


def build_segment(
    regions: Regions, node: int, boundaries: int, mostly: float, sample: Events | None = None
) -> SegmentIndex:
    """Build a segment with few children per node and few boundaries per codebook."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bitmap_tree, "MAX_CHILDREN", node)
        patch.setattr(builder, "MAX_CHILDREN", node)
        patch.setattr(encoded_column, "MAX_BOUNDARIES", boundaries)
        patch.setattr(coded_boxes, "_MOSTLY_ODD_SHARE", mostly)
        return SegmentIndex.build(regions, sample)


def check(segment: SegmentIndex, stored: Regions, query: Regions, events: Events) -> None:
    """Compare the answers of all query types with those of a scan."""
    scan = BruteForceIndex(stored)
    same(segment.match(events), scan.match(events))
    every = scan.find_covering(query)
    same(segment.find_covering(query), every)
    same(segment.find_covered(query), scan.find_covered(query))
    same(segment.find_overlapping(query), scan.find_overlapping(query))
    for limit in (0, 1, 3, len(stored) + 1):
        limited = segment.find_covering(query, limit=limit)
        assert set(limited) <= set(every)
        expected = np.bincount(every.query_rows, minlength=len(query))
        returned = np.bincount(limited.query_rows, minlength=len(query))
        assert returned.tolist() == np.minimum(expected, limit).tolist()


def same(answer: Pairs, expected: Pairs) -> None:
    """Fail unless two answers have the same pairs, and the first one is in the documented order."""
    assert (np.diff(answer.query_rows) >= 0).all()
    again = Pairs.from_unsorted(answer.query_rows, answer.stored_rows)
    assert again.query_rows.tolist() == expected.query_rows.tolist()
    assert again.stored_rows.tolist() == expected.stored_rows.tolist()
