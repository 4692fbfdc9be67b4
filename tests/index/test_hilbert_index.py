"""`HilbertIndex` passes the contract of every index, and proposes few candidates."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey import Events, Space, parse
from covey.geometry import Regions
from covey.geometry.range_sets import RangeSet
from covey.index import BruteForceIndex, Index
from covey.index.hilbert.index import HilbertIndex
from covey.index.kernels.hilbert_blocks import find_curve_blocks
from covey.testing.index_contract import IndexContract
from covey.workload import UniformBoxes, ZipfBoxes


class TestHybrid(IndexContract):
    def build(self, regions: Regions) -> Index:
        return HilbertIndex.build(regions)


class TestHybridOfFewCells(IndexContract):
    """Two cells per attribute, one range per region: cells prune little, answers do not change."""

    def build(self, regions: Regions) -> Index:
        return HilbertIndex.build(regions, bits=1, max_ranges=1)


class TestHybridOfAllScalars(IndexContract):
    def build(self, regions: Regions) -> Index:
        scalar = [a.name for a in regions.space if a.type.is_scalar]
        return HilbertIndex.build(regions, scalar, bits=3, max_ranges=4)


@pytest.mark.parametrize(
    "workload", [UniformBoxes(3, 0.2), ZipfBoxes(5, cells_per_side=9, cells_per_dimension=32)]
)
def test_answers_on_many_regions_equal_those_of_a_scan(workload: UniformBoxes | ZipfBoxes) -> None:
    stored, query = workload.generate_regions(0, 1500), workload.generate_regions(1490, 1600)
    query_events = Events.from_arrow(workload.generate_events(0, 200), workload.space)
    index, scan = HilbertIndex.build(stored, bits=5, max_ranges=8), BruteForceIndex(stored)
    for answer, expected in (
        (index.match(query_events), scan.match(query_events)),
        (index.find_covering(query), scan.find_covering(query)),
        (index.find_covered(query), scan.find_covered(query)),
        (index.find_overlapping(query), scan.find_overlapping(query)),
    ):
        assert len(expected)
        assert set(answer) == set(expected)


def test_candidates_are_few_and_contain_all_covers() -> None:
    workload = UniformBoxes(4, 0.3)
    stored, query = workload.generate_regions(0, 3000), workload.generate_regions(0, 100)
    index = HilbertIndex.build(stored)
    covers = np.bincount(index.find_covering(query).query_rows, minlength=100)
    meets = np.bincount(index.find_overlapping(query).query_rows, minlength=100)
    assert (covers <= index.count_covering_candidates(query)).all()
    assert (meets <= index.count_overlapping_candidates(query)).all()
    assert index.count_covering_candidates(query).mean() < 100
    assert (
        index.count_covering_candidates(query).sum()
        < index.count_overlapping_candidates(query).sum()
        < 100 * 3000
    )


def test_regions_without_indexed_constraints_are_found() -> None:
    space = Space.from_types({"x": pa.int32(), "s": pa.string()})
    stored = parse(space, ["x BETWEEN 3 AND 4", "s = 'a'", "true"]).regions
    index = HilbertIndex.build(stored, ["x"])
    query_events = Events.from_arrow(
        pa.table({"x": pa.array([3, 9, None], pa.int32()), "s": ["b", "a", "a"]}), space
    )
    assert list(index.match(query_events)) == [(0, 0), (0, 2), (1, 1), (1, 2), (2, 1), (2, 2)]


def test_many_candidates_are_verified_in_batches() -> None:
    """Each of 1,200 regions is a candidate for each: more pairs than fit one batch."""
    space = Space.from_types({"x": pa.int32()})
    stored = parse(space, ["x > 5"] * 1200).regions
    index = HilbertIndex.build(stored)
    assert len(index.find_covering(stored)) == len(index.find_covered(stored)) == 1200**2
    assert len(index.find_overlapping(stored)) == 1200**2
    assert index.count_covering_candidates(stored).tolist() == [1200] * 1200


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 90)), min_size=1, max_size=5))
def test_curve_blocks_make_up_the_ranges(bounds: list[tuple[int, int]]) -> None:
    ranges = RangeSet.from_ranges([a for a, _ in bounds], [a + n for a, n in bounds])
    parts, rows = find_curve_blocks(np.array([0, len(ranges)]), ranges.first, ranges.last)
    sizes = parts & -parts
    starts = (parts - sizes) >> 1
    assert (starts % sizes == 0).all()
    assert RangeSet.from_ranges(starts, starts + sizes - 1) == ranges
    assert sizes.sum() == ranges.count
    assert not rows.any()
