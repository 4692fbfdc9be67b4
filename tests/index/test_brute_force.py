"""`BruteForceIndex`, the oracle of all other indexes, compared with loops that share no code."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

from covey.geometry import Regions
from covey.index import BruteForceIndex, Pairs, brute_force
from covey.language import parse
from covey.space import Events, Space
from covey.testing.index_contract import IndexCase, index_cases
from tests.index import naive


@given(index_cases())
def test_matching_equals_plain_loops(case: IndexCase) -> None:
    found = [
        (e, r)
        for e in range(len(case.query_events))
        for r in range(len(case.stored_regions))
        if naive.matches(case.stored_regions, r, case.query_events, e)
    ]
    assert list(BruteForceIndex(case.stored_regions).match(case.query_events)) == found


@given(index_cases())
def test_covering_equals_plain_loops(case: IndexCase) -> None:
    found = every_pair(
        case, lambda i, r: naive.covers(case.stored_regions, r, case.query_regions, i)
    )
    assert list(BruteForceIndex(case.stored_regions).find_covering(case.query_regions)) == found


@given(index_cases())
def test_covered_equals_plain_loops(case: IndexCase) -> None:
    found = every_pair(
        case, lambda i, r: naive.covers(case.query_regions, i, case.stored_regions, r)
    )
    assert list(BruteForceIndex(case.stored_regions).find_covered(case.query_regions)) == found


@given(index_cases())
def test_overlapping_equals_plain_loops(case: IndexCase) -> None:
    found = every_pair(
        case, lambda i, r: naive.overlaps(case.query_regions, i, case.stored_regions, r)
    )
    assert list(BruteForceIndex(case.stored_regions).find_overlapping(case.query_regions)) == found


def every_pair(case: IndexCase, holds: Callable[[int, int], bool]) -> list[tuple[int, int]]:
    query_rows, stored = range(len(case.query_regions)), range(len(case.stored_regions))
    return [(i, r) for i in query_rows for r in stored if holds(i, r)]


SPACE = Space.from_types({"x": pa.int32()})
STORED = parse(SPACE, ["x > 1", "x > 3", "x > 5", "x IS NULL"]).regions


def test_a_limit_keeps_the_first_covers_of_each_region() -> None:
    query_rows = parse(SPACE, ["x > 7", "x > 2", "x = 6"]).regions
    assert list(BruteForceIndex(STORED).find_covering(query_rows, limit=2)) == [
        (0, 0),
        (0, 1),
        (1, 0),
        (2, 0),
        (2, 1),
    ]
    assert list(BruteForceIndex(STORED).find_covering(query_rows, limit=0)) == []


def test_block_borders_do_not_change_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """With blocks of two rows there are several borders between blocks."""
    events = Events.from_arrow(pa.table({"x": [0, 2, 4, 6, None]}), SPACE)
    whole = BruteForceIndex(STORED).match(events)
    monkeypatch.setattr(brute_force, "_MAX_PAIRS_PER_BATCH", 8)
    assert list(BruteForceIndex(STORED).match(events)) == list(whole) == [
        (1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2), (4, 3),
    ]  # fmt: skip


def test_empty_indexes_and_empty_queries_have_no_pairs() -> None:
    none = STORED.take(np.empty(0, np.int64))
    events = Events.from_arrow(pa.table({"x": [1]}), SPACE)
    assert (
        list(BruteForceIndex(none).match(events))
        == list(BruteForceIndex(none).find_covering(STORED))
        == []
    )
    assert (
        list(BruteForceIndex(STORED).find_overlapping(none))
        == list(BruteForceIndex(STORED).find_covered(none))
        == []
    )


def test_the_whole_space_covers_and_matches_all() -> None:
    whole = BruteForceIndex(Regions(SPACE, 1, {}))
    events = Events.from_arrow(pa.table({"x": [1, None]}), SPACE)
    assert list(whole.match(events)) == [(0, 0), (1, 0)]
    assert len(whole.find_covering(STORED)) == len(whole.find_overlapping(STORED)) == len(STORED)
    assert len(whole.find_covered(STORED)) == 0


def test_pairs_are_sorted_and_limited_per_query_row() -> None:
    pairs = Pairs.from_unsorted([2, 0, 2, 1, 2], [9, 4, 1, 7, 3])
    assert list(pairs) == [(0, 4), (1, 7), (2, 1), (2, 3), (2, 9)]
    assert list(pairs.limit_per_query(2)) == [(0, 4), (1, 7), (2, 1), (2, 3)]
    assert len(pairs.limit_per_query(0)) == 0
