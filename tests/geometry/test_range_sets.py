"""Ranges behave as the sets of integers that they stand for."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from covey.geometry.range_sets import RangeSet, RangeSets

BOUNDS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=8)


def ranges(bounds: list[tuple[int, int]]) -> RangeSet:
    return RangeSet.from_ranges([a for a, _ in bounds], [b for _, b in bounds])


def integers(some: RangeSet) -> set[int]:
    return {i for first, last in some for i in range(first, last + 1)}


def meant(bounds: list[tuple[int, int]]) -> set[int]:
    return {i for first, last in bounds for i in range(first, last + 1)}


def assert_in_their_one_spelling(some: RangeSet) -> None:
    assert (some.first <= some.last).all()
    assert (some.first[1:] > some.last[:-1] + 1).all()


@given(BOUNDS)
def test_ranges_of_any_order_hold_the_integers_between(bounds: list[tuple[int, int]]) -> None:
    some = ranges(bounds)
    assert_in_their_one_spelling(some)
    assert integers(some) == meant(bounds)
    assert some.count == len(meant(bounds))
    assert some == ranges(bounds[::-1])


@given(BOUNDS, BOUNDS)
def test_operations_are_those_of_sets(a: list[tuple[int, int]], b: list[tuple[int, int]]) -> None:
    x, y = ranges(a), ranges(b)
    for answer, right in (
        (x | y, meant(a) | meant(b)),
        (x - y, meant(a) - meant(b)),
        (x.intersection(y), meant(a) & meant(b)),
        (RangeSet.concat([x, y, x]), meant(a) | meant(b)),
    ):
        assert_in_their_one_spelling(answer)
        assert integers(answer) == right
    assert (x == y) == (meant(a) == meant(b))


@given(BOUNDS, st.integers(0, 5))
def test_closing_fills_the_gaps_of_at_most_so_many(bounds: list[tuple[int, int]], gap: int) -> None:
    inside = sorted(meant(bounds))
    filled = {i for a, b in pairwise(inside) if b - a <= gap + 1 for i in range(a, b)}
    closed = ranges(bounds).fill_gaps(gap)
    assert_in_their_one_spelling(closed)
    assert integers(closed) == filled | set(inside)


@given(BOUNDS)
def test_contains_says_which_points_are_inside(bounds: list[tuple[int, int]]) -> None:
    points = np.arange(-1, 43)
    assert ranges(bounds).contains(points).tolist() == [p in meant(bounds) for p in points.tolist()]


@given(st.lists(BOUNDS, min_size=1, max_size=4), st.data())
def test_rows_are_taken_in_the_given_order(
    rows: list[list[tuple[int, int]]], data: st.DataObject
) -> None:
    sets = [ranges(row) for row in rows]
    offsets = np.cumsum([0, *map(len, sets)])
    batch = RangeSets(
        offsets,
        np.concatenate([one.first for one in sets]),
        np.concatenate([one.last for one in sets]),
    )
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=5))
    taken = batch.take(np.array(chosen, np.int64))
    assert [taken.row(i) for i in range(len(taken))] == [sets[i] for i in chosen]
    assert integers(batch.union) == set().union(*map(meant, rows))


def test_ranges_are_not_equal_to_other_things() -> None:
    assert RangeSet.empty() != []
