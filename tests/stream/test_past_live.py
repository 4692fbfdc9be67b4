"""The past of a running stream: decisions, explanations, and replays with another version."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from covey.stream.explain import parse_event_ref
from covey.stream.metrics.status import read_status
from tests.stream.commands import Outcome
from tests.stream.conftest import Running
from tests.stream.live import Live

pytestmark = pytest.mark.integration

Run = Callable[..., Outcome]


class Asked:
    """Events of one partition whose notifications have been read from Kafka."""

    def __init__(self, stream: Live) -> None:
        (nobody,) = stream.publish({"of": "asked", "a": 2}, partition=0)
        stream.decided(nobody)
        stream.subscribe("asked", "of = 'asked' AND a > 1")
        self.notified, self.low, self.broken = stream.publish(
            {"of": "asked", "a": 2}, {"of": "asked", "a": 0}, "{broken", partition=0
        )
        stream.decided(self.broken)
        stream.cancel("asked")
        (self.after,) = stream.publish({"of": "asked", "a": 3}, partition=0)
        self.nobody = nobody
        places = (nobody, self.notified, self.low, self.broken, self.after)
        assert [*stream.notified(*places).values()] == [[], ["asked"], [], [], []]


@pytest.fixture(scope="module")
def asked(running: Running) -> Asked:
    return Asked(running.stream)


def test_explain_reports_the_decision_and_its_reason(
    running: Running, asked: Asked, run: Run
) -> None:
    stream = running.stream

    def explained(place: str, id: str = "asked") -> str:
        answer = run("explain", stream.path, "--event-offset", place, "--subscription", id)
        assert answer.code == 0, answer.err
        assert answer.err.startswith("next: covey stream ")
        return answer.out

    version = stream.decided(asked.notified).version
    said = explained(asked.notified)
    assert said.startswith(f"asked was notified of {asked.notified}: version {version}, batch ")
    assert "(in effect)" in said
    assert "(a is 2.0)" in said
    said = explained(asked.low)
    assert f"asked was not notified of {asked.low}" in said
    assert "(in effect)" in said
    assert "no: a > 1.0D    (a is 0.0)" in said
    said = explained(asked.after)
    assert f"asked was not notified of {asked.after}" in said
    assert "(not in effect)" in said
    said = explained(asked.broken)
    assert "the event could not be read: the value is not a JSON object" in said
    assert "was not notified" in said
    said = explained(asked.nobody)
    assert "was not notified" in said
    assert "has no subscription asked" in said
    words = ("explain", stream.path, "--event-offset", asked.notified, "--subscription", "nobody")
    refused = run(*words)
    assert refused.code == 2
    assert f"there is no subscription nobody, neither in version {version}" in refused.err
    topic, partition, offset = parse_event_ref(asked.after)
    unknown = f"{topic}-{partition}-{offset + 1000}"
    refused = run("explain", stream.path, "--event-offset", unknown, "--subscription", "asked")
    assert refused.code == 2
    assert "or was decided more than [state] retention_s" in refused.err


def test_a_replay_computes_past_notifications_and_sends_none(
    running: Running, asked: Asked, run: Run, tmp_path: Path
) -> None:
    stream, output = running.stream, tmp_path / "past.txt"
    first, end = ends(asked.nobody), ends(asked.after, 1)
    past = ("stream", stream.path, "--from", first, "--to", end, "--dry-run")
    sent = stream.read(stream.notifications)
    again = run(*past, "--output", output)
    assert again.code == 0, again.err
    assert again.err.startswith("next: covey explain ")
    assert "decided by version" in again.out
    assert f"1 would go to {stream.notifications}" in again.out
    assert f"1 would go to {stream.dead_letters}" in again.out
    lines = dict(line.split("\t") for line in output.read_text().splitlines())
    (was,) = [m.value().decode() for m in sent if asked.notified in m.value().decode()]
    assert lines[stream.notifications] == was
    assert json.loads(lines[stream.dead_letters])["event"] == asked.broken
    before = stream.decided(asked.nobody).version
    without = run(*past, "--version", before)
    assert f"decided by version {before}; no notification was sent" in without.out
    assert f"0 would go to {stream.notifications}" in without.out
    assert len(stream.read(stream.notifications)) == len(sent)
    refused = run(*past, "--output", output)
    assert (refused.code, refused.err) == (
        2, f"covey: {output} exists already: name another file with --output\n",
    )  # fmt: skip
    refused = run(*past, "--version", 100_000)
    assert refused.code == 2
    assert "[state] retention_s = 3600" in refused.err


def test_status_shows_the_activity_of_a_stream(running: Running, asked: Asked, run: Run) -> None:
    stream = running.stream
    batch = stream.decided(asked.after).batch
    stream.wait_for(lambda: is_shown(stream, batch), f"batch {batch} in the status")
    shown = run("status", stream.path, "--once")
    assert shown.code == 0
    words = " ".join(shown.out.split())
    assert ", running; in " in words
    assert f" {sum(one['events'] for one in stream.batches)} events, " in words
    assert "events per second" in words


def is_shown(stream: Live, batch: int) -> bool | None:
    """Return True if the status shows a batch and was written lately, otherwise None."""
    saved = read_status(str(stream.state))
    assert saved is not None
    is_fresh = time.time() - saved["written_ms"] / 1000 < 10
    return (is_fresh and saved["batches"][-1]["batch"] >= batch) or None


def ends(place: str, more: int = 0) -> str:
    """Return the offset of an event plus `more`, as Spark writes offsets."""
    topic, partition, offset = parse_event_ref(place)
    return json.dumps({topic: {str(partition): offset + more}})
