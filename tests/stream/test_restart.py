"""Streams that end by accident or on request, and continue after a restart."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from covey.store import Store
from covey.stream.explain import parse_event_ref
from tests.stream.commands import Outcome
from tests.stream.live import Live, wait_for

pytestmark = pytest.mark.integration

Streams = Callable[..., Live]

SINK = """
import os, pathlib, signal, time

here = pathlib.Path(__file__).parent

def write(rows, batch):
    found = sorted(tuple(row) for row in rows.select("topic", "key", "value").collect())
    name = f"{batch}-{len(list(here.glob(f'{batch}-*.txt')))}"
    temporary = here / f"{name}.partial"
    temporary.write_text("".join(f"{value}\\n" for _, _, value in found))
    if (here / "slow").exists():
        (here / "begun").touch()
        time.sleep(2)
    temporary.rename(here / f"{name}.txt")
    if (here / "deadly").exists():
        (here / "deadly").unlink()
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_repeated_batch_gives_the_same_bytes(
    streams: Streams, run: Callable[..., Outcome], tmp_path: Path
) -> None:
    (tmp_path / "collecting.py").write_text(SINK)
    (tmp_path / "deadly").touch()
    notifications = {"sink": "foreach", "function": "collecting:write"}
    stream = streams(tmp_path, notifications=notifications)
    stream.subscribe("kept", "a > 1")
    stream.subscribe("gone", "a > 1")
    places = stream.publish({"a": 2}, {"a": 0}, "{broken", {"a": 3})
    stream.start(own_process=True)
    assert stream.ended() == -9
    assert not (stream.state / "checkpoint" / "commits" / "0").exists()
    # Later changes count for later events only, even if their times say otherwise.
    stream.cancel("gone")
    stream.subscribe("new", "a > 1", from_ms=0)
    later = stream.publish({"a": 2})
    stream.configure(
        notifications=notifications, state={"retention_s": 1}, events={"trigger_interval_ms": 5000}
    )
    stream.start()
    record = stream.decided(*places)
    assert record.batch == 0
    first, again = ((tmp_path / f"0-{i}.txt").read_bytes() for i in range(2))
    assert first == again
    found = [json.loads(line) for line in first.splitlines()]
    assert {one["version"] for one in found if "version" in one} == {record.version}
    expected = [f"{place}/{id}" for place in (places[0], places[3]) for id in ("gone", "kept")]
    assert sorted(one["id"] for one in found if "id" in one) == sorted(expected)
    assert stream.decided(*later).batch == 1
    lines = (tmp_path / "1-0.txt").read_text().splitlines()
    assert {json.loads(line)["subscription"] for line in lines} == {"kept", "new"}
    assert [(one["batch"], one["notifications"]) for one in stream.batches] == [(0, 4), (1, 2)]

    # A batch begins every five seconds; the stream ends after the running batch.
    (tmp_path / "slow").touch()
    wait_for(lambda: 2.5 < time.time() % 5 < 3 or None, "the middle of five seconds")
    last = stream.publish({"a": 2})
    wait_for(lambda: (tmp_path / "begun").exists() or None, "the batch")
    assert (tmp_path / "begun").stat().st_mtime % 5 < 2.5
    assert stream.stop() == 0
    assert (tmp_path / "2-0.txt").exists()
    assert (stream.state / "checkpoint" / "commits" / "2").exists()

    # The decision of the first batch is older than the retention by now.
    explain = ("explain", stream.path, "--subscription", "kept", "--event-offset")
    refused = run(*explain, places[0])
    assert (refused.code, "more than [state] retention_s = 1 seconds ago" in refused.err) == (
        2,
        True,
    )
    assert "kept was notified" in run(*explain, *last).out

    # Kafka deletes an event before it is read.
    (lost,) = stream.publish({"a": 2})
    topic, partition, offset = parse_event_ref(lost)
    admin = AdminClient({"bootstrap.servers": stream.broker.address, "log_level": 0})
    deleted_to = TopicPartition(topic, partition, offset + 1)
    admin.delete_records([deleted_to])[deleted_to].result(60)
    stream.start()
    assert stream.ended() == 2
    assert "events were deleted from Kafka before they were read: Could not" in stream.printed


def test_a_stream_continues_with_the_subscriptions_of_the_control_topic(
    streams: Streams, tmp_path: Path
) -> None:
    stream = streams(tmp_path)
    for id in ("changed", "cancelled", "forgotten", "kept"):
        stream.subscribe(id, "a > 1")
    (place,) = stream.publish({"a": 2})
    stream.start()
    assert stream.notified(place) == {place: ["cancelled", "changed", "forgotten", "kept"]}

    # Kafka is stopped for some seconds, and messages sent in between are not lost.
    stream.broker.kill()
    with ThreadPoolExecutor() as pool:
        subscribing = pool.submit(stream.subscribe, "kept", "a >= 1")
        time.sleep(5)
        stream.broker.start()
        subscribing.result()
    (place,) = stream.publish({"a": 1})
    assert stream.notified(place) == {place: ["kept"]}
    assert stream.stop() == 0

    # The subscriptions are read from the store and the end of the topic.
    (before,) = stream.publish({"a": 2})
    stream.cancel("cancelled")
    stream.subscribe("changed", "a < 1")
    stream.subscribe("new", "a >= 2")
    low, high = stream.publish({"a": 0}, {"a": 2})
    stream.start()
    assert stream.notified(before, low, high) == {
        before: ["cancelled", "changed", "forgotten", "kept"],
        low: ["changed"],
        high: ["forgotten", "kept", "new"],
    }
    assert count_anew(stream) == 1
    assert stream.stop() == 0

    # Kafka removes a cancellation before it is read.
    stream.cancel("forgotten")
    compact(stream, "forgotten")
    low, high = stream.publish({"a": 0}, {"a": 2})
    stream.start()
    assert stream.notified(low, high) == {low: ["changed"], high: ["kept", "new"]}
    assert count_anew(stream) == 1
    (warning,) = [
        one for one in stream.log if one["what"].startswith("cancellations may have been")
    ]
    assert warning["cancelled"] == 2  # and the one that was cancelled before, which has no effect
    assert stream.stop() == 0

    # The subscriptions are read from the topic alone; most of their expressions are late.
    stream.state = stream.folder / "anew"
    odd = [f"odd-{i:02}" for i in range(40)]
    for i, id in enumerate(odd):
        stream.subscribe(id, f"a * {i + 2} >= 2 * {i + 2}")
    stream.configure(**{**stream.sections, "state": {"path": str(stream.state)}})
    low, high = stream.publish({"a": 0}, {"a": 2})
    stream.start()
    found = stream.notified(low, high)
    assert found == {low: ["changed"], high: ["kept", "new", *odd]}


def count_anew(stream: Live) -> int:
    """Return how often the whole control topic was read."""
    return sum(one["what"] == "rebuilding the store from the control topic" for one in stream.log)


def compact(stream: Live, id: str) -> None:
    """Let Kafka remove all messages of a cancelled subscription."""
    resource = ConfigResource(
        ResourceType.TOPIC,
        stream.control,
        incremental_configs=[
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
            for name, value in (
                ("delete.retention.ms", "100"), ("segment.ms", "100"),
                ("min.cleanable.dirty.ratio", "0.01"),
            )
        ],
    )  # fmt: skip
    admin = AdminClient({"bootstrap.servers": stream.broker.address, "log_level": 0})
    admin.incremental_alter_configs([resource])[resource].result(60)

    def is_gone() -> bool | None:
        stream.cancel("nobody")  # Kafka closes a segment only with the next message
        time.sleep(0.5)
        return id.encode() not in [one.key() for one in stream.read(stream.control)] or None

    wait_for(is_gone, f"compaction of {id}")


def test_a_stream_continues_with_zones(streams: Streams, tmp_path: Path) -> None:
    """Waiting events are matched with the subscriptions of their time, also after a rezoning."""
    stream = streams(tmp_path, events={"schema": "a DOUBLE, b INT"})
    for i in range(40):
        stream.subscribe(f"s{i}", f"a BETWEEN {i} AND {i + 2}")
    stream.subscribe("wide", "a >= 0")
    stream.subscribe("null", "a IS NULL OR b = 7")
    places = stream.publish(*({"a": i} for i in range(40)), {"b": 7}, "{broken")
    stream.start()
    before = stream.notified(*places)
    assert before[places[5]] == ["s3", "s4", "s5", "wide"]
    assert before[places[40]] == ["null"]
    assert stream.stop() == 0

    again = stream.publish(*({"a": i} for i in range(40)), {"b": 7}, "{broken")
    stream.cancel("s3")
    stream.subscribe("s4", "a = 20")
    stream.configure(
        events={"schema": "a DOUBLE, b INT"}, subscriptions={"zones": 6, "clock_skew_ms": 0}
    )
    stream.start()
    assert list(stream.notified(*again).values()) == list(before.values())
    later = stream.publish({"a": 5}, {"a": 20}, {"b": 7})
    assert list(stream.notified(*later).values()) == [
        ["s5", "wide"], ["s18", "s19", "s20", "s4", "wide"], ["null"],
    ]  # fmt: skip
    assert stream.stop() == 0
    stream.start()
    last = stream.publish({"a": 20})
    assert list(stream.notified(*last).values()) == [["s18", "s19", "s20", "s4", "wide"]]
    assert count_anew(stream) == 1
    message = "dividing the subscriptions into zones again"
    lines = [one for one in stream.log if one["what"] == message]
    assert [one["zones"] for one in lines] == [6]
    store = Store.open(stream.state / "store")
    zoning = store.zone_map(store.versions[-1])
    assert zoning is not None
    assert len(zoning) == 6
