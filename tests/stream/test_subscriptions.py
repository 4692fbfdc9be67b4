"""Live subscriptions: recorded decisions count, expired data is deleted, and no change is lost."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from confluent_kafka import Producer
from numpy.typing import NDArray

from covey.errors import StoreError, StreamError
from covey.store import Snapshot, Store
from covey.store.storage.local import LocalBackend
from covey.stream.batches.decision_log import BatchDecision, DecisionLog, OffsetRanges
from covey.stream.config import KafkaConfig
from covey.stream.control.change_translator import ChangeTranslator
from covey.stream.control.messages import (
    SubscriptionChange,
    UnreadableChangeHandler,
    cancel_message,
    subscription_message,
)
from covey.stream.control.reader import ControlTopicReader
from covey.stream.control.subscriptions import LiveSubscriptions, format_label, parse_position
from covey.stream.kafka_cluster import KafkaCluster
from covey.testing.kafka_server import KafkaServer
from tests.stream.simple import change, create, follow, match_events

EVENTS: OffsetRanges = {"ads": {"0": (0, 5)}}
NO_SERVER = "127.0.0.1:1"  # no Kafka server is here: requests fail


def no_report(changes: Sequence[SubscriptionChange]) -> None:
    raise AssertionError(changes)


def live(
    folder: Path,
    server: str = NO_SERVER,
    topic: str = "alerts",
    report: UnreadableChangeHandler = no_report,
) -> LiveSubscriptions:
    """Return the subscriptions of a state folder, with a control topic read from its beginning."""
    location = folder / "store"
    store = Store.open(location) if location.exists() else create(location)
    control = ControlTopicReader(KafkaCluster(KafkaConfig(server)), topic, {0: 0})
    return LiveSubscriptions(
        store, control, DecisionLog(LocalBackend(folder)), ChangeTranslator(0), report, 0.0
    )


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[LiveSubscriptions]:
    """Yield live subscriptions without Kafka."""
    subscriptions = live(tmp_path)
    yield subscriptions
    subscriptions.close()


def test_a_version_has_its_position_in_the_control_topic(alone: LiveSubscriptions) -> None:
    store = alone.store
    assert parse_position(store.snapshot().manifest) is None
    position = {10: 3, 0: 5, 2: 0}
    assert format_label(position) == '{"control": {"0": 5, "2": 0, "10": 3}}'
    changes = ChangeTranslator(0).translate(store.snapshot(), [change("x", 100)], 0).store_changes
    assert parse_position(store.apply(changes, format_label(position))) == position


def test_a_recorded_batch_is_decided_without_reading_the_topic(
    alone: LiveSubscriptions,
) -> None:
    follow(alone.store, change("x", 100))
    follow(alone.store, change("y", 100))
    recorded = BatchDecision("q", 3, EVENTS, 1, 1000, 0)
    alone.decision_log.record_if_absent(recorded)
    record, read = alone.decide_batch("q", 3, EVENTS, 0)
    assert (record, read.changes) == (recorded, 0)
    assert match_events(alone.open_snapshot(record), (2, 0, 100)) == [["x"]]
    newest = alone.open_snapshot(BatchDecision("q", 4, EVENTS, 2, 0, 0))
    assert match_events(newest, (2, 0, 100)) == [["x", "y"]]


def test_nothing_is_deleted_before_a_batch_is_decided(alone: LiveSubscriptions) -> None:
    """A batch may be about to be repeated with an earlier version."""
    for at_ms in (100, 200):
        follow(alone.store, change("x", at_ms, None))
    alone.expire_before(1000)
    alone.vacuum(0)
    assert alone.store.versions == [0, 1, 2]
    assert len(alone.store.snapshot()) == 1


def test_vacuum_keeps_the_version_of_the_last_batch_and_live_subscriptions(
    alone: LiveSubscriptions,
) -> None:
    label = format_label({0: 2})
    for given in ([change("x", 100), change("y", 100)], [change("x", 200, None)]):
        applied = ChangeTranslator(0).translate(alone.store.snapshot(), given, 0)
        alone.store.apply(applied.store_changes, label)
    old, last = BatchDecision("q", 3, EVENTS, 0, 0, 0), BatchDecision("q", 4, EVENTS, 1, 0, 0)
    for record in (old, last):
        alone.decision_log.record_if_absent(record)
        path = alone.decision_log.storage.local_path(record.file_name)
        assert path is not None
        os.utime(path, (record.batch, record.batch))
    alone.decide_batch("q", 4, EVENTS, 0)
    alone.expire_before(150)
    alone.vacuum(0)
    assert alone.store.versions == [1, 2]
    assert list(alone.decision_log.iter_newest_first()) == [last]
    alone.expire_before(300)
    alone.expire_before(50)  # an earlier horizon does not replace a later one
    alone.vacuum(0)
    snapshot = alone.store.snapshot()
    assert (alone.store.versions, snapshot.manifest.label) == ([1, 3], label)
    assert snapshot.take_ids(snapshot.rows).to_pylist() == ["y"]
    assert match_events(alone.open_snapshot(last), (2, 0, 150)) == [["x", "y"]]


def test_a_subscription_renewed_during_vacuum_stays(
    alone: LiveSubscriptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Expired subscriptions are searched while batches are decided."""
    follow(alone.store, change("x", 100), change("y", 100))
    follow(alone.store, change("x", 200, None), change("y", 200, None))
    alone.decision_log.record_if_absent(BatchDecision("q", 3, EVENTS, 2, 0, 0))
    alone.decide_batch("q", 3, EVENTS, 0)
    alone.expire_before(300)
    found = Snapshot.find_expired

    def ended(snapshot: Snapshot, attribute: str, before: int) -> NDArray[np.int64]:
        rows = found(snapshot, attribute, before)
        follow(alone.store, change("x", 400))
        return rows

    monkeypatch.setattr(Snapshot, "find_expired", ended)
    alone.vacuum(0)
    snapshot = alone.store.snapshot()
    assert snapshot.take_ids(snapshot.rows).to_pylist() == ["x"]
    assert match_events(snapshot, (2, 0, 400)) == [["x"]]


def test_merges_drop_expired_subscriptions(alone: LiveSubscriptions) -> None:
    follow(alone.store, *(change(f"{i}", 100) for i in range(10)))
    follow(alone.store, *(change(f"{i}", 200, None) for i in range(5)))
    alone.expire_before(300)
    follow(alone.store, *(change(f"{i}", 400) for i in range(10, 20)))
    while alone.store.merge():
        pass
    assert len(alone.store.snapshot()) == 15


@pytest.fixture
def topic(broker: KafkaServer, request: pytest.FixtureRequest) -> str:
    name = f"alerts-{abs(hash(request.node.name)):x}"
    broker.create_topic(name, message_timestamp_type="LogAppendTime")
    return name


def send(broker: KafkaServer, topic: str, *messages: tuple[bytes, bytes | None]) -> None:
    producer = Producer({"bootstrap.servers": broker.address, "acks": "all", "log_level": 0})
    for key, value in messages:
        producer.produce(topic, value, key)
        assert producer.flush(60) == 0
        time.sleep(0.002)  # so that each message has its own millisecond


def now(subscriptions: LiveSubscriptions) -> list[str]:
    """Return the ids that an event appended now notifies."""
    (found,) = match_events(subscriptions.store.snapshot(), (2, 0, time.time_ns() // 1_000_000))
    return found


@pytest.mark.integration
def test_a_failed_report_loses_no_change(tmp_path: Path, broker: KafkaServer, topic: str) -> None:
    reported: list[SubscriptionChange] = []

    def report(changes: Sequence[SubscriptionChange]) -> None:
        reported.extend(changes)
        if len(reported) == 1:
            raise StreamError("no broker takes it")

    subscriptions = live(tmp_path, broker.address, topic, report)
    send(broker, topic, subscription_message("x", "a > 1"), subscription_message("y", "price > 5"))
    before = subscriptions.control_position
    with pytest.raises(StreamError, match="no broker takes it"):
        subscriptions.sync_control()
    assert subscriptions.control_position == before
    send(broker, topic, subscription_message("z", "a > 1"))
    assert subscriptions.sync_control().changes == 3
    assert [one.subscription_id for one in reported] == ["y", "y"]
    assert now(subscriptions) == ["x", "z"]
    assert parse_position(subscriptions.store.snapshot().manifest) == {0: 3}
    subscriptions.close()


@pytest.mark.integration
@pytest.mark.parametrize("took_effect", [True, False])
def test_changes_count_once_even_if_a_commit_fails(
    tmp_path: Path,
    broker: KafkaServer,
    topic: str,
    took_effect: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A disk may fail after the manifest was written: the changes must not be applied twice."""
    subscriptions = live(tmp_path, broker.address, topic)
    publish = LocalBackend.put_if_absent

    def fails(self: LocalBackend, name: str, content: bytes) -> None:
        if took_effect:
            publish(self, name, content)
        raise StoreError("the disk is gone")

    send(
        broker,
        topic,
        subscription_message("x", "a > 7"),
        subscription_message("x", "a > 1", revision=5),
    )
    with monkeypatch.context() as patched:
        patched.setattr(LocalBackend, "put_if_absent", fails)
        with pytest.raises(StoreError, match="the disk is gone"):
            subscriptions.sync_control()
    between_ms = time.time_ns() // 1_000_000
    send(broker, topic, cancel_message("y"), cancel_message("x", revision=6))
    assert subscriptions.sync_control().ignored_changes == 0
    snapshot = subscriptions.store.snapshot()
    assert match_events(snapshot, (2, 0, between_ms)) == [["x"]]
    assert now(subscriptions) == []
    assert parse_position(snapshot.manifest) == {0: 4}
    assert snapshot.take_revisions(snapshot.find_rows(["x"])).tolist() == [6]
    subscriptions.close()
