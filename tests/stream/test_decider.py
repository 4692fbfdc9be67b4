"""Batches are decided as soon as Spark has fixed their events, and not before."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from covey.errors import StreamError
from covey.space import Attribute
from covey.space.types import DOUBLE
from covey.store.storage.local import LocalBackend
from covey.stream.batches.checkpoint import Checkpoint
from covey.stream.batches.decider import BatchDecider, PendingBatches
from covey.stream.batches.decision_log import BatchDecision, DecisionLog
from covey.stream.control.subscriptions import ControlReadStats, LiveSubscriptions
from covey.stream.events.match_query import RequiredAttributes
from covey.stream.metrics.accumulator import TaskCounts
from covey.stream.metrics.batch_metrics import CompletedBatch, build_batch_metrics
from tests.stream.live import wait_for
from tests.stream.simple import change, create, follow

A = RequiredAttributes((Attribute("a", DOUBLE),))


class Followed(LiveSubscriptions):
    """Live subscriptions whose control topic is a list of the test."""

    def __init__(self, folder: Path) -> None:
        self.store, self.decision_log = create(folder / "store"), DecisionLog(LocalBackend(folder))
        self.waiting: list[str] = []
        self.failure: Exception | None = None

    def decide_batch(
        self, query_id: str, batch: int, offset_ranges: object, time_ms: int
    ) -> tuple[BatchDecision, ControlReadStats]:
        if self.failure is not None:
            raise self.failure
        if (earlier := self.decision_log.find(query_id, batch, {})) is not None:
            return earlier, ControlReadStats()
        for predicate in self.waiting:
            follow(self.store, change(predicate, 100, predicate))
        read, self.waiting = ControlReadStats(len(self.waiting)), []
        version = self.store.snapshot().manifest.version
        return self.decision_log.record_if_absent(
            BatchDecision(query_id, batch, {}, version, 0, time_ms)
        ), read


@pytest.fixture
def subscriptions(tmp_path: Path) -> Followed:
    checkpoint = tmp_path / "checkpoint"
    for name in ("offsets", "commits", "sources/0"):
        (checkpoint / name).mkdir(parents=True)
    (checkpoint / "metadata").write_text('{"id":"q"}')
    (checkpoint / "sources/0/0").write_text('v1\n{"ads":{"0":0}}')
    return Followed(tmp_path)


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return tmp_path / "checkpoint"


@pytest.fixture
def waiting() -> PendingBatches:
    return {}


@pytest.fixture
def started(
    subscriptions: Followed, checkpoint: Path, waiting: PendingBatches
) -> Iterator[Callable[[], BatchDecider]]:
    deciders: list[BatchDecider] = []

    def start() -> BatchDecider:
        found = BatchDecider(subscriptions, Checkpoint(LocalBackend(checkpoint)), A, waiting)
        deciders.append(found)
        return found

    yield start
    for one in deciders:
        one.close()


def fix(checkpoint: Path, batch: int) -> None:
    partial = checkpoint / "partial"
    partial.write_text(f'v1\n{{"batchTimestampMs":{batch}}}\n{{"ads":{{"0":{batch + 5}}}}}')
    partial.rename(checkpoint / "offsets" / str(batch))


def wait_for_decision(subscriptions: Followed, batch: int) -> BatchDecision:
    """Wait for the decision of a batch, and return it."""
    return wait_for(
        lambda: subscriptions.decision_log.find("q", batch, {}), "the decision", seconds=10
    )


def test_a_batch_is_decided_when_its_events_are_fixed(
    subscriptions: Followed,
    checkpoint: Path,
    started: Callable[[], BatchDecider],
    waiting: PendingBatches,
) -> None:
    subscriptions.waiting = ["a > 1"]
    decider = started()
    time.sleep(0.05)
    assert subscriptions.decision_log.find("q", 0, {}) is None
    fix(checkpoint, 0)
    assert wait_for_decision(subscriptions, 0).version == 1
    subscriptions.waiting = ["a > 2", "a > 3"]
    (checkpoint / "commits" / "0").touch()
    fix(checkpoint, 1)
    assert wait_for_decision(subscriptions, 1).version == 3
    assert decider.close() == 1
    assert [one.control_stats.changes for one in waiting.values()] == [1, 2]
    assert waiting[1].snapshot.manifest.version == 3
    assert decider.error is None


def test_a_decider_continues_with_the_first_uncommitted_batch(
    subscriptions: Followed, checkpoint: Path, started: Callable[[], BatchDecider]
) -> None:
    for batch in (0, 1):
        fix(checkpoint, batch)
    (checkpoint / "commits" / "0").touch()
    started()
    assert wait_for_decision(subscriptions, 1).batch == 1
    assert subscriptions.decision_log.find("q", 0, {}) is None


def test_a_version_with_new_attributes_is_recorded_and_ends_the_run(
    subscriptions: Followed,
    checkpoint: Path,
    started: Callable[[], BatchDecider],
    waiting: PendingBatches,
) -> None:
    subscriptions.waiting = ["a > 1", "b > 1"]
    decider = started()
    fix(checkpoint, 0)
    assert decider.run_ended.wait(120)
    assert decider.error is None
    assert wait_for_decision(subscriptions, 0).version == 2
    assert decider.required_attributes.names == ("a", "b")
    assert started().run_ended.wait(120)
    assert waiting[0].control_stats.changes == 2  # the run that decides nothing keeps it


def test_a_failure_ends_the_run(
    subscriptions: Followed, checkpoint: Path, started: Callable[[], BatchDecider]
) -> None:
    subscriptions.failure = StreamError("Kafka is away")
    decider = started()
    fix(checkpoint, 0)
    assert decider.run_ended.wait(120)
    assert decider.error is subscriptions.failure
    assert decider.close() is None


def test_nothing_is_decided_after_close(
    subscriptions: Followed, checkpoint: Path, started: Callable[[], BatchDecider]
) -> None:
    decider = started()
    assert decider.close() is None
    fix(checkpoint, 0)
    time.sleep(0.05)
    assert subscriptions.decision_log.find("q", 0, {}) is None


PROGRESS = {
    "batchId": 3, "timestamp": "2026-11-16T02:00:00.000Z",
    "durationMs": {"addBatch": 120, "triggerExecution": 200},
}  # fmt: skip


def test_metrics_combine_spark_progress_and_the_decision(
    subscriptions: Followed,
    checkpoint: Path,
    started: Callable[[], BatchDecider],
    waiting: PendingBatches,
) -> None:
    subscriptions.waiting = ["a > 1"]
    decider = started()
    fix(checkpoint, 0)
    wait_for_decision(subscriptions, 0)
    decider.close()
    decided = waiting[0]
    start_ms = 1_794_794_400_000
    counted = {"events": 10, "oldest": start_ms - 500, "mean": start_ms - 100.0}
    done = CompletedBatch.from_progress({**PROGRESS, "observedMetrics": {"covey": counted}})
    assert done is not None
    all_ = build_batch_metrics(decided, done, TaskCounts(40, 52, 1))
    assert (all_.events, all_.notifications, all_.dead_letters, all_.false_candidates) == (
        10,
        40,
        1,
        12,
    )
    assert (all_.delay_max_ms, all_.delay_mean_ms, all_.match_ms) == (700, 300.0, 120)
    assert (all_.changes, all_.version, all_.segments) == (1, 1, 1)
    unknown = CompletedBatch.from_progress(PROGRESS)
    assert unknown is not None
    few = build_batch_metrics(decided, unknown, None)
    assert (few.notifications, few.dead_letters, few.false_candidates, few.delay_max_ms) == (
        *[None] * 3,
        0,
    )


def test_a_trigger_without_events_is_no_batch() -> None:
    assert (
        CompletedBatch.from_progress(
            {**PROGRESS, "durationMs": {"triggerExecution": 3, "latestOffset": 3}}
        )
        is None
    )
