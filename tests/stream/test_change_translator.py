"""Translated subscription changes, compared with a scan of the whole log."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.space import Space
from covey.spark.validity import VALIDITY, with_validity
from covey.store import Changes, IdKind, Store
from covey.stream.control.change_translator import ChangeTranslator
from covey.stream.control.messages import SubscriptionChange, parse_change
from tests.stream.simple import NEVER_US, Event, change, create, follow, match_events

Holds = Callable[[int | None, int | None], bool]

PREDICATES: dict[str, Holds] = {
    "true": lambda a, b: True,
    "a > 1": lambda a, b: a is not None and a > 1,
    "a BETWEEN 1 AND 2": lambda a, b: a is not None and 1 <= a <= 2,
    "a = 0 OR b = 1": lambda a, b: a == 0 or b == 1,
    "a + b > 2": lambda a, b: a is not None and b is not None and a + b > 2,
    "a IS NULL": lambda a, b: a is None,
    "a > 1 AND a < 0": lambda a, b: False,
}
UNREADABLE = ("a >", "price > 5")
IDS = ("x", "y", "ž")
LATE = 10  # added to revisions from the horizon on


@dataclass(frozen=True, slots=True)
class Log:
    """Changes in the order of the log, and the time from which events are matched."""

    changes: tuple[SubscriptionChange, ...]
    horizon_ms: int
    clock_skew_ms: int


@dataclass(frozen=True, slots=True)
class Counted:
    """A change that counts, and the time at which the next one ends it."""

    change: SubscriptionChange
    end_ms: float


class Oracle:
    """The rules applied to one change after another, without expiry."""

    def __init__(self, log: Log) -> None:
        self.highest = dict.fromkeys(IDS, 0)
        self.counted: dict[str, list[Counted]] = {id_: [] for id_ in IDS}
        self.ignored, self.unreadable = 0, set[str]()
        self._clock_skew_ms = log.clock_skew_ms
        for change_ in log.changes:
            self._change(change_)

    def find_notified(self, event: Event) -> list[str]:
        return sorted(i for i in IDS if any(self._matches(c, event) for c in self.counted[i]))

    def _change(self, one: SubscriptionChange) -> None:
        if 0 < one.revision <= self.highest[one.subscription_id]:
            self.ignored += 1
            return
        self.highest[one.subscription_id] = max(self.highest[one.subscription_id], one.revision)
        before = [
            replace(c, end_ms=min(c.end_ms, one.appended_ms))
            for c in self.counted[one.subscription_id]
        ]
        self.counted[one.subscription_id] = [*before, Counted(one, float("inf"))]
        if one.problem is not None or one.predicate in UNREADABLE:
            self.unreadable.add(one.message_ref)

    def _matches(self, counted: Counted, event: Event) -> bool:
        (a, b, at_ms), one = event, counted.change
        assert at_ms is not None
        begins = one.appended_ms - self._clock_skew_ms
        begins = begins if one.from_ms is None else max(begins, one.from_ms)
        ends = counted.end_ms if one.to_ms is None else min(counted.end_ms, one.to_ms)
        holds = PREDICATES.get(one.predicate or "")
        return holds is not None and begins <= at_ms < ends and holds(a, b)


@st.composite
def logs(draw: st.DrawFn) -> Log:
    """Draw changes a few milliseconds apart; from the horizon on, revisions start again, higher."""
    horizon_ms = draw(st.integers(1000, 1030))
    at_ms, changes = 1000, []
    for offset in range(draw(st.integers(0, 14))):
        back = 0 if at_ms - 2 < horizon_ms <= at_ms else -2  # the clocks of Kafka servers differ
        at_ms += draw(st.integers(back, 6))
        revision = draw(st.integers(0, 4))
        if revision and at_ms >= horizon_ms:
            revision += LATE
        kinds = st.sampled_from(("put", "put", "put", "cancel", "unreadable", "problem"))
        kind = draw(kinds)
        texts = st.sampled_from(tuple(PREDICATES) if kind == "put" else UNREADABLE)
        times = st.none() | st.integers(at_ms - 10, at_ms + 20)
        changes.append(
            SubscriptionChange(
                draw(st.sampled_from(IDS)),
                at_ms,
                f"alerts-0-{offset}",
                draw(texts) if kind in ("put", "unreadable") else None,
                0 if kind == "problem" else revision,
                draw(times) if kind == "put" else None,
                draw(times) if kind == "put" else None,
                "the value is not valid JSON" if kind == "problem" else None,
            )
        )
    return Log(tuple(changes), horizon_ms, draw(st.sampled_from((0, 0, 1, 7))))


VALUES = st.none() | st.integers(0, 3)
WIDE = with_validity(
    Space.from_types({"s": pa.string(), "tags": pa.list_(pa.string()), "a": pa.int8()})
)
LETTERS = st.text(st.sampled_from("as1 '\\%_()=\0\nß🐦\ud800\udfff"))
ANYTHING = LETTERS | st.builds("s {} '{}'".format, st.sampled_from(("=", "LIKE")), LETTERS)


@given(st.data(), logs())
def test_notifications_do_not_depend_on_the_batches_of_changes(
    data: st.DataObject, log: Log
) -> None:
    times = st.integers(log.horizon_ms, log.horizon_ms + 60)
    events = data.draw(st.lists(st.tuples(VALUES, VALUES, times), min_size=1, max_size=12))
    oracle = Oracle(log)
    expected = [oracle.find_notified(event) for event in events]
    for _ in range(2):
        with tempfile.TemporaryDirectory() as folder, patch("os.fsync"):
            store = create(Path(folder, "store"))
            ignored, unreadable = run(data, store, log)
            store = Store.open(Path(folder, "store"))
            assert match_events(store.snapshot(), *events) == expected
            assert (ignored, unreadable) == (oracle.ignored, oracle.unreadable)
            check_revisions(store, oracle, log)


def run(data: st.DataObject, store: Store, log: Log) -> tuple[int, set[str]]:
    """Apply the log in batches, with merges in between, and expire what lies before the horizon."""
    ignored, unreadable, start = 0, set[str](), 0
    translator, horizon_us = ChangeTranslator(log.clock_skew_ms), NEVER_US
    while start < len(log.changes):
        stop = data.draw(st.integers(start + 1, len(log.changes)), label="batch ends")
        applied = translator.translate(store.snapshot(), log.changes[start:stop], horizon_us)
        store.apply(applied.store_changes)
        ignored += applied.num_ignored
        unreadable |= {one.message_ref for one in applied.unreadable_changes}
        if all(one.appended_ms >= log.horizon_ms for one in log.changes[stop:]):
            horizon_us = 1000 * log.horizon_ms
            store.expire_before(VALIDITY, horizon_us)
        if data.draw(st.booleans(), label="merges"):
            while store.merge():
                pass
        if data.draw(st.booleans(), label="cleans"):
            snapshot = store.snapshot()
            store.apply(
                Changes.remove(snapshot.take_ids(snapshot.find_expired(VALIDITY, horizon_us)))
            )
        if data.draw(st.booleans(), label="starts again"):
            translator = ChangeTranslator(log.clock_skew_ms)
        start = stop
    store.close()
    return ignored, unreadable


def check_revisions(store: Store, oracle: Oracle, log: Log) -> None:
    """Fail unless the highest revisions of subscriptions changed after the horizon are stored."""
    snapshot = store.snapshot()
    for id_, counted in oracle.counted.items():
        (row,) = rows = snapshot.find_rows([id_])
        if counted and counted[-1].change.appended_ms > log.horizon_ms:
            assert row >= 0
            if oracle.highest[id_] > LATE:
                assert snapshot.take_revisions(rows).tolist() == [oracle.highest[id_]]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with create(tmp_path / "store") as store:
        yield store


def at(store: Store, *times: int) -> list[list[str]]:
    """Return the ids that an event with a = 2 notifies at these times."""
    return match_events(store.snapshot(), *((2, 0, ms) for ms in times))


def revisions(store: Store, *ids: str) -> list[int | None]:
    snapshot = store.snapshot()
    rows = snapshot.find_rows(list(ids))
    found = snapshot.take_revisions(rows).tolist()
    return [one if row >= 0 else None for row, one in zip(rows.tolist(), found, strict=True)]


def test_a_predicate_counts_from_its_change_to_the_next(store: Store) -> None:
    follow(store, change("x", 100, "a > 1"))
    follow(store, change("x", 200, "a < 1"))
    assert at(store, 99, 100, 199, 200) == [[], ["x"], ["x"], []]
    assert match_events(store.snapshot(), (0, 0, 199), (0, 0, 200)) == [[], ["x"]]


def test_events_without_a_time_notify_no_subscription(store: Store) -> None:
    follow(store, change("x", 100, "true"), change("y", 100, None))
    assert match_events(store.snapshot(), (2, 0, None)) == [[]]


def test_clock_skew_moves_only_the_beginning(store: Store) -> None:
    follow(store, change("x", 100), change("x", 200, None), clock_skew_ms=30)
    assert at(store, 69, 70, 199, 200) == [[], ["x"], ["x"], []]


def test_from_and_to_narrow_a_validity_interval(store: Store) -> None:
    follow(store, change("x", 100, from_ms=150, to_ms=180), change("y", 100, from_ms=50, to_ms=900))
    follow(store, change("y", 200, None))
    assert at(store, 100, 149, 150, 179, 180) == [["y"], ["y"], ["x", "y"], ["x", "y"], ["y"]]
    assert at(store, 50, 199, 200) == [[], ["y"], []]


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize(("to_ms", "end_ms"), [(150, 150), (200, 200), (300, 200), (50, 100)])
def test_a_validity_interval_ends_with_its_end_or_the_next_change(
    store: Store, to_ms: int, end_ms: int, at_once: bool
) -> None:
    changes = [change("x", 100, to_ms=to_ms), change("x", 200, None)]
    for batch in [changes] if at_once else [[one] for one in changes]:
        follow(store, *batch)
    expected = [
        ["x"] if 100 <= ms < end_ms else [] for ms in (49, 99, 100, 149, 150, 199, 200, 299)
    ]
    assert at(store, 49, 99, 100, 149, 150, 199, 200, 299) == expected


def test_the_last_of_several_changes_in_a_millisecond_counts(store: Store) -> None:
    follow(store, change("x", 100, "a > 1"), change("x", 100, "a < 1"), change("x", 100, "a = 7"))
    assert match_events(store.snapshot(), (2, 0, 100), (0, 0, 100), (7, 0, 100)) == [[], [], ["x"]]


def test_a_revision_that_is_not_higher_is_ignored(store: Store) -> None:
    assert follow(store, change("x", 100, "true", 3)).num_ignored == 0
    for revision in (1, 3):
        applied = follow(store, change("x", 110, None, revision))
        assert (applied.num_ignored, len(applied.store_changes.ids)) == (1, 0)
    assert at(store, 120) == [["x"]]
    assert follow(store, change("x", 130, None, 4), change("x", 140, "true", 4)).num_ignored == 1
    assert at(store, 129, 130, 140) == [["x"], [], []]
    # a change without a revision counts, and keeps the highest revision
    follow(store, change("x", 150))
    assert at(store, 150) == [["x"]]
    assert revisions(store, "x") == [4]


def test_an_unreadable_change_is_reported_and_matches_nothing(store: Store) -> None:
    follow(store, *(change(id_, 100) for id_ in "xyz"))
    applied = follow(
        store,
        change("x", 200, "price > 5"),
        change("y", 200, None, problem="the value is not valid JSON"),
        change("z", 200, "a > 1"),
    )
    problems = {one.subscription_id: one.problem or "" for one in applied.unreadable_changes}
    assert problems["y"] == "the value is not valid JSON"
    assert problems["x"].startswith("line 1, column 1: no column 'price'; the columns are a, b")
    assert at(store, 199, 200) == [["x", "y", "z"], ["z"]]


def test_a_change_without_a_valid_id_changes_nothing(store: Store) -> None:
    follow(store, change("\ufffd", 100))
    number = store.snapshot().manifest.version
    applied = follow(store, parse_change(b"\xff", None, [], 200, "alerts-0-7"))
    assert [(one.message_ref, one.subscription_id) for one in applied.unreadable_changes] == [
        ("alerts-0-7", "")
    ]
    assert applied.num_ignored == 0
    assert store.snapshot().manifest.version == number
    assert at(store, 200) == [["\ufffd"]]


@given(texts=st.lists(ANYTHING, min_size=1, max_size=5))
def test_no_predicate_text_ends_a_stream(texts: list[str]) -> None:
    """Any string as predicate leads to a version."""
    messages = [json.dumps({"predicate": text}).encode() for text in texts]
    parsed_changes = [parse_change(b"x", one, [], 100, "alerts-0-1") for one in messages]
    with tempfile.TemporaryDirectory() as folder, patch("os.fsync"):
        with Store.create(Path(folder, "store"), WIDE, id_kind=IdKind.TEXT) as store:
            applied = follow(store, *parsed_changes)
            assert len(store.snapshot()) == 1
        assert all((one.problem or "").encode() for one in applied.unreadable_changes)


@pytest.mark.parametrize("name", ["from", "to"])
@pytest.mark.parametrize("ms", [-62_135_596_800_000, 253_402_300_799_999])
def test_any_readable_time_can_be_stored(store: Store, name: str, ms: int) -> None:
    value = json.dumps({"predicate": "true", name: ms}).encode()
    follow(store, parse_change(b"x", value, [], 100, "alerts-0-1"), clock_skew_ms=5)
    assert at(store, 100) == [["x"] if (name == "to") == (ms > 0) else []]


def test_an_unreadable_change_with_an_old_revision_is_not_reported(store: Store) -> None:
    follow(store, change("x", 100, "true", 5))
    assert follow(store, change("x", 110, "price > 5", 4)).unreadable_changes == ()


def test_the_validity_attribute_cannot_be_used_in_predicates(store: Store) -> None:
    applied = follow(store, change("x", 100, f"`{VALIDITY}` IS NULL"))
    assert "no column" in str(applied.unreadable_changes[0].problem)


def test_regions_before_the_horizon_are_dropped_by_the_next_change(store: Store) -> None:
    follow(store, change("x", 100, "a > 1"))
    follow(store, change("x", 200, "a > 1"))
    snapshot = store.snapshot()
    assert len(snapshot.take_regions(snapshot.find_rows(["x"]))[0]) == 2
    follow(store, change("x", 300, "a > 1"), horizon_us=200_000)
    snapshot = store.snapshot()
    assert len(snapshot.take_regions(snapshot.find_rows(["x"]))[0]) == 2
    assert at(store, 199, 200, 300) == [[], ["x"], ["x"]]


@pytest.mark.parametrize("text", [None, "a > 1 AND a < 0", "price > 5"])
def test_the_revision_of_a_subscription_without_matches_is_stored(
    store: Store, text: str | None
) -> None:
    follow(store, change("x", 100, text, 7))
    assert revisions(store, "x", "y") == [7, None]
    assert at(store, 100, 101) == [[], []]
    assert follow(store, change("x", 101, "true", 6)).num_ignored == 1


def test_merges_expire_subscriptions_cancelled_before_the_horizon(tmp_path: Path) -> None:
    ids = [f"{i}" for i in range(12)]
    with create(tmp_path / "store") as store:
        follow(store, *(change(id_, 100, "true", 1) for id_ in ids))
        follow(store, *(change(id_, 200, None, 2) for id_ in ids[:6]))
        follow(store, *(change(id_, 300, None, 2) for id_ in ids[6:9]))
        store.expire_before(VALIDITY, 250_000)
        follow(store, *(change(f"more {i}", 300) for i in range(12)))
        while store.merge():
            pass
        assert revisions(store, *ids) == [*[None] * 6, *[2] * 3, *[1] * 3]


@pytest.mark.parametrize("earlier", [change("x", 100, to_ms=110), change("x", 100, None)])
def test_a_revision_marker_expires_after_its_own_change(
    store: Store, earlier: SubscriptionChange
) -> None:
    """An earlier end of the subscription is no reason to expire the marker."""
    follow(store, earlier)
    follow(store, change("x", 900, None, 5))
    snapshot = store.snapshot()
    assert len(snapshot.find_expired(VALIDITY, 500_000)) == 0
    assert snapshot.take_ids(snapshot.find_expired(VALIDITY, 1_000_000)).to_pylist() == ["x"]


def test_repeated_cancellations_leave_one_revision_marker(store: Store) -> None:
    for at_ms in range(100, 110):
        follow(store, change("x", at_ms, None, at_ms))
    snapshot = store.snapshot()
    assert len(snapshot.take_regions(snapshot.find_rows(["x"]))[0]) == 1
    assert revisions(store, "x") == [109]


@pytest.mark.parametrize("at_once", [True, False])
def test_a_later_change_with_an_earlier_time_counts_from_that_time(
    store: Store, at_once: bool
) -> None:
    follow(store, change("x", 50, "a = 2"))
    later = [change("x", 100, None), change("x", 90, "a = 3")]
    for batch in [later] if at_once else [[one] for one in later]:
        follow(store, *batch)
    assert match_events(store.snapshot(), (2, 0, 89), (2, 0, 95), (3, 0, 95)) == [["x"], [], ["x"]]


def test_segments_with_different_derived_attributes_are_merged(store: Store) -> None:
    texts = ["a + b > 2", "a * b > 2", "a + b < 1", "a - b > 0"]
    for i, text in enumerate(texts):
        follow(store, change("x", 100 + i, text), change(f"{i}", 100 + i, text))
    assert len(store.snapshot().space.derived) == 3
    snapshot = store.snapshot()
    regions, _ = snapshot.take_regions(snapshot.find_rows(["x"]))
    assert len(regions) == 4


def test_no_effective_change_makes_no_version(store: Store) -> None:
    follow(store, change("x", 100, "true", 3))
    number = store.snapshot().manifest.version
    follow(store)
    follow(store, change("x", 110, None, 2))
    assert store.snapshot().manifest.version == number


def _of(ids: Sequence[str]) -> list[SubscriptionChange]:
    return [change(id_, 100 + i) for i, id_ in enumerate(ids)]


def test_ids_may_be_any_text(store: Store) -> None:
    ids = [" ", "a/b", "%", "\n", "\0", "\ufffd", "é", "e\u0301", "🐦", "z" * 5000]
    follow(store, *_of(ids))
    assert at(store, 500) == [sorted(ids)]
