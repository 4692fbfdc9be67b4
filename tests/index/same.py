"""Segments that are built to be deep and vague, and whether they answer as a scan does."""

from __future__ import annotations

import numpy as np
import pytest

from covey.geometry import Regions
from covey.index import BruteForceIndex, Pairs, SegmentIndex
from covey.index.segment import bitmap_tree, codebook, coded_boxes
from covey.index.segment.build import builder
from covey.space import Events


def built(
    regions: Regions, node: int, boundaries: int, mostly: float, sample: Events | None = None
) -> SegmentIndex:
    """A segment whose nodes have so few children and whose codes tell so few ends apart."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bitmap_tree, "MAX_CHILDREN", node)
        patch.setattr(builder, "MAX_CHILDREN", node)
        patch.setattr(codebook, "MAX_BOUNDARIES", boundaries)
        patch.setattr(coded_boxes, "_MOSTLY_ODD_SHARE", mostly)
        return SegmentIndex.build(regions, sample)


def check(segment: SegmentIndex, stored: Regions, asked: Regions, events: Events) -> None:
    """Compares the answers to every question."""
    scan = BruteForceIndex(stored)
    same(segment.match(events), scan.match(events))
    every = scan.find_covering(asked)
    same(segment.find_covering(asked), every)
    same(segment.find_covered(asked), scan.find_covered(asked))
    same(segment.find_overlapping(asked), scan.find_overlapping(asked))
    for limit in (0, 1, 3, len(stored) + 1):
        some = segment.find_covering(asked, limit=limit)
        assert set(some) <= set(every)
        there = np.bincount(every.query_rows, minlength=len(asked))
        found = np.bincount(some.query_rows, minlength=len(asked))
        assert found.tolist() == np.minimum(there, limit).tolist()


def same(answer: Pairs, right: Pairs) -> None:
    """Whether two answers have the same pairs, and this one in the order that is promised."""
    assert (np.diff(answer.query_rows) >= 0).all()
    again = Pairs.from_unsorted(answer.query_rows, answer.stored_rows)
    assert again.query_rows.tolist() == right.query_rows.tolist()
    assert again.stored_rows.tolist() == right.stored_rows.tolist()
