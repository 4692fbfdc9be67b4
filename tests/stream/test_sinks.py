"""Avro values in a Delta table, each notification once; other sinks are in test_restart.py."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.stream.live import Live

pytestmark = pytest.mark.integration

SCHEMA = {
    "type": "record",
    "name": "Ad",
    "fields": [
        {"name": "a", "type": ["null", "double"]},
        {"name": "t", "type": ["null", "string"]},
    ],
}


def test_avro_notifications_reach_a_delta_table_once_although_a_batch_is_repeated(
    streams: Callable[..., Live], tmp_path: Path
) -> None:
    stream = streams(
        tmp_path,
        events={"format": "avro", "schema": json.dumps(SCHEMA)},
        notifications={"sink": "delta", "path": "table"},
    )
    stream.subscribe("above", "a > 0.5")
    stream.subscribe("absent", "a IS NULL AND t IS NULL")
    stream.subscribe("hi", "lower(t) = 'hi'")
    stream.start()
    events = {
        avro(0.75, "Hi"): ["above", "hi"],
        avro(0.25, None): [],
        avro(None, "hi"): ["hi"],
        avro(None, None): ["absent"],
        b"": None,
        b"\x02\x00": None,
        b"\xff\xff\xff": None,
        b'{"a": 0.75}': None,
        None: None,
    }
    places = stream.publish(*events)
    expected, dead = {}, {}
    for place, ids in zip(places, events.values(), strict=True):
        expected |= {f"{place}/{id}": id for id in ids or ()}
        dead |= {place: "the value does not fit the Avro schema"} if ids is None else {}
    dead[places[-1]] = "the value is null"
    assert stream.decided(*places).batch == 0
    assert read_notifications(tmp_path / "table", stream) == sorted(expected.items())
    assert letters(tmp_path / "table", stream) == sorted(dead.items())
    assert stream.stop() == 0

    # This simulates a kill between Delta's commit and Spark's.
    (stream.state / "checkpoint" / "commits" / "0").unlink()
    (stream.state / "checkpoint" / "commits" / ".0.crc").unlink(missing_ok=True)
    stream.subscribe("later", "a > 0.5 OR a IS NULL")
    (place,) = stream.publish(avro(0.75, None))
    stream.start(own_process=True)
    assert stream.decided(place).batch == 1
    assert [one["batch"] for one in stream.batches] == [0, 0, 1]
    # the repeated batch was not counted
    assert [one["notifications"] for one in stream.batches] == [4, None, 2]
    expected |= {f"{place}/{id}": id for id in ("above", "later")}
    assert read_notifications(tmp_path / "table", stream) == sorted(expected.items())
    assert letters(tmp_path / "table", stream) == sorted(dead.items())
    assert stream.interrupt() == 0


def avro(a: float | None, t: str | None) -> bytes:
    """Return an event in Avro: the branch of a union, then the value; a text after its length."""
    number = b"\x00" if a is None else b"\x02" + struct.pack("<d", a)
    text = b"\x00" if t is None else b"\x02" + bytes([2 * len(t)]) + t.encode()
    return number + text


def read_notifications(table: Path, stream: Live) -> list[tuple[str, str]]:
    """Return the ids and keys of the notifications in the table."""
    found = [
        (json.loads(v)["id"], k) for topic, k, v in rows(table) if topic == stream.notifications
    ]
    return sorted(found)


def letters(table: Path, stream: Live) -> list[tuple[str, str]]:
    """Return the event refs and reasons of the dead letters in the table."""
    values = [json.loads(value) for topic, _, value in rows(table) if topic == stream.dead_letters]
    return sorted((one["event"], one["reason"]) for one in values)


def rows(table: Path) -> list[tuple[str, str, str]]:
    """Return the rows of a Delta table to which rows were only added."""
    found = []
    for commit in sorted((table / "_delta_log").glob("*.json")):
        actions = [json.loads(line) for line in commit.read_text().splitlines()]
        assert not any("remove" in one for one in actions)
        for file in (one["add"]["path"] for one in actions if "add" in one):
            found += pq.read_table(table / file).select(["topic", "key", "value"]).to_pylist()
    return [(row["topic"], row["key"], row["value"]) for row in found]
