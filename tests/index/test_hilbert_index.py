"""The hybrid passes the contract of every index, and proposes few."""

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
    """Two cells an attribute and one range a region: cells tell little, answers are the same."""

    def build(self, regions: Regions) -> Index:
        return HilbertIndex.build(regions, bits=1, max_ranges=1)


class TestHybridOfAllScalars(IndexContract):
    def build(self, regions: Regions) -> Index:
        scalar = [a.name for a in regions.space if a.type.is_scalar]
        return HilbertIndex.build(regions, scalar, bits=3, max_ranges=4)


@pytest.mark.parametrize(
    "workload", [UniformBoxes(3, 0.2), ZipfBoxes(5, cells_per_side=9, cells_per_dimension=32)]
)
def test_answers_on_many_regions_are_those_of_a_scan(workload: UniformBoxes | ZipfBoxes) -> None:
    stored, asked = workload.generate_regions(0, 1500), workload.generate_regions(1490, 1600)
    these = Events.from_arrow(workload.generate_events(0, 200), workload.space)
    index, scan = HilbertIndex.build(stored, bits=5, max_ranges=8), BruteForceIndex(stored)
    for mine, right in (
        (index.match(these), scan.match(these)),
        (index.find_covering(asked), scan.find_covering(asked)),
        (index.find_covered(asked), scan.find_covered(asked)),
        (index.find_overlapping(asked), scan.find_overlapping(asked)),
    ):
        assert len(right)
        assert set(mine) == set(right)


def test_proposals_are_few_and_contain_all_covers() -> None:
    workload = UniformBoxes(4, 0.3)
    stored, asked = workload.generate_regions(0, 3000), workload.generate_regions(0, 100)
    index = HilbertIndex.build(stored)
    covers = np.bincount(index.find_covering(asked).query_rows, minlength=100)
    meets = np.bincount(index.find_overlapping(asked).query_rows, minlength=100)
    assert (covers <= index.count_covering_candidates(asked)).all()
    assert (meets <= index.count_overlapping_candidates(asked)).all()
    assert index.count_covering_candidates(asked).mean() < 100
    assert (
        index.count_covering_candidates(asked).sum()
        < index.count_overlapping_candidates(asked).sum()
        < 100 * 3000
    )


def test_regions_free_in_all_chosen_attributes_are_found() -> None:
    space = Space.from_types({"x": pa.int32(), "s": pa.string()})
    stored = parse(space, ["x BETWEEN 3 AND 4", "s = 'a'", "true"]).regions
    index = HilbertIndex.build(stored, ["x"])
    these = Events.from_arrow(
        pa.table({"x": pa.array([3, 9, None], pa.int32()), "s": ["b", "a", "a"]}), space
    )
    assert list(index.match(these)) == [(0, 0), (0, 2), (1, 1), (1, 2), (2, 1), (2, 2)]


def test_many_candidates_are_taken_some_at_a_time() -> None:
    """Each of 1,200 regions is proposed for each: more pairs than are looked at together."""
    space = Space.from_types({"x": pa.int32()})
    stored = parse(space, ["x > 5"] * 1200).regions
    index = HilbertIndex.build(stored)
    assert len(index.find_covering(stored)) == len(index.find_covered(stored)) == 1200**2
    assert len(index.find_overlapping(stored)) == 1200**2
    assert index.count_covering_candidates(stored).tolist() == [1200] * 1200


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 90)), min_size=1, max_size=5))
def test_parts_make_up_the_ranges(bounds: list[tuple[int, int]]) -> None:
    ranges = RangeSet.from_ranges([a for a, _ in bounds], [a + n for a, n in bounds])
    parts, rows = find_curve_blocks(np.array([0, len(ranges)]), ranges.first, ranges.last)
    sizes = parts & -parts
    starts = (parts - sizes) >> 1
    assert (starts % sizes == 0).all()
    assert RangeSet.from_ranges(starts, starts + sizes - 1) == ranges
    assert sizes.sum() == ranges.count
    assert not rows.any()
