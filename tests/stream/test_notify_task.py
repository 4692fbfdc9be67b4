"""Notifications to the byte: what workers make of batches of events."""

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
    """Events as Spark hands them over: what is kept of them, then what some region constrains."""
    snapshot, nothing = store.snapshot(), [None] * len(given_)
    table = columns(given_, snapshot)
    kept = [
        pa.array(names or [f"ads-0-{i}" for i in range(len(given_))], pa.string()),
        pa.array(letters or nothing, LETTER),
        table[VALIDITY].combine_chunks(),
        pa.array(included or nothing, pa.string()),
    ]
    arrays = [*kept, *(table[name].combine_chunks() for name in looked_at(store))]
    return pa.RecordBatch.from_arrays(arrays, [f"c{i}" for i in range(len(arrays))])


def looked_at(store: Store) -> list[str]:
    return [name for name in store.snapshot().constrained_attributes if name != VALIDITY]


def noticed(store: Store, *batches: pa.RecordBatch) -> list[dict[str, Any]]:
    """The rows that come of batches."""
    return texts(made(store, *batches))


def texts(made: Iterable[pa.RecordBatch]) -> list[dict[str, Any]]:
    """Rows with their values as texts."""
    rows = [row for one in made for row in one.to_pylist()]
    return [{**row, "value": row["value"].decode()} for row in rows]


def made(store: Store, *batches: pa.RecordBatch) -> list[pa.RecordBatch]:
    return list(notices_of(store)(iter(batches)))


def notices_of(store: Store) -> NotifyTask:
    """The function of the workers, with the newest version."""
    attributes = {name: LEADING_COLUMNS + i for i, name in enumerate(looked_at(store))}
    named = FixedVersion.from_snapshot(str(store._backend.location), store.snapshot())
    return NotifyTask(
        named, attributes, DeadLetterFormatter("json", ("a", "b")), OutputTopics("found", "dead")
    )


def values(rows: Sequence[dict[str, Any]]) -> list[str]:
    return sorted(row["value"] for row in rows)


def spelled(event: str, subscription: str, version: int) -> str:
    """What the contract says, by another way to JSON."""
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


def test_a_notification_is_these_bytes(store: Store) -> None:
    rows = noticed(store, events(store, [(3, 0, 100)]))
    assert sorted(row["key"] for row in rows) == [b"alert-1", b"alert-2"]
    assert values(rows) == [
        '{"id":"ads-0-0/alert-1","event":"ads-0-0","subscription":"alert-1","version":1}',
        '{"id":"ads-0-0/alert-2","event":"ads-0-0","subscription":"alert-2","version":1}',
    ]
    assert {row["topic"] for row in rows} == {"found"}


def test_values_of_the_event_come_last(store: Store) -> None:
    shown = ['{"a":2,"s":"\\"x"}', '{"a":null}', '{"a":7}']
    batch = events(store, [(2, 0, 100), (0, 0, 100), (2, 0, 99)], included=shown)
    assert values(noticed(store, batch)) == [
        '{"id":"ads-0-0/alert-1","event":"ads-0-0","subscription":"alert-1","version":1,'
        '"event_values":{"a":2,"s":"\\"x"}}',
    ]


def test_whoever_was_not_subscribed_then_is_not_notified(store: Store) -> None:
    assert noticed(store, events(store, [(3, 0, 99), (3, 0, None), (None, 0, 100)])) == []


def test_texts_are_spelled_as_json_spells_them(tmp_path: Path) -> None:
    store = create(tmp_path / "hard")
    follow(store, *(change(id_, 100, "a > 1") for id_ in HARD))
    rows = noticed(store, events(store, [(2, 0, 100)] * len(HARD), names=HARD))
    assert values(rows) == sorted(spelled(event, id_, 1) for event in HARD for id_ in HARD)
    assert {row["key"] for row in rows} == {id_.encode() for id_ in HARD}
    for row in rows:
        said = json.loads(row["value"])
        assert said["id"] == f"{said['event']}/{said['subscription']}"
        assert said["subscription"].encode() == row["key"]


TEXTS = st.text(min_size=1, max_size=8)


@given(st.lists(TEXTS, min_size=1, max_size=4, unique=True), TEXTS)
def test_any_text_is_spelled_as_json_spells_it(ids: list[str], event: str) -> None:
    with tempfile.TemporaryDirectory() as folder, patch("os.fsync"):
        store = create(Path(folder, "store"))
        follow(store, *(change(id_, 100, "true") for id_ in ids))
        rows = noticed(store, events(store, [(2, 0, 100)], names=[event]))
        assert values(rows) == sorted(spelled(event, id_, 1) for id_ in ids)


def test_what_could_not_be_read_goes_to_dead_letters_only(store: Store) -> None:
    wrong = {"event_ref": "ads-0-1", "key": b"\xff", "value": b"{", "decoded": None}
    null = {"event_ref": "ads-0-2", "key": None, "value": None, "decoded": None}
    given_ = [(2, 0, 100), (9, 0, 100), (9, 0, 100), (2, 0, 100)]
    rows = noticed(store, events(store, given_, letters=[None, wrong, null, None]))
    dead = [(row["key"], row["value"]) for row in rows if row["topic"] == "dead"]
    assert dead == [
        (b"\xff", '{"event":"ads-0-1","reason":"the value is not a JSON object","value":"{"}'),
        (None, '{"event":"ads-0-2","reason":"the value is null"}'),
    ]
    alive = [row["value"] for row in rows if row["topic"] == "found"]
    assert alive == [spelled("ads-0-0", "alert-1", 1), spelled("ads-0-3", "alert-1", 1)]


def test_no_event_is_no_row(store: Store) -> None:
    assert made(store) == made(store, events(store, [])) == []


def test_batches_are_all_of_one_schema(store: Store) -> None:
    wrong = {"event_ref": "ads-0-1", "key": None, "value": b"{", "decoded": None}
    batch = events(store, [(3, 0, 100), (0, 0, None)], letters=[None, wrong])
    assert len({str(one.schema) for one in made(store, batch)}) == 1


def test_what_a_version_looks_at_must_be_there(store: Store) -> None:
    batch = events(store, [(3, 0, 100)])
    follow(store, change("alert-3", 50, "b > 1"))
    blind = notices_of(store)
    with pytest.raises(StreamError, match="version 2 constrains b, which the query does"):
        list(replace(blind, attribute_columns={"a": LEADING_COLUMNS})(iter([batch])))


def test_portions_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However matches and events are portioned, each notification is there once."""
    store = create(tmp_path / "many")
    for start in range(0, 60, 20):
        ids = [f"s{i}" if i % 7 else f's"{i}' for i in range(start, start + 20)]
        follow(store, *(change(id_, 100, f"a > {i}") for i, id_ in enumerate(ids)))
    given_ = [(i % 23, 0, 100) for i in range(50)]
    shown = [json.dumps({"a": a}) for a, _, _ in given_]
    batches = [events(store, given_, included=shown).slice(i, 10) for i in range(0, 50, 10)]
    whole = noticed(store, *batches)
    right = [(i, a) for i, (a, _, _) in enumerate(given_) for _ in range(3 * min(a or 0, 20))]
    assert len(whole) == len(right) == len({row["value"] for row in whole})
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
        assert values(noticed(store, *batches)) == values(whole)
        if "_MAX_BATCH_ROWS" in constants:
            assert (
                max(one.num_rows for one in made(store, *batches)) == constants["_MAX_BATCH_ROWS"]
            )


def test_a_batch_of_notifications_has_a_size(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is included may be long, and then goes to many."""
    batch = events(store, [(3, 0, 100)] * 20, included=["1" * 1000] * 20)
    whole = noticed(store, batch)
    monkeypatch.setattr(notify_task, "_MAX_BATCH_BYTES", 10_000)
    assert max(one.nbytes for one in made(store, batch)) < 10_000
    assert noticed(store, batch) == whole
    monkeypatch.setattr(notify_task, "_MAX_BATCH_BYTES", 10)
    assert noticed(store, batch) == whole


def test_each_notification_names_its_event(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where an answer is too large, events are matched in slices of their batch."""
    monkeypatch.setattr(match_task, "_MAX_PAIRS", 1)
    batch = events(store, [(2, 0, 100), (3, 0, 100), (0, 0, 100), (2, 0, 100), (5, 0, 100)])
    assert values(noticed(store, batch)) == sorted(
        spelled(f"ads-0-{row}", id_, 1)
        for row, id_ in [
            (0, "alert-1"), (1, "alert-1"), (1, "alert-2"), (3, "alert-1"), (4, "alert-1"),
            (4, "alert-2"),
        ]
    )  # fmt: skip


def test_a_repeat_is_the_same_to_the_byte(store: Store) -> None:
    batch = events(store, [(3, 0, 100)] * 5)
    before = [(row["key"], row["value"]) for row in noticed(store, batch)]
    old = notices_of(store)
    follow(store, change("alert-1", 200, None), change("alert-3", 50))
    rows = texts(old(iter([batch])))
    assert [(row["key"], row["value"]) for row in rows] == before


def test_a_version_of_another_store_is_refused(store: Store) -> None:
    place = str(store._backend.location)
    with pytest.raises(StoreError, match="is not the version that the model"):
        FixedVersion(place, 1, "another label").open_snapshot()
