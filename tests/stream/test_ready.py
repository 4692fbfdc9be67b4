"""A stream says when it is ready and where it begins, and matches all events from there on."""

from __future__ import annotations

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
    stream = streams(tmp_path, events={"starting_offsets": "latest"})
    stream.subscribe("ann", "a > 1")
    stream.publish({"a": 5.0}, partition=0)
    stream.start(own_process=True)
    starting = stream.waited(find_line(stream, "starting Spark"), "the line with the offsets")
    [place] = stream.publish({"a": 6.0}, partition=0)
    ready = stream.waited(find_line(stream, "ready"), "the line that says ready")
    offsets = {stream.events: {"0": 1, "1": 0}}
    assert starting["starting_offsets"] == ready["starting_offsets"] == offsets
    assert (ready["from"], ready["subscriptions"]) == ("latest", 1)
    assert stream.notified(place) == {place: ["ann"]}
    assert len(stream.read(stream.notifications)) == 1
    assert stream.stop() == 0

    stream.start()
    again = stream.waited(find_line(stream, "ready", 1), "the second line that says ready")
    assert again["from"] == "checkpoint"
    assert again["starting_offsets"] == {stream.events: {"0": 2, "1": 0}}
    assert stream.stop() == 0


def test_the_earliest_events_are_those_that_kafka_has(streams: Streams, tmp_path: Path) -> None:
    stream = streams(tmp_path)
    stream.subscribe("ann", "a > 1")
    stream.publish({"a": 5.0}, partition=1)
    stream.start()
    ready = stream.waited(find_line(stream, "ready"), "the line that says ready")
    assert ready["starting_offsets"] == {stream.events: {"0": 0, "1": 0}}
    assert ready["from"] == "earliest"
    assert stream.stop() == 0
