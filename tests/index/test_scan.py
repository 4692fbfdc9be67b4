"""Scan, the oracle of all other indexes, beside loops that share no code with it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

from covey.geometry import Regions
from covey.index import Pairs, Scan, scan
from covey.language import parse
from covey.space import Events, Space
from covey.testing.contract import Case, cases
from tests.index import naive


@given(cases())
def test_matching_is_what_the_loops_find(case: Case) -> None:
    found = [
        (e, r)
        for e in range(len(case.events))
        for r in range(len(case.stored))
        if naive.matches(case.stored, r, case.events, e)
    ]
    assert list(Scan(case.stored).matching(case.events)) == found


@given(cases())
def test_covering_is_what_the_loops_find(case: Case) -> None:
    found = every_pair(case, lambda i, r: naive.covers(case.stored, r, case.asked, i))
    assert list(Scan(case.stored).covering(case.asked)) == found


@given(cases())
def test_covered_by_is_what_the_loops_find(case: Case) -> None:
    found = every_pair(case, lambda i, r: naive.covers(case.asked, i, case.stored, r))
    assert list(Scan(case.stored).covered_by(case.asked)) == found


@given(cases())
def test_overlapping_is_what_the_loops_find(case: Case) -> None:
    found = every_pair(case, lambda i, r: naive.overlaps(case.asked, i, case.stored, r))
    assert list(Scan(case.stored).overlapping(case.asked)) == found


def every_pair(case: Case, holds: Callable[[int, int], bool]) -> list[tuple[int, int]]:
    asked, stored = range(len(case.asked)), range(len(case.stored))
    return [(i, r) for i in asked for r in stored if holds(i, r)]


SPACE = Space.of({"x": pa.int32()})
STORED = parse(SPACE, ["x > 1", "x > 3", "x > 5", "x IS NULL"]).regions


def test_a_limit_keeps_the_first_covers_of_each_region() -> None:
    asked = parse(SPACE, ["x > 7", "x > 2", "x = 6"]).regions
    assert list(Scan(STORED).covering(asked, 2)) == [(0, 0), (0, 1), (1, 0), (2, 0), (2, 1)]
    assert list(Scan(STORED).covering(asked, 0)) == []


def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of two rows: the seams between them must not show."""
    events = Events.from_arrow(pa.table({"x": [0, 2, 4, 6, None]}), SPACE)
    whole = Scan(STORED).matching(events)
    monkeypatch.setattr(scan, "_PAIRS_AT_ONCE", 8)
    assert list(Scan(STORED).matching(events)) == list(whole) == [
        (1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2), (4, 3),
    ]  # fmt: skip


def test_nothing_stored_and_nothing_asked() -> None:
    none = STORED.take(np.empty(0, np.int64))
    events = Events.from_arrow(pa.table({"x": [1]}), SPACE)
    assert list(Scan(none).matching(events)) == list(Scan(none).covering(STORED)) == []
    assert list(Scan(STORED).overlapping(none)) == list(Scan(STORED).covered_by(none)) == []


def test_the_whole_space_covers_all_and_matches_all() -> None:
    whole = Scan(Regions(SPACE, 1, {}))
    events = Events.from_arrow(pa.table({"x": [1, None]}), SPACE)
    assert list(whole.matching(events)) == [(0, 0), (1, 0)]
    assert len(whole.covering(STORED)) == len(whole.overlapping(STORED)) == len(STORED)
    assert len(whole.covered_by(STORED)) == 0


def test_pairs_come_in_order_from_any_order() -> None:
    pairs = Pairs.of([2, 0, 2, 1, 2], [9, 4, 1, 7, 3])
    assert list(pairs) == [(0, 4), (1, 7), (2, 1), (2, 3), (2, 9)]
    assert list(pairs.first(2)) == [(0, 4), (1, 7), (2, 1), (2, 3)]
    assert len(pairs.first(0)) == 0
