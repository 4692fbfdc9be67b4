"""Notifications, byte by byte: the output of workers for batches of events."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.errors import StoreError, StreamError
from covey.spark.matching import match_task
from covey.spark.validity import VALIDITY
from covey.store import Store
from covey.stream.batches.version_source import FixedVersion
from covey.stream.events import notify_task
from covey.stream.events.dead_letters import DeadLetterFormatter
from covey.stream.events.notify_task import LEADING_COLUMNS, NotifyTask, OutputTopics
from tests.stream.simple import Event, change, columns, create, follow

LETTER = pa.struct(
    [
        ("event_ref", pa.string()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("decoded", pa.string()),
    ]
)
HARD = [
    '"',
    "\\",
    "a/b",
    "100%",
    "\n\t\b\f\r",
    "\0\x1f\x7f",
    "ž🐦",
    "\u2028",
    "</script>",
    "\\u0041",
]


def events(
    store: Store,
    given_: Sequence[Event],
    names: Sequence[str] | None = None,
    included: Sequence[str | None] | None = None,
    letters: Sequence[dict[str, Any] | None] | None = None,
) -> pa.RecordBatch:
    """Return events with the columns that Spark passes: the leading, then the required ones."""
    snapshot, nothing = store.snapshot(), [None] * len(given_)
    table = columns(given_, snapshot)
    leading = [
        pa.array(names or [f"ads-0-{i}" for i in range(len(given_))], pa.string()),
        pa.array(letters or nothing, LETTER),
        table[VALIDITY].combine_chunks(),
        pa.array(included or nothing, pa.string()),
    ]
    arrays = [*leading, *(table[name].combine_chunks() for name in required_names(store))]
    return pa.RecordBatch.from_arrays(arrays, [f"c{i}" for i in range(len(arrays))])


def required_names(store: Store) -> list[str]:
    return [name for name in store.snapshot().constrained_attributes if name != VALIDITY]


def notify_rows(store: Store, *batches: pa.RecordBatch) -> list[dict[str, Any]]:
    """Return the output rows for batches."""
    return texts(made(store, *batches))


def texts(batches: Iterable[pa.RecordBatch]) -> list[dict[str, Any]]:
    """Return rows with their values as texts."""
    rows = [row for one in batches for row in one.to_pylist()]
    return [{**row, "value": row["value"].decode()} for row in rows]


def made(store: Store, *batches: pa.RecordBatch) -> list[pa.RecordBatch]:
    return list(make_task(store)(iter(batches)))


def make_task(store: Store) -> NotifyTask:
    """Return the function of workers for the newest version."""
    attributes = {name: LEADING_COLUMNS + i for i, name in enumerate(required_names(store))}
    named = FixedVersion.from_snapshot(str(store._backend.location), store.snapshot())
    return NotifyTask(
        named, attributes, DeadLetterFormatter("json", ("a", "b")), OutputTopics("found", "dead")
    )


def values(rows: Sequence[dict[str, Any]]) -> list[str]:
    return sorted(row["value"] for row in rows)


def expected_value(event: str, subscription: str, version: int) -> str:
    """Return the value of a notification by the contract, written with the `json` module."""
    said = {
        "id": f"{event}/{subscription}", "event": event, "subscription": subscription,
        "version": version,
    }  # fmt: skip
    return json.dumps(said, ensure_ascii=False, separators=(",", ":"))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = create(tmp_path / "store")
    follow(store, change("alert-1", 100, "a > 1"), change("alert-2", 100, "a > 2"))
    return store


def test_a_notification_has_exactly_these_bytes(store: Store) -> None:
    rows = notify_rows(store, events(store, [(3, 0, 100)]))
    assert sorted(row["key"] for row in rows) == [b"alert-1", b"alert-2"]
    assert values(rows) == [
        '{"id":"ads-0-0/alert-1","event":"ads-0-0","subscription":"alert-1","version":1}',
        '{"id":"ads-0-0/alert-2","event":"ads-0-0","subscription":"alert-2","version":1}',
    ]
    assert {row["topic"] for row in rows} == {"found"}


def test_values_of_the_event_come_last(store: Store) -> None:
    shown = ['{"a":2,"s":"\\"x"}', '{"a":null}', '{"a":7}']
    batch = events(store, [(2, 0, 100), (0, 0, 100), (2, 0, 99)], included=shown)
    assert values(notify_rows(store, batch)) == [
        '{"id":"ads-0-0/alert-1","event":"ads-0-0","subscription":"alert-1","version":1,'
        '"event_values":{"a":2,"s":"\\"x"}}',
    ]


def test_only_subscriptions_valid_at_the_time_of_the_event_are_notified(store: Store) -> None:
    assert notify_rows(store, events(store, [(3, 0, 99), (3, 0, None), (None, 0, 100)])) == []


def test_difficult_texts_are_written_like_json_writes_them(tmp_path: Path) -> None:
    store = create(tmp_path / "hard")
    follow(store, *(change(id_, 100, "a > 1") for id_ in HARD))
    rows = notify_rows(store, events(store, [(2, 0, 100)] * len(HARD), names=HARD))
    assert values(rows) == sorted(expected_value(event, id_, 1) for event in HARD for id_ in HARD)
    assert {row["key"] for row in rows} == {id_.encode() for id_ in HARD}
    for row in rows:
        said = json.loads(row["value"])
        assert said["id"] == f"{said['event']}/{said['subscription']}"
        assert said["subscription"].encode() == row["key"]


TEXTS = st.text(min_size=1, max_size=8)


@given(st.lists(TEXTS, min_size=1, max_size=4, unique=True), TEXTS)
def test_any_text_is_written_like_json_writes_it(ids: list[str], event: str) -> None:
    with tempfile.TemporaryDirectory() as folder, patch("os.fsync"):
        store = create(Path(folder, "store"))
        follow(store, *(change(id_, 100, "true") for id_ in ids))
        rows = notify_rows(store, events(store, [(2, 0, 100)], names=[event]))
        assert values(rows) == sorted(expected_value(event, id_, 1) for id_ in ids)


def test_unreadable_events_go_only_to_dead_letters(store: Store) -> None:
    wrong = {"event_ref": "ads-0-1", "key": b"\xff", "value": b"{", "decoded": None}
    null = {"event_ref": "ads-0-2", "key": None, "value": None, "decoded": None}
    given_ = [(2, 0, 100), (9, 0, 100), (9, 0, 100), (2, 0, 100)]
    rows = notify_rows(store, events(store, given_, letters=[None, wrong, null, None]))
    dead = [(row["key"], row["value"]) for row in rows if row["topic"] == "dead"]
    assert dead == [
        (b"\xff", '{"event":"ads-0-1","reason":"the value is not a JSON object","value":"{"}'),
        (None, '{"event":"ads-0-2","reason":"the value is null"}'),
    ]
    alive = [row["value"] for row in rows if row["topic"] == "found"]
    assert alive == [
        expected_value("ads-0-0", "alert-1", 1),
        expected_value("ads-0-3", "alert-1", 1),
    ]


def test_no_events_give_no_rows(store: Store) -> None:
    assert made(store) == made(store, events(store, [])) == []


def test_all_batches_have_one_schema(store: Store) -> None:
    wrong = {"event_ref": "ads-0-1", "key": None, "value": b"{", "decoded": None}
    batch = events(store, [(3, 0, 100), (0, 0, None)], letters=[None, wrong])
    assert len({str(one.schema) for one in made(store, batch)}) == 1


def test_a_missing_required_attribute_is_an_error(store: Store) -> None:
    batch = events(store, [(3, 0, 100)])
    follow(store, change("alert-3", 50, "b > 1"))
    task = make_task(store)
    with pytest.raises(StreamError, match="version 2 of the store constrains attribute b"):
        list(replace(task, attribute_columns={"a": LEADING_COLUMNS})(iter([batch])))


def test_batch_sizes_do_not_change_notifications(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each notification is there once, for any limit of pairs, events and rows per batch."""
    store = create(tmp_path / "many")
    for start in range(0, 60, 20):
        ids = [f"s{i}" if i % 7 else f's"{i}' for i in range(start, start + 20)]
        follow(store, *(change(id_, 100, f"a > {i}") for i, id_ in enumerate(ids)))
    given_ = [(i % 23, 0, 100) for i in range(50)]
    shown = [json.dumps({"a": a}) for a, _, _ in given_]
    batches = [events(store, given_, included=shown).slice(i, 10) for i in range(0, 50, 10)]
    whole = notify_rows(store, *batches)
    expected = [(i, a) for i, (a, _, _) in enumerate(given_) for _ in range(3 * min(a or 0, 20))]
    assert len(whole) == len(expected) == len({row["value"] for row in whole})
    for constants in (
        {"_MAX_BATCH_ROWS": 7},
        {"_MAX_PAIRS": 10},
        {"_MAX_BATCH_EVENTS": 3},
        {"_MAX_BATCH_ROWS": 1},
    ):
        for name, value in constants.items():
            monkeypatch.setattr(
                notify_task if name == "_MAX_BATCH_ROWS" else match_task, name, value
            )
        assert values(notify_rows(store, *batches)) == values(whole)
        if "_MAX_BATCH_ROWS" in constants:
            assert (
                max(one.num_rows for one in made(store, *batches)) == constants["_MAX_BATCH_ROWS"]
            )


def test_batches_of_notifications_have_a_maximum_size(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Included values may be long, and are repeated for many subscriptions."""
    batch = events(store, [(3, 0, 100)] * 20, included=["1" * 1000] * 20)
    whole = notify_rows(store, batch)
    monkeypatch.setattr(notify_task, "_MAX_BATCH_BYTES", 10_000)
    assert max(one.nbytes for one in made(store, batch)) < 10_000
    assert notify_rows(store, batch) == whole
    monkeypatch.setattr(notify_task, "_MAX_BATCH_BYTES", 10)
    assert notify_rows(store, batch) == whole


def test_each_notification_names_its_event(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """If an answer is too large, events are matched in slices of their batch."""
    monkeypatch.setattr(match_task, "_MAX_PAIRS", 1)
    batch = events(store, [(2, 0, 100), (3, 0, 100), (0, 0, 100), (2, 0, 100), (5, 0, 100)])
    assert values(notify_rows(store, batch)) == sorted(
        expected_value(f"ads-0-{row}", id_, 1)
        for row, id_ in [
            (0, "alert-1"), (1, "alert-1"), (1, "alert-2"), (3, "alert-1"), (4, "alert-1"),
            (4, "alert-2"),
        ]
    )  # fmt: skip


def test_a_repeated_batch_has_the_same_bytes(store: Store) -> None:
    batch = events(store, [(3, 0, 100)] * 5)
    before = [(row["key"], row["value"]) for row in notify_rows(store, batch)]
    old = make_task(store)
    follow(store, change("alert-1", 200, None), change("alert-3", 50))
    rows = texts(old(iter([batch])))
    assert [(row["key"], row["value"]) for row in rows] == before


def test_a_version_of_another_store_is_refused(store: Store) -> None:
    place = str(store._backend.location)
    with pytest.raises(StoreError, match="is not the version that the model"):
        FixedVersion(place, 1, "another label").open_snapshot()
