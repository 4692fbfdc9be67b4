"""Active regions keep the union of all, and absorbers contain what they absorb."""

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
from tests.covering.grid import (
    find_all_events,
    find_events_by_region,
    parse_regions,
    portions,
    region_batches,
)

LIST, TAG = "x IN (0, 2, 9)", "array_contains(t, 'a')"
BALL = "vector_l2_distance(v, array(0f, 1f)) <= 1f"


def find_absorbers(stored: Regions, budget: int = 64) -> tuple[AbsorberIndex, Subsumption]:
    absorbing = AbsorberIndex.build(RegionBoxes.from_regions(stored))
    return absorbing, find_subsumed(absorbing, np.arange(len(stored)), budget)


@given(region_batches())
def test_the_union_of_active_regions_is_the_union_of_all(stored: Regions) -> None:
    absorbing, predicates = find_absorbers(stored)
    assert find_all_events(stored.take(np.flatnonzero(~predicates.is_absorbed))) == find_all_events(
        stored
    )
    inside = find_events_by_region(stored)
    for row in np.flatnonzero(predicates.is_absorbed).tolist():
        by = predicates.absorbers.row(row).tolist()
        assert inside[row] <= set().union(*(inside[second] for second in by))
        assert (absorbing.ranks[by] < absorbing.ranks[row]).all()


@given(region_batches())
def test_a_witnessed_region_is_not_within_those_of_smaller_rank(stored: Regions) -> None:
    boxes = RegionBoxes.from_regions(stored)
    simple = stored.take(np.flatnonzero(boxes.residual_ids == 0))
    absorbing, predicates = find_absorbers(simple, 10_000)
    assert (predicates.is_absorbed != predicates.is_witnessed).all()
    inside = find_events_by_region(simple)
    for row in np.flatnonzero(predicates.is_witnessed).tolist():
        before = np.flatnonzero(absorbing.ranks < absorbing.ranks[row]).tolist()
        names = {axis.name for axis in absorbing.boxes.axes}
        if names <= {"x", "y"}:  # between two ends of these axes the grid has every value
            assert not inside[row] <= set().union(*(inside[second] for second in before))


@given(st.data())
def test_the_result_does_not_depend_on_the_rows_queried_together(data: st.DataObject) -> None:
    stored = data.draw(region_batches())
    absorbing, whole = find_absorbers(stored)
    for rows in portions(data.draw, len(stored)):
        part = find_subsumed(absorbing, rows, 64)
        assert part.is_witnessed.tolist() == whole.is_witnessed[rows].tolist()
        again = whole.absorbers.take(rows)
        assert part.absorbers.offsets.tolist() == again.offsets.tolist()
        assert part.absorbers.values.tolist() == again.values.tolist()


@given(st.data())
def test_no_event_is_lost_in_any_space(data: st.DataObject) -> None:
    space = data.draw(spaces())
    stored, drawn_events = (
        data.draw(regions(space, max_regions=16)),
        data.draw(events(space, max_events=16)),
    )
    _, predicates = find_absorbers(stored)
    active = stored.take(np.flatnonzero(~predicates.is_absorbed))
    before, after = (
        BruteForceIndex(stored).match(drawn_events),
        BruteForceIndex(active).match(drawn_events),
    )
    assert set(before.query_rows.tolist()) == set(after.query_rows.tolist())


@given(region_batches(), st.integers(0, 3))
def test_at_most_as_many_absorbers_are_subtracted_as_the_budget_allows(
    stored: Regions, budget: int
) -> None:
    _, predicates = find_absorbers(stored, budget)
    assert predicates.absorbers.lengths.max(initial=0) <= budget
    _, unbounded = find_absorbers(stored, 10_000)
    assert not unbounded.is_out_of_budget.any()
    assert (predicates.is_absorbed <= unbounded.is_absorbed).all()
    assert (predicates.is_witnessed <= unbounded.is_witnessed).all()


@given(region_batches(40))
def test_absorbers_have_smaller_ranks_and_contain_what_they_absorb(stored: Regions) -> None:
    absorbing, predicates = find_absorbers(stored)
    inside = find_events_by_region(stored)
    for row in np.flatnonzero(predicates.is_absorbed).tolist():
        by = predicates.absorbers.row(row)
        assert (absorbing.ranks[by] < absorbing.ranks[row]).all()
        assert inside[row] <= set().union(*(inside[second] for second in by.tolist()))


def test_an_absorber_is_found_if_many_regions_contain_a_point() -> None:
    small = [f"x BETWEEN {-n} AND {n}" for n in range(1, 60)]
    absorbing, predicates = find_absorbers(parse_regions(*small, "x <= 70", "x >= -80"))
    every = predicates.absorbers.lengths
    assert (every[:59] == 1).all()
    assert (absorbing.ranks[predicates.absorbers.values] < absorbing.ranks[:59]).all()


def test_a_crowded_point_still_finds_absorbers() -> None:
    wide = [f"x BETWEEN {n} AND {n + 400}" for n in range(0, 600, 2)]
    stored = parse_regions(*wide, *[f"x BETWEEN {n} AND {n + 450}" for n in range(0, 600, 100)])
    absorbing, predicates = find_absorbers(stored, 8)
    assert absorbing.is_crowded
    assert predicates.is_absorbed.any()
    ends = [(n, n + 400) for n in range(0, 600, 2)] + [(n, n + 450) for n in range(0, 600, 100)]
    for row in np.flatnonzero(predicates.is_absorbed).tolist():
        own_values = set(range(ends[row][0], ends[row][1] + 1))
        by = [
            set(range(ends[n][0], ends[n][1] + 1)) for n in predicates.absorbers.row(row).tolist()
        ]
        assert own_values <= set().union(*by)
    halves = [
        find_subsumed(absorbing, rows, 8) for rows in np.array_split(np.arange(len(stored)), 3)
    ]
    again = np.concatenate([half.is_absorbed for half in halves])
    assert again.tolist() == predicates.is_absorbed.tolist()


def test_adjacent_integer_intervals_leave_no_gap() -> None:
    _, predicates = find_absorbers(
        parse_regions("x <= 3", "x BETWEEN 4 AND 99", "x BETWEEN 2 AND 5")
    )
    assert predicates.absorbers.row(2).tolist() == [0, 1]
    _, predicates = find_absorbers(
        parse_regions("x <= 3", "x BETWEEN 5 AND 99", "x BETWEEN 2 AND 6")
    )
    assert predicates.is_witnessed.all()


def test_an_absorbed_region_has_its_null_absorbed_too() -> None:
    first, second, third = "x >= 0", "x < 0 AND y > 1", "y > 2 AND s = 'a'"
    _, predicates = find_absorbers(parse_regions(first, second, third))
    assert not predicates.is_absorbed.any()
    _, predicates = find_absorbers(
        parse_regions(first, second, third, "x IS NULL AND s > '' AND s < 'b'")
    )
    assert predicates.absorbers.row(2).tolist() == [0, 1, 3]


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
def test_a_region_within_the_union_of_two_is_absorbed(texts: list[str], is_absorbed: bool) -> None:
    space = Space.from_types(
        {
            "x": pa.int32(), "y": pa.int32(), "s": pa.string(), "t": pa.list_(pa.string()),
            "v": pa.list_(pa.float32(), 2),
        }
    )  # fmt: skip
    predicates = parse(space, texts)
    assert len(predicates.regions) == 3
    _, result = find_absorbers(predicates.regions)
    assert result.is_absorbed.tolist() == [False, False, is_absorbed]
