"""The rule of the checker, compared with a twin that goes through time event by event."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soak.rule import Change, Lifetimes, pairs

ROWS = {"s": 0, "t": 1}
ANYWHERE = ((0.0, 0.0, 0.0, 0.0), (1.0, 1.0, 1.0, 1.0))
LEFT = ((0.0, 0.0, 0.0, 0.0), (0.5, 1.0, 1.0, 1.0))
NOWHERE = None


def find_notifying_rows(
    changes: list[Change], events: list[tuple[int, float]]
) -> tuple[set[int], set[int]]:
    """Return the rows of events (time, a) that must and that may notify "s"."""
    times = np.array([time for time, _ in events], np.int64)
    columns = [np.array([a for _, a in events]), *(np.zeros(len(events)) for _ in "bcd")]
    must, may = pairs(times, columns, Lifetimes.of(changes, ROWS), len(ROWS))
    of_s = [{code // 2 for code in codes.tolist() if code % 2 == 0} for codes in (must, may)]
    return of_s[0], of_s[1]


def test_a_predicate_counts_from_its_change_to_the_next() -> None:
    changes = [Change("s", 10, ANYWHERE), Change("s", 20, LEFT), Change("s", 30, NOWHERE)]
    events = [(9, 0.9), (11, 0.9), (19, 0.1), (21, 0.9), (22, 0.1), (31, 0.1)]
    assert find_notifying_rows(changes, events) == ({1, 2, 4}, {1, 2, 4})


def test_either_order_is_right_in_the_millisecond_of_a_change() -> None:
    changes = [Change("s", 10, ANYWHERE), Change("s", 20, LEFT), Change("s", 20, NOWHERE)]
    assert find_notifying_rows(changes, [(10, 0.9), (20, 0.9), (20, 0.1), (21, 0.1)]) == (
        set(),
        {0, 1, 2},
    )


def test_the_validity_interval_of_a_change_is_exact() -> None:
    given_times = Change("s", 10, ANYWHERE, from_ms=12, to_ms=15)
    assert find_notifying_rows([given_times], [(11, 0.5), (12, 0.5), (14, 0.5), (15, 0.5)]) == (
        {1, 2},
        {1, 2},
    )


def test_a_validity_interval_does_not_begin_before_its_change() -> None:
    assert find_notifying_rows([Change("s", 10, ANYWHERE, from_ms=3)], [(5, 0.5), (11, 0.5)]) == (
        {1},
        {1},
    )


@pytest.mark.parametrize("late", [1, 2])
def test_a_revision_that_is_not_above_all_earlier_ones_is_ignored(late: int) -> None:
    changes = [Change("s", 10, ANYWHERE, 2), Change("s", 20, NOWHERE, late)]
    assert find_notifying_rows(changes, [(25, 0.5)]) == ({0}, {0})


def test_a_change_without_revision_counts_and_keeps_the_highest_revision() -> None:
    changes = [Change("s", 10, ANYWHERE, 2), Change("s", 20, NOWHERE), Change("s", 30, LEFT, 2)]
    assert find_notifying_rows(changes, [(15, 0.1), (25, 0.1), (35, 0.1)]) == ({0}, {0})


def test_bounds_of_predicates_may_be_inclusive_or_exclusive() -> None:
    at = 0.25
    for sign, holds in ((">=", True), (">", False), ("<=", True), ("<", False)):
        change = Change.read("s", 1, f'{{"predicate": "a {sign} 0.250"}}', {})
        assert change.is_readable
        assert find_notifying_rows([change], [(5, at)])[0] == ({0} if holds else set())


@pytest.mark.parametrize(
    ("value", "is_readable"),
    [(None, True), ('{"predicate": null}', True), ("{", False), ('{"predicate": "a = 1"}', False)],
)
def test_cancellations_and_unreadable_changes_match_nothing(value: str, is_readable: bool) -> None:
    change = Change.read("s", 20, value, {})
    assert change.is_readable == is_readable
    assert find_notifying_rows([Change("s", 10, ANYWHERE), change], [(15, 0.5), (25, 0.5)]) == (
        {0},
        {0},
    )


def test_a_cancellation_may_have_its_revision_in_a_header() -> None:
    assert Change.read("s", 20, None, {"revision": "7"}).revision == 7


TIMES = st.integers(0, 12)
CHANGES = st.lists(
    st.builds(
        Change,
        st.sampled_from(["s", "t"]),
        TIMES,
        st.sampled_from([ANYWHERE, LEFT, NOWHERE]),
        st.none() | st.integers(1, 4),
        TIMES | st.just(-100),
        TIMES | st.just(100),
    ),
    max_size=8,
).map(lambda changes: sorted(changes, key=lambda change: change.time_ms))


@given(CHANGES, st.lists(st.tuples(TIMES, st.sampled_from([0.1, 0.9])), max_size=12).map(sorted))
def test_the_rule_equals_going_through_time(
    changes: list[Change], events: list[tuple[int, float]]
) -> None:
    must, may = find_notifying_rows(changes, events)
    for row, (time, a) in enumerate(events):
        outcomes = [is_notified(changes, order, time, a) for order in orders(changes, time)]
        if all(outcomes) and not any(change.time_ms == time for change in changes):
            assert row in must
        if not any(outcomes):
            assert row not in may
        if not all(outcomes):
            assert row not in must
        if any(outcomes):
            assert row in may


def orders(changes: list[Change], time: int) -> range:
    """Return the possible numbers of changes before an event."""
    first = sum(change.time_ms < time for change in changes)
    return range(first, sum(change.time_ms <= time for change in changes) + 1)


def is_notified(changes: list[Change], count: int, time: int, a: float) -> bool:
    """Return True if "s" is notified of an event after the first `count` changes."""
    highest, now = 0, None
    for change in changes[:count]:
        if change.subscription == "s" and (change.revision is None or change.revision > highest):
            highest, now = change.revision or highest, change
    if now is None or now.box is None:
        return False
    return now.from_ms <= time < now.to_ms and now.box[0][0] <= a < now.box[1][0]
