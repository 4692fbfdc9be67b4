"""Sets of ranges behave as the sets of their integers."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from covey.geometry.range_sets import RangeSet, RangeSets

BOUNDS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=8)


def ranges(bounds: list[tuple[int, int]]) -> RangeSet:
    """Return the set of ranges with these first and last integers."""
    return RangeSet.from_ranges([a for a, _ in bounds], [b for _, b in bounds])


def integers(range_set: RangeSet) -> set[int]:
    """Return all integers of a set of ranges."""
    return {i for first, last in range_set for i in range(first, last + 1)}


def expected_integers(bounds: list[tuple[int, int]]) -> set[int]:
    """Return all integers from the first to the last of each range."""
    return {i for first, last in bounds for i in range(first, last + 1)}


def assert_normal_form(range_set: RangeSet) -> None:
    """Assert that ranges are ascending, not empty, disjoint and not adjacent."""
    assert (range_set.first <= range_set.last).all()
    assert (range_set.first[1:] > range_set.last[:-1] + 1).all()


@given(BOUNDS)
def test_ranges_in_any_order_contain_the_integers_between(bounds: list[tuple[int, int]]) -> None:
    range_set = ranges(bounds)
    assert_normal_form(range_set)
    assert integers(range_set) == expected_integers(bounds)
    assert range_set.count == len(expected_integers(bounds))
    assert range_set == ranges(bounds[::-1])


@given(BOUNDS, BOUNDS)
def test_operations_equal_those_of_integer_sets(
    a: list[tuple[int, int]], b: list[tuple[int, int]]
) -> None:
    x, y = ranges(a), ranges(b)
    for answer, expected in (
        (x | y, expected_integers(a) | expected_integers(b)),
        (x - y, expected_integers(a) - expected_integers(b)),
        (x.intersection(y), expected_integers(a) & expected_integers(b)),
        (RangeSet.concat([x, y, x]), expected_integers(a) | expected_integers(b)),
    ):
        assert_normal_form(answer)
        assert integers(answer) == expected
    assert (x == y) == (expected_integers(a) == expected_integers(b))


@given(BOUNDS, st.integers(0, 5))
def test_gaps_up_to_the_limit_are_filled(bounds: list[tuple[int, int]], gap: int) -> None:
    inside = sorted(expected_integers(bounds))
    filled = {i for a, b in pairwise(inside) if b - a <= gap + 1 for i in range(a, b)}
    closed = ranges(bounds).fill_gaps(gap)
    assert_normal_form(closed)
    assert integers(closed) == filled | set(inside)


@given(BOUNDS)
def test_contains_is_membership_in_the_set_of_integers(bounds: list[tuple[int, int]]) -> None:
    points = np.arange(-1, 43)
    assert ranges(bounds).contains(points).tolist() == [
        p in expected_integers(bounds) for p in points.tolist()
    ]


@given(st.lists(BOUNDS, min_size=1, max_size=4), st.data())
def test_rows_are_taken_in_the_requested_order(
    rows: list[list[tuple[int, int]]], data: st.DataObject
) -> None:
    sets = [ranges(row) for row in rows]
    offsets = np.cumsum([0, *map(len, sets)])
    batch = RangeSets(
        offsets,
        np.concatenate([range_set.first for range_set in sets]),
        np.concatenate([range_set.last for range_set in sets]),
    )
    rows_to_take = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=5))
    result = batch.take(np.array(rows_to_take, np.int64))
    assert [result.row(i) for i in range(len(result))] == [sets[i] for i in rows_to_take]
    assert integers(batch.union) == set().union(*map(expected_integers, rows))


def test_ranges_are_not_equal_to_other_things() -> None:
    assert RangeSet.empty() != []
