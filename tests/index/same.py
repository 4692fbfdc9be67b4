"""Segments that are built to be deep and vague, and whether they answer as a scan does."""

from __future__ import annotations

import numpy as np
import pytest

from covey.geometry import Regions
from covey.index import Pairs, Scan, Segment, boxes, build, codes, tree
from covey.space import Events


def built(
    regions: Regions, node: int, boundaries: int, mostly: float, sample: Events | None = None
) -> Segment:
    """A segment whose nodes have so few children and whose codes tell so few ends apart."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree, "NODE", node)
        patch.setattr(build, "NODE", node)
        patch.setattr(codes, "MAX_BOUNDARIES", boundaries)
        patch.setattr(boxes, "_MOSTLY", mostly)
        return Segment.build(regions, sample)


def check(segment: Segment, stored: Regions, asked: Regions, events: Events) -> None:
    """Compares the answers to every question."""
    scan = Scan(stored)
    same(segment.matching(events), scan.matching(events))
    every = scan.covering(asked)
    same(segment.covering(asked), every)
    same(segment.covered_by(asked), scan.covered_by(asked))
    same(segment.overlapping(asked), scan.overlapping(asked))
    for limit in (0, 1, 3, len(stored) + 1):
        some = segment.covering(asked, limit)
        assert set(some) <= set(every)
        there = np.bincount(every.asked, minlength=len(asked))
        found = np.bincount(some.asked, minlength=len(asked))
        assert found.tolist() == np.minimum(there, limit).tolist()


def same(answer: Pairs, right: Pairs) -> None:
    """Whether two answers have the same pairs, and this one in the order that is promised."""
    assert (np.diff(answer.asked) >= 0).all()
    again = Pairs.of(answer.asked, answer.stored)
    assert again.asked.tolist() == right.asked.tolist()
    assert again.stored.tolist() == right.stored.tolist()
