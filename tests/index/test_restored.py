"""Regions that a segment reconstructs are equal to the stored ones."""

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
from tests.index.same import build_segment


def same_meaning(first: Regions, other: Regions) -> None:
    """Fail unless row i of both batches cover each other and constrain the same attributes."""
    rows = np.arange(len(first))
    assert len(first) == len(other)
    assert covers(first, rows, other, rows).all()
    assert covers(other, rows, first, rows).all()
    assert {name for name, given_rows in first.constraints.items() if len(given_rows.rows)} == {
        name for name, given_rows in other.constraints.items() if len(given_rows.rows)
    }


@given(index_cases(), st.data(), st.sampled_from([1, 3, 1000]), st.sampled_from([0.0, 0.5, 2.0]))
def test_rows_are_reconstructed_in_any_order(
    case: IndexCase, data: st.DataObject, boundaries: int, mostly: float
) -> None:
    """Rows may repeat, and codebooks may have few boundaries or many."""
    count = len(case.stored_regions)
    row_lists = st.lists(st.integers(0, max(0, count - 1)), max_size=12 if count else 0)
    rows = np.array(data.draw(row_lists), np.int64)
    segment = build_segment(case.stored_regions, node=2, boundaries=boundaries, mostly=mostly)
    same_meaning(segment.reconstruct_regions(rows), case.stored_regions.take(rows))


@pytest.mark.parametrize("name", ["uniform-boxes-4", "alerts", "skewed", "classifieds"])
def test_regions_of_every_workload_are_reconstructed(name: str) -> None:
    regions = create_workload(name).generate_regions(0, 2000)
    rows = np.random.default_rng(1).integers(0, 2000, 3000)
    same_meaning(SegmentIndex.build(regions).reconstruct_regions(rows), regions.take(rows))


def test_a_segment_of_reconstructed_regions_is_the_same() -> None:
    regions = create_workload("alerts").generate_regions(0, 500)
    rows = np.arange(500)
    first = SegmentIndex.build(regions)
    again = SegmentIndex.build(first.reconstruct_regions(rows))
    first_arrays, second_arrays = first.to_arrays(), again.to_arrays()
    assert first_arrays.keys() == second_arrays.keys()
    assert all(np.array_equal(first_arrays[name], second_arrays[name]) for name in first_arrays)
