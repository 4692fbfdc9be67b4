"""Segments with many levels or with coarse codes give the same answers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.index import Index, SegmentIndex
from covey.index.segment import bitmap_tree
from covey.space import Events
from covey.testing.index_contract import IndexCase, IndexContract, index_cases
from covey.workload import create_workload
from tests.index.same import build_segment, check


class TestManyLevels(IndexContract):
    def build(self, regions: Regions) -> Index:
        return build_segment(regions, node=2, boundaries=1000, mostly=0.97)


class TestFewBoundaries(IndexContract):
    """Most ends share their code with other keys, and are stored one by one."""

    def build(self, regions: Regions) -> Index:
        return build_segment(regions, node=3, boundaries=2, mostly=2.0)


class TestOneBoundary(IndexContract):
    """Nearly all ends are stored, column by column."""

    def build(self, regions: Regions) -> Index:
        return build_segment(regions, node=1024, boundaries=1, mostly=0.0)


@given(index_cases(), st.sampled_from([2, 1024]), st.sampled_from([1, 3, 1000]))
def test_a_sample_changes_no_answer(case: IndexCase, node: int, boundaries: int) -> None:
    segment = build_segment(case.stored_regions, node, boundaries, 0.5, case.query_events)
    check(segment, case.stored_regions, case.query_regions, case.query_events)


@pytest.mark.parametrize("name", ["uniform-boxes-4", "alerts", "skewed", "classifieds"])
def test_workloads_have_the_same_answers_with_many_levels_and_samples(name: str) -> None:
    workload = create_workload(name)
    regions = workload.generate_regions(0, 700)
    events = Events.from_arrow(workload.generate_events(0, 60), workload.space)
    query = Regions.concat([workload.generate_regions(700, 740), regions.take(np.arange(9))])
    for sample in (None, events.take(np.arange(30))):
        segment = build_segment(regions, node=6, boundaries=40, mostly=0.97, sample=sample)
        assert len(levels(segment)) >= 3
        check(segment, regions, query, events)


def test_3000_regions_make_two_levels() -> None:
    workload = create_workload("uniform-boxes-4")
    regions = workload.generate_regions(0, 3000)
    segment = SegmentIndex.build(regions)
    root, leaves = levels(segment)
    assert len(root) == 2
    assert np.diff(leaves).max() <= bitmap_tree.MAX_CHILDREN
    events = Events.from_arrow(workload.generate_events(0, 40), workload.space)
    check(segment, regions, workload.generate_regions(3000, 3040), events)


def levels(segment: SegmentIndex) -> list[NDArray[np.int64]]:
    """Return the child offsets of the nodes, level by level."""
    arrays = segment.to_arrays()
    return [arrays[name] for name in sorted(arrays) if name.endswith(".children")]
