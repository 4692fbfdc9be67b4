"""What is kept has the union of all, and whoever is absorbed is within those that absorb it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey import Space, parse
from covey.covering.absorber_index import AbsorberIndex
from covey.covering.region_boxes import RegionBoxes
from covey.covering.subsumption import Subsumption, find_subsumed
from covey.geometry import Regions
from covey.index import BruteForceIndex
from covey.testing.strategies import events, regions, spaces
from tests.covering.grid import many, parsed, portions, union, within

LIST, TAG = "x IN (0, 2, 9)", "array_contains(t, 'a')"
BALL = "vector_l2_distance(v, array(0f, 1f)) <= 1f"


def asked(some: Regions, budget: int = 64) -> tuple[AbsorberIndex, Subsumption]:
    absorbing = AbsorberIndex.build(RegionBoxes.from_regions(some))
    return absorbing, find_subsumed(absorbing, np.arange(len(some)), budget)


@given(many())
def test_the_union_of_the_kept_is_the_union_of_all(some: Regions) -> None:
    absorbing, found = asked(some)
    assert union(some.take(np.flatnonzero(~found.is_absorbed))) == union(some)
    inside = within(some)
    for row in np.flatnonzero(found.is_absorbed).tolist():
        by = found.absorbers.row(row).tolist()
        assert inside[row] <= set().union(*(inside[other] for other in by))
        assert (absorbing.ranks[by] < absorbing.ranks[row]).all()


@given(many())
def test_a_witness_is_in_none_before(some: Regions) -> None:
    boxes = RegionBoxes.from_regions(some)
    simple = some.take(np.flatnonzero(boxes.residual_ids == 0))
    absorbing, found = asked(simple, 10_000)
    assert (found.is_absorbed != found.is_witnessed).all()
    inside = within(simple)
    for row in np.flatnonzero(found.is_witnessed).tolist():
        before = np.flatnonzero(absorbing.ranks < absorbing.ranks[row]).tolist()
        names = {axis.name for axis in absorbing.boxes.axes}
        if names <= {"x", "y"}:  # of which the grid has every value between two ends
            assert not inside[row] <= set().union(*(inside[other] for other in before))


@given(st.data())
def test_the_result_does_not_depend_on_what_is_asked_together(data: st.DataObject) -> None:
    some = data.draw(many())
    absorbing, whole = asked(some)
    for rows in portions(data.draw, len(some)):
        part = find_subsumed(absorbing, rows, 64)
        assert part.is_witnessed.tolist() == whole.is_witnessed[rows].tolist()
        again = whole.absorbers.take(rows)
        assert part.absorbers.offsets.tolist() == again.offsets.tolist()
        assert part.absorbers.values.tolist() == again.values.tolist()


@given(st.data())
def test_no_event_is_lost_in_any_space(data: st.DataObject) -> None:
    space = data.draw(spaces())
    some, these = data.draw(regions(space, max_regions=16)), data.draw(events(space, max_events=16))
    _, found = asked(some)
    kept = some.take(np.flatnonzero(~found.is_absorbed))
    before, after = BruteForceIndex(some).match(these), BruteForceIndex(kept).match(these)
    assert set(before.query_rows.tolist()) == set(after.query_rows.tolist())


@given(many(), st.integers(0, 3))
def test_no_more_are_taken_out_than_the_budget_allows(some: Regions, budget: int) -> None:
    _, found = asked(some, budget)
    assert found.absorbers.lengths.max(initial=0) <= budget
    _, free = asked(some, 10_000)
    assert not free.is_out_of_budget.any()
    assert (found.is_absorbed <= free.is_absorbed).all()
    assert (found.is_witnessed <= free.is_witnessed).all()


@given(many(40))
def test_absorbers_come_before_what_they_absorb_and_hold_it(some: Regions) -> None:
    absorbing, found = asked(some)
    inside = within(some)
    for row in np.flatnonzero(found.is_absorbed).tolist():
        by = found.absorbers.row(row)
        assert (absorbing.ranks[by] < absorbing.ranks[row]).all()
        assert inside[row] <= set().union(*(inside[other] for other in by.tolist()))


def test_where_many_hold_a_point_one_that_counts_is_found() -> None:
    small = [f"x BETWEEN {-n} AND {n}" for n in range(1, 60)]
    absorbing, found = asked(parsed(*small, "x <= 70", "x >= -80"))
    every = found.absorbers.lengths
    assert (every[:59] == 1).all()
    assert (absorbing.ranks[found.absorbers.values] < absorbing.ranks[:59]).all()


def test_where_very_many_hold_a_point_some_are_looked_at() -> None:
    wide = [f"x BETWEEN {n} AND {n + 400}" for n in range(0, 600, 2)]
    some = parsed(*wide, *[f"x BETWEEN {n} AND {n + 450}" for n in range(0, 600, 100)])
    absorbing, found = asked(some, 8)
    assert absorbing.is_crowded
    assert found.is_absorbed.any()
    ends = [(n, n + 400) for n in range(0, 600, 2)] + [(n, n + 450) for n in range(0, 600, 100)]
    for row in np.flatnonzero(found.is_absorbed).tolist():
        mine = set(range(ends[row][0], ends[row][1] + 1))
        by = [set(range(ends[n][0], ends[n][1] + 1)) for n in found.absorbers.row(row).tolist()]
        assert mine <= set().union(*by)
    halves = [find_subsumed(absorbing, rows, 8) for rows in np.array_split(np.arange(len(some)), 3)]
    again = np.concatenate([half.is_absorbed for half in halves])
    assert again.tolist() == found.is_absorbed.tolist()


def test_whole_numbers_that_touch_leave_nothing_between() -> None:
    _, found = asked(parsed("x <= 3", "x BETWEEN 4 AND 99", "x BETWEEN 2 AND 5"))
    assert found.absorbers.row(2).tolist() == [0, 1]
    _, found = asked(parsed("x <= 3", "x BETWEEN 5 AND 99", "x BETWEEN 2 AND 6"))
    assert found.is_witnessed.all()


def test_null_has_to_be_taken_too() -> None:
    one, other, third = "x >= 0", "x < 0 AND y > 1", "y > 2 AND s = 'a'"
    _, found = asked(parsed(one, other, third))
    assert not found.is_absorbed.any()
    _, found = asked(parsed(one, other, third, "x IS NULL AND s > '' AND s < 'b'"))
    assert found.absorbers.row(2).tolist() == [0, 1, 3]


@pytest.mark.parametrize(
    ("texts", "is_absorbed"),
    [
        (["s < 'm'", "s >= 'm'", "s LIKE 'k%'"], True),
        (["s < 'm'", "s >= 'm' AND x > 0", "s BETWEEN 'k' AND 'z' AND x > 2"], True),
        (["s < 'm'", "s > 'm'", "s BETWEEN 'k' AND 'z'"], False),
        (["x > 1", "x < 4", "x IN (0, 2, 9)"], True),
        ([f"{LIST} AND y > 1", f"{LIST} AND y < 4", f"{LIST} AND y BETWEEN 1 AND 4"], True),
        ([f"{LIST} AND y > 1", "x IN (0, 2, 8) AND y < 4", f"{LIST} AND y BETWEEN 1 AND 4"], False),
        ([f"{TAG} AND x > 1", "x < 4", f"{TAG} AND x BETWEEN 1 AND 4"], True),
        (["array_contains(t, 'b') AND x > 1", "x < 4", f"{TAG} AND x BETWEEN 1 AND 4"], False),
        (["x > 1", "x < 4", f"{TAG} AND x BETWEEN 1 AND 4"], True),
        ([f"{BALL} AND x > 1", f"{BALL} AND x < 4", f"{BALL} AND x BETWEEN 1 AND 4"], True),
    ],
)  # fmt: skip
def test_a_union_of_two_has_a_third(texts: list[str], is_absorbed: bool) -> None:
    space = Space.from_types(
        {
            "x": pa.int32(), "y": pa.int32(), "s": pa.string(), "t": pa.list_(pa.string()),
            "v": pa.list_(pa.float32(), 2),
        }
    )  # fmt: skip
    found = parse(space, texts)
    assert len(found.regions) == 3
    _, result = asked(found.regions)
    assert result.is_absorbed.tolist() == [False, False, is_absorbed]
