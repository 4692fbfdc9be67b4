"""The regions that a segment gives back mean what was stored."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.geometry import Regions
from covey.geometry.relations import covers
from covey.index import SegmentIndex
from covey.testing.index_contract import IndexCase, index_cases
from covey.workload import create_workload
from tests.index.same import built


def same_meaning(some: Regions, other: Regions) -> None:
    """Whether row i of one and row i of the other cover each other, and are spelled alike."""
    rows = np.arange(len(some))
    assert len(some) == len(other)
    assert covers(some, rows, other, rows).all()
    assert covers(other, rows, some, rows).all()
    assert {name for name, given_rows in some.constraints.items() if len(given_rows.rows)} == {
        name for name, given_rows in other.constraints.items() if len(given_rows.rows)
    }


@given(index_cases(), st.data(), st.sampled_from([1, 3, 1000]), st.sampled_from([0.0, 0.5, 2.0]))
def test_rows_come_back_in_any_order(
    case: IndexCase, data: st.DataObject, boundaries: int, mostly: float
) -> None:
    """As often as they are named, from few boundaries or many."""
    count = len(case.stored_regions)
    some = st.lists(st.integers(0, max(0, count - 1)), max_size=12 if count else 0)
    rows = np.array(data.draw(some), np.int64)
    segment = built(case.stored_regions, node=2, boundaries=boundaries, mostly=mostly)
    same_meaning(segment.reconstruct_regions(rows), case.stored_regions.take(rows))


@pytest.mark.parametrize("name", ["uniform-boxes-4", "alerts", "skewed", "classifieds"])
def test_regions_of_real_shapes_come_back(name: str) -> None:
    regions = create_workload(name).generate_regions(0, 2000)
    rows = np.random.default_rng(1).integers(0, 2000, 3000)
    same_meaning(SegmentIndex.build(regions).reconstruct_regions(rows), regions.take(rows))


def test_a_segment_of_what_came_back_is_the_same() -> None:
    regions = create_workload("alerts").generate_regions(0, 500)
    rows = np.arange(500)
    first = SegmentIndex.build(regions)
    again = SegmentIndex.build(first.reconstruct_regions(rows))
    one, two = first.to_arrays(), again.to_arrays()
    assert one.keys() == two.keys()
    assert all(np.array_equal(one[name], two[name]) for name in one)
