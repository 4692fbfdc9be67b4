"""The hybrid passes the contract of every index, and proposes few."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey import Events, Space, parse
from covey.geometry import Regions
from covey.geometry.ranges import Ranges
from covey.index import Index, Scan
from covey.index.hybrid import Hybrid
from covey.index.kernels.curve import curve_parts
from covey.testing.contract import IndexContract
from covey.workload import UniformBoxes, ZipfBoxes


class TestHybrid(IndexContract):
    def build(self, regions: Regions) -> Index:
        return Hybrid.build(regions)


class TestHybridOfFewCells(IndexContract):
    """Two cells an attribute and one range a region: cells tell little, answers are the same."""

    def build(self, regions: Regions) -> Index:
        return Hybrid.build(regions, bits=1, most=1)


class TestHybridOfAllScalars(IndexContract):
    def build(self, regions: Regions) -> Index:
        scalar = [a.name for a in regions.space if a.type.is_scalar]
        return Hybrid.build(regions, scalar, bits=3, most=4)


@pytest.mark.parametrize("workload", [UniformBoxes(3, 0.2), ZipfBoxes(5, size=9, cells=32)])
def test_answers_on_many_regions_are_those_of_a_scan(workload: UniformBoxes | ZipfBoxes) -> None:
    stored, asked = workload.regions(0, 1500), workload.regions(1490, 1600)
    these = Events.from_arrow(workload.events(0, 200), workload.space)
    index, scan = Hybrid.build(stored, bits=5, most=8), Scan(stored)
    for mine, right in (
        (index.matching(these), scan.matching(these)),
        (index.covering(asked), scan.covering(asked)),
        (index.covered_by(asked), scan.covered_by(asked)),
        (index.overlapping(asked), scan.overlapping(asked)),
    ):
        assert len(right)
        assert set(mine) == set(right)


def test_proposals_are_few_and_contain_all_covers() -> None:
    workload = UniformBoxes(4, 0.3)
    stored, asked = workload.regions(0, 3000), workload.regions(0, 100)
    index = Hybrid.build(stored)
    covers = np.bincount(index.covering(asked).asked, minlength=100)
    meets = np.bincount(index.overlapping(asked).asked, minlength=100)
    assert (covers <= index.proposed(asked)).all()
    assert (meets <= index.proposed_overlaps(asked)).all()
    assert index.proposed(asked).mean() < 100
    assert index.proposed(asked).sum() < index.proposed_overlaps(asked).sum() < 100 * 3000


def test_regions_free_in_all_chosen_attributes_are_found() -> None:
    space = Space.of({"x": pa.int32(), "s": pa.string()})
    stored = parse(space, ["x BETWEEN 3 AND 4", "s = 'a'", "true"]).regions
    index = Hybrid.build(stored, ["x"])
    these = Events.from_arrow(
        pa.table({"x": pa.array([3, 9, None], pa.int32()), "s": ["b", "a", "a"]}), space
    )
    assert list(index.matching(these)) == [(0, 0), (0, 2), (1, 1), (1, 2), (2, 1), (2, 2)]


def test_many_candidates_are_taken_some_at_a_time() -> None:
    """Each of 1,200 regions is proposed for each: more pairs than are looked at together."""
    space = Space.of({"x": pa.int32()})
    stored = parse(space, ["x > 5"] * 1200).regions
    index = Hybrid.build(stored)
    assert len(index.covering(stored)) == len(index.covered_by(stored)) == 1200**2
    assert len(index.overlapping(stored)) == 1200**2
    assert index.proposed(stored).tolist() == [1200] * 1200


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 90)), min_size=1, max_size=5))
def test_parts_make_up_the_ranges(bounds: list[tuple[int, int]]) -> None:
    ranges = Ranges.of([a for a, _ in bounds], [a + n for a, n in bounds])
    parts, rows = curve_parts(np.array([0, len(ranges)]), ranges.first, ranges.last)
    sizes = parts & -parts
    starts = (parts - sizes) >> 1
    assert (starts % sizes == 0).all()
    assert Ranges.of(starts, starts + sizes - 1) == ranges
    assert sizes.sum() == ranges.count
    assert not rows.any()
