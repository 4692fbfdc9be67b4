"""Versions for batches: what is recorded decides, what is over goes, what was read is not lost."""

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
from covey.store.local import LocalDirectory
from covey.stream.cluster import Cluster
from covey.stream.config import Kafka
from covey.stream.control import ControlTopic
from covey.stream.history import Historian
from covey.stream.messages import Change, Report, cancel_message, change_message
from covey.stream.records import Offsets, Record, Records
from covey.stream.subscriptions import LiveSubscriptions, label_of, position_of
from covey.testing.broker import Broker
from tests.stream.simple import change, create, follow, notified

EVENTS: Offsets = {"ads": {"0": (0, 5)}}
NOBODY = "127.0.0.1:1"  # where no Kafka is: whoever asks it fails


def no_report(changes: Sequence[Change]) -> None:
    raise AssertionError(changes)


def live(
    folder: Path, server: str = NOBODY, topic: str = "alerts", report: Report = no_report
) -> LiveSubscriptions:
    """The subscriptions of a state folder, whose control topic is read from its beginning."""
    place = folder / "store"
    store = Store.open(place) if place.exists() else create(place)
    control = ControlTopic(Cluster(Kafka(server)), topic, {0: 0})
    return LiveSubscriptions(
        store, control, Records(LocalDirectory(folder)), Historian(0), report, 0.0
    )


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[LiveSubscriptions]:
    """Without Kafka."""
    subscriptions = live(tmp_path)
    yield subscriptions
    subscriptions.close()


def test_a_version_says_up_to_where_it_has_the_control_topic(alone: LiveSubscriptions) -> None:
    store = alone.store
    assert position_of(store.snapshot().version) is None
    position = {10: 3, 0: 5, 2: 0}
    assert label_of(position) == '{"control": {"0": 5, "2": 0, "10": 3}}'
    changes = Historian(0).applied(store.snapshot(), [change("x", 100)], 0).changes
    assert position_of(store.apply(changes, label_of(position))) == position


def test_a_batch_that_was_recorded_is_decided_without_a_look_at_the_topic(
    alone: LiveSubscriptions,
) -> None:
    follow(alone.store, change("x", 100))
    follow(alone.store, change("y", 100))
    known = Record("q", 3, EVENTS, 1, 1000)
    alone.records.record(known)
    record, read = alone.decided_by("q", 3, EVENTS)
    assert (record, read.changes) == (known, 0)
    assert notified(alone.snapshot(record), (2, 0, 100)) == [["x"]]
    newest = alone.snapshot(Record("q", 4, EVENTS, 2, 0))
    assert notified(newest, (2, 0, 100)) == [["x", "y"]]


def test_nothing_is_cleaned_before_a_batch_is_decided(alone: LiveSubscriptions) -> None:
    """A batch may be about to be run again, with a version of before."""
    for at_ms in (100, 200):
        follow(alone.store, change("x", at_ms, None))
    alone.forget_before(1000)
    alone.clean(0)
    assert alone.store.versions == [0, 1, 2]
    assert len(alone.store.snapshot()) == 1


def test_cleaning_leaves_what_decides_the_last_batch_and_who_is_not_over(
    alone: LiveSubscriptions,
) -> None:
    label = label_of({0: 2})
    for given in ([change("x", 100), change("y", 100)], [change("x", 200, None)]):
        applied = Historian(0).applied(alone.store.snapshot(), given, 0)
        alone.store.apply(applied.changes, label)
    old, last = Record("q", 3, EVENTS, 0, 0), Record("q", 4, EVENTS, 1, 0)
    for record in (old, last):
        alone.records.record(record)
        path = alone.records.directory.local_path(record.name)
        assert path is not None
        os.utime(path, (record.batch, record.batch))
    alone.decided_by("q", 4, EVENTS)
    alone.forget_before(150)
    alone.clean(0)
    assert alone.store.versions == [1, 2]
    assert list(alone.records.newest_first()) == [last]
    alone.forget_before(300)
    alone.forget_before(50)  # what was forgotten is not remembered again
    alone.clean(0)
    snapshot = alone.store.snapshot()
    assert (alone.store.versions, snapshot.version.label) == ([1, 3], label)
    assert snapshot.ids(snapshot.rows).to_pylist() == ["y"]
    assert notified(alone.snapshot(last), (2, 0, 150)) == [["x", "y"]]


def test_who_subscribes_again_during_the_cleaning_stays(
    alone: LiveSubscriptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is over is looked for while batches are decided."""
    follow(alone.store, change("x", 100), change("y", 100))
    follow(alone.store, change("x", 200, None), change("y", 200, None))
    alone.records.record(Record("q", 3, EVENTS, 2, 0))
    alone.decided_by("q", 3, EVENTS)
    alone.forget_before(300)
    found = Snapshot.ended

    def ended(snapshot: Snapshot, attribute: str, before: int) -> NDArray[np.int64]:
        rows = found(snapshot, attribute, before)
        follow(alone.store, change("x", 400))
        return rows

    monkeypatch.setattr(Snapshot, "ended", ended)
    alone.clean(0)
    snapshot = alone.store.snapshot()
    assert snapshot.ids(snapshot.rows).to_pylist() == ["x"]
    assert notified(snapshot, (2, 0, 400)) == [["x"]]


def test_merges_forget_what_is_over(alone: LiveSubscriptions) -> None:
    follow(alone.store, *(change(f"{i}", 100) for i in range(10)))
    follow(alone.store, *(change(f"{i}", 200, None) for i in range(5)))
    alone.forget_before(300)
    follow(alone.store, *(change(f"{i}", 400) for i in range(10, 20)))
    while alone.store.merge():
        pass
    assert len(alone.store.snapshot()) == 15


@pytest.fixture
def topic(broker: Broker, request: pytest.FixtureRequest) -> str:
    name = f"alerts-{abs(hash(request.node.name)):x}"
    broker.create(name, message_timestamp_type="LogAppendTime")
    return name


def send(broker: Broker, topic: str, *messages: tuple[bytes, bytes | None]) -> None:
    producer = Producer({"bootstrap.servers": broker.address, "acks": "all", "log_level": 0})
    for key, value in messages:
        producer.produce(topic, value, key)
        assert producer.flush(60) == 0
        time.sleep(0.002)  # so that each has a millisecond of its own


def now(subscriptions: LiveSubscriptions) -> list[str]:
    """Who is notified of an event that is appended now."""
    (found,) = notified(subscriptions.store.snapshot(), (2, 0, time.time_ns() // 1_000_000))
    return found


@pytest.mark.integration
def test_a_report_that_fails_loses_no_change(tmp_path: Path, broker: Broker, topic: str) -> None:
    told: list[Change] = []

    def report(changes: Sequence[Change]) -> None:
        told.extend(changes)
        if len(told) == 1:
            raise StreamError("no broker takes it")

    subscriptions = live(tmp_path, broker.address, topic, report)
    send(broker, topic, change_message("x", "a > 1"), change_message("y", "price > 5"))
    before = subscriptions.followed
    with pytest.raises(StreamError, match="no broker takes it"):
        subscriptions.follow()
    assert subscriptions.followed == before
    send(broker, topic, change_message("z", "a > 1"))
    assert subscriptions.follow().changes == 3
    assert [one.id for one in told] == ["y", "y"]
    assert now(subscriptions) == ["x", "z"]
    assert position_of(subscriptions.store.snapshot().version) == {0: 3}
    subscriptions.close()


@pytest.mark.integration
@pytest.mark.parametrize("took_effect", [True, False])
def test_changes_count_once_however_a_version_fails(
    tmp_path: Path,
    broker: Broker,
    topic: str,
    took_effect: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A disk may fail after a version is there: then its changes are not to be applied again."""
    subscriptions = live(tmp_path, broker.address, topic)
    publish = LocalDirectory.publish

    def fails(self: LocalDirectory, name: str, content: bytes) -> None:
        if took_effect:
            publish(self, name, content)
        raise StoreError("the disk is gone")

    send(
        broker, topic, change_message("x", "a > 7"), change_message("x", "a > 1", revision=5),
    )  # fmt: skip
    with monkeypatch.context() as patched:
        patched.setattr(LocalDirectory, "publish", fails)
        with pytest.raises(StoreError, match="the disk is gone"):
            subscriptions.follow()
    between_ms = time.time_ns() // 1_000_000
    send(broker, topic, cancel_message("y"), cancel_message("x", revision=6))
    assert subscriptions.follow().ignored == 0
    snapshot = subscriptions.store.snapshot()
    assert notified(snapshot, (2, 0, between_ms)) == [["x"]]
    assert now(subscriptions) == []
    assert position_of(snapshot.version) == {0: 4}
    assert snapshot.revisions(snapshot.find(["x"])).tolist() == [6]
    subscriptions.close()
