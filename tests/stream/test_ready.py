"""A stream says when it is ready and where it begins, and matches all events from there on."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.stream.live import Live

pytestmark = pytest.mark.integration

Streams = Callable[..., Live]


def find_line(stream: Live, what: str, number: int = 0) -> Callable[[], dict[str, Any] | None]:
    def find() -> dict[str, Any] | None:
        found = [line for line in stream.log if line["what"] == what]
        return found[number] if len(found) > number else None

    return find


def test_events_that_are_published_while_spark_starts_are_matched(
    streams: Streams, tmp_path: Path
) -> None:
    """Events are published all the time: those from the logged offset on are matched."""
    stream = streams(tmp_path, events={"starting_offsets": "latest"})
    stream.subscribe("ann", "a > 1")
    before = stream.publish({"a": 5.0}, partition=0)
    stream.start(own_process=True)
    find_ready, published = find_line(stream, "ready"), list[str]()
    while (ready := find_ready()) is None:
        assert stream.is_running, stream.printed
        published += stream.publish({"a": 6.0}, partition=0)
        time.sleep(0.2)
    assert (ready["from"], ready["subscriptions"]) == ("latest", 1)
    first = ready["starting_offsets"][stream.events]["0"]
    assert ready["starting_offsets"] == {stream.events: {"0": first, "1": 0}}
    count = len(before) + len(published)
    assert len(before) <= first < count - 5  # Spark takes seconds to start
    expected = {f"{stream.events}-0-{offset}": ["ann"] for offset in range(first, count)}
    assert stream.notified(*expected) == expected
    assert len(stream.read(stream.notifications)) == count - first
    assert stream.stop() == 0

    stream.start()
    again = stream.wait_for(find_line(stream, "ready", 1), "the second line that says ready")
    assert again["from"] == "checkpoint"
    assert again["starting_offsets"] == {stream.events: {"0": count, "1": 0}}
    assert stream.stop() == 0


def test_the_earliest_events_are_those_that_kafka_has(streams: Streams, tmp_path: Path) -> None:
    stream = streams(tmp_path)
    stream.subscribe("ann", "a > 1")
    stream.publish({"a": 5.0}, partition=1)
    stream.start()
    ready = stream.wait_for(find_line(stream, "ready"), "the line that says ready")
    assert ready["starting_offsets"] == {stream.events: {"0": 0, "1": 0}}
    assert ready["from"] == "earliest"
    assert stream.stop() == 0
