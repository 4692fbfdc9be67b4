"""Equal regions, covers and the tops of chains, beside plain loops."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from covey.covering.cover_pointers import find_chain_roots, find_covering_rows, find_equal_rows
from covey.covering.region_boxes import RegionBoxes
from covey.geometry import Regions
from covey.index import BruteForceIndex, SegmentIndex
from covey.testing.strategies import regions, spaces
from tests.covering.grid import many, portions, within


@given(many())
def test_equal_regions_have_the_first_of_them(some: Regions) -> None:
    inside = within(some)
    equal = find_equal_rows(RegionBoxes.from_regions(some)).tolist()
    assert [inside[i] for i in equal] == inside
    rows = RegionBoxes.from_regions(some)
    spelled = list(
        zip(rows.lower.tolist(), rows.upper.tolist(), rows.residual_ids.tolist(), strict=True)
    )
    assert equal == [spelled.index(row) for row in spelled]


@given(st.data())
def test_a_repeated_region_is_equal(data: st.DataObject) -> None:
    some = data.draw(regions(data.draw(spaces()), max_regions=6))
    count = len(some)
    twice = RegionBoxes.from_regions(Regions.concat([some, some.take(np.arange(count)[::-1])]))
    equal = find_equal_rows(twice)
    assert (equal[count:] == equal[:count][::-1]).all()


@given(st.data())
def test_covers_are_found_whichever_rows_are_asked_together(data: st.DataObject) -> None:
    some = data.draw(regions(data.draw(spaces()), max_regions=12) | many())
    some = some.take(np.unique(find_equal_rows(RegionBoxes.from_regions(some))))
    every = set(BruteForceIndex(some).find_covering(some))
    index = SegmentIndex.build(some)
    found = find_covering_rows(index, np.arange(len(some)))
    for row, cover in enumerate(found.tolist()):
        others = {outer for inner, outer in every if inner == row and outer != row}
        assert cover in others if others else cover == -1
    for rows in portions(data.draw, len(some)):
        assert find_covering_rows(index, rows).tolist() == found[rows].tolist()


@given(st.data(), st.integers(1, 40))
def test_tops_are_where_walking_ends(data: st.DataObject, count: int) -> None:
    pointers = np.array(
        data.draw(st.lists(st.integers(-1, count - 1), min_size=count, max_size=count)), np.int64
    )
    for row, top in enumerate(find_chain_roots(pointers).tolist()):
        at = row
        for _ in range(count):
            at = at if pointers[at] < 0 else int(pointers[at])
        circle = {at}
        while pointers[at] >= 0 and (at := int(pointers[at])) not in circle:
            circle.add(at)
        assert top == min(circle)
