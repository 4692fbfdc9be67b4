"""Equal regions, covers and the tops of chains, beside plain loops."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from covey.compact.boxes import Boxes
from covey.compact.covering import covers_of, equal_rows, tops
from covey.geometry import Regions
from covey.index import Scan, Segment
from covey.testing.strategies import regions, spaces
from tests.compact.grid import many, portions, within


@given(many())
def test_equal_regions_have_the_first_of_them(some: Regions) -> None:
    inside = within(some)
    equal = equal_rows(Boxes.of(some)).tolist()
    assert [inside[i] for i in equal] == inside
    rows = Boxes.of(some)
    spelled = list(zip(rows.lower.tolist(), rows.upper.tolist(), rows.rest.tolist(), strict=True))
    assert equal == [spelled.index(row) for row in spelled]


@given(st.data())
def test_a_repeated_region_is_equal(data: st.DataObject) -> None:
    some = data.draw(regions(data.draw(spaces()), 6))
    count = len(some)
    twice = Boxes.of(Regions.concat([some, some.take(np.arange(count)[::-1])]))
    equal = equal_rows(twice)
    assert (equal[count:] == equal[:count][::-1]).all()


@given(st.data())
def test_covers_are_found_whichever_rows_are_asked_together(data: st.DataObject) -> None:
    some = data.draw(regions(data.draw(spaces()), 12) | many())
    some = some.take(np.unique(equal_rows(Boxes.of(some))))
    every = set(Scan(some).covering(some))
    index = Segment.build(some)
    found = covers_of(index, np.arange(len(some)))
    for row, cover in enumerate(found.tolist()):
        others = {outer for inner, outer in every if inner == row and outer != row}
        assert cover in others if others else cover == -1
    for rows in portions(data.draw, len(some)):
        assert covers_of(index, rows).tolist() == found[rows].tolist()


@given(st.data(), st.integers(1, 40))
def test_tops_are_where_walking_ends(data: st.DataObject, count: int) -> None:
    pointers = np.array(
        data.draw(st.lists(st.integers(-1, count - 1), min_size=count, max_size=count)), np.int64
    )
    for row, top in enumerate(tops(pointers).tolist()):
        at = row
        for _ in range(count):
            at = at if pointers[at] < 0 else int(pointers[at])
        circle = {at}
        while pointers[at] >= 0 and (at := int(pointers[at])) not in circle:
            circle.add(at)
        assert top == min(circle)
