"""Equal rows, covering rows and roots of chains, compared with plain loops."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from covey.covering.cover_pointers import find_chain_roots, find_covering_rows, find_equal_rows
from covey.covering.region_boxes import RegionBoxes
from covey.geometry import Regions
from covey.index import BruteForceIndex, SegmentIndex
from covey.testing.strategies import regions, spaces
from tests.covering.grid import find_events_by_region, portions, region_batches


@given(region_batches())
def test_equal_regions_point_to_the_first_of_them(stored: Regions) -> None:
    inside = find_events_by_region(stored)
    equal = find_equal_rows(RegionBoxes.from_regions(stored)).tolist()
    assert [inside[i] for i in equal] == inside
    rows = RegionBoxes.from_regions(stored)
    spelled = list(
        zip(rows.lower.tolist(), rows.upper.tolist(), rows.residual_ids.tolist(), strict=True)
    )
    assert equal == [spelled.index(row) for row in spelled]


@given(st.data())
def test_a_repeated_region_is_equal(data: st.DataObject) -> None:
    stored = data.draw(regions(data.draw(spaces()), max_regions=6))
    count = len(stored)
    twice = RegionBoxes.from_regions(Regions.concat([stored, stored.take(np.arange(count)[::-1])]))
    equal = find_equal_rows(twice)
    assert (equal[count:] == equal[:count][::-1]).all()


@given(st.data())
def test_covers_do_not_depend_on_the_rows_queried_together(data: st.DataObject) -> None:
    stored = data.draw(regions(data.draw(spaces()), max_regions=12) | region_batches())
    stored = stored.take(np.unique(find_equal_rows(RegionBoxes.from_regions(stored))))
    every = set(BruteForceIndex(stored).find_covering(stored))
    index = SegmentIndex.build(stored)
    cover_rows = find_covering_rows(index, np.arange(len(stored)))
    for row, cover in enumerate(cover_rows.tolist()):
        others = {outer for inner, outer in every if inner == row and outer != row}
        assert cover in others if others else cover == -1
    for rows in portions(data.draw, len(stored)):
        assert find_covering_rows(index, rows).tolist() == cover_rows[rows].tolist()


@given(st.data(), st.integers(1, 40))
def test_the_root_of_a_chain_is_where_its_pointers_end(data: st.DataObject, count: int) -> None:
    pointers = np.array(
        data.draw(st.lists(st.integers(-1, count - 1), min_size=count, max_size=count)), np.int64
    )
    for row, top in enumerate(find_chain_roots(pointers).tolist()):
        node = row
        for _ in range(count):
            node = node if pointers[node] < 0 else int(pointers[node])
        circle = {node}
        while pointers[node] >= 0 and (node := int(pointers[node])) not in circle:
            circle.add(node)
        assert top == min(circle)
