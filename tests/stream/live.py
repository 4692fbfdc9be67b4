"""A stream as its users see it: a process, messages that go in, and messages that come out.

Each stream has its own topics and state folder. Nothing here waits for a fixed time: an event is
decided when its batch is in the log, and its notifications are on Kafka by then.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from covey.store.storage.location import open_storage
from covey.stream import cancel_message, subscription_message
from covey.stream.batches.decision_log import BatchDecision, DecisionLog
from covey.stream.explain import parse_event_ref
from covey.testing.kafka_server import KafkaServer
from tests.stream.commands import Commands, die_with_parent

ROOT = Path(__file__).parents[2]
COVEY = str(Path(sys.executable).with_name("covey"))
APPENDED = {"message_timestamp_type": "LogAppendTime"}
SMALL = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.streaming.pollingDelay": "50ms",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.databricks.delta.snapshotPartitions": "2",
}
"""Java compiles less for a process that ends in a minute; few rows need few tasks, and no compiled
expressions."""
SECONDS = 300.0  # for operations that take a few seconds, on busy machines

T = TypeVar("T")
Value = dict[str, Any] | str | bytes | None


class Live:
    """A stream that can be started, killed or stopped, and started again.

    It runs in the process of `commands`, which has Spark already, unless it is started in its own
    process, which can be killed. Sections of the configuration are given by name and merged into
    the default ones; a value of None is left out.
    """

    def __init__(
        self, broker: KafkaServer, folder: Path, commands: Commands, **sections: dict[str, Any]
    ) -> None:
        name, self._commands = uuid.uuid4().hex[:8], commands
        self.broker, self.folder = broker, folder
        self.events, self.control = f"events-{name}", f"control-{name}"
        self.notifications, self.dead_letters = f"notifications-{name}", f"dead-{name}"
        broker.create_topic(self.events, 2, **APPENDED)
        broker.create_topic(self.control, 1, cleanup_policy="compact", **APPENDED)
        broker.create_topic(self.notifications, 2)
        broker.create_topic(self.dead_letters, 1)
        self.path, self.state = folder / "stream.toml", folder / "state"
        self.configure(**sections)
        self._producer = producer(broker)
        self._process: subprocess.Popen[bytes] | None = None
        self._is_hosted = False
        self._code: int | None = None

    def configure(self, **sections: dict[str, Any]) -> Path:
        """Write the configuration; a running process keeps the one that it has read."""
        usual: dict[str, dict[str, Any]] = {
            "kafka": {"servers": self.broker.address},
            "events": {
                "topics": [self.events], "schema": "a DOUBLE", "starting_offsets": "earliest",
                "max_events_per_batch": 50_000,
            },
            "subscriptions": {"topic": self.control, "clock_skew_ms": 0},
            "notifications": {"topic": self.notifications},
            "dead_letters": {"topic": self.dead_letters},
            "state": {"path": "state"},
            "spark": {
                "master": "local[2,4]", "jars": str(ROOT / ".jars" / "*.jar"), "conf": SMALL,
            },
        }  # fmt: skip
        self.sections, lines = sections, []
        for section in {**usual, **sections}:
            lines.append(f"[{section}]")
            settings = {**usual.get(section, {}), **sections.get(section, {})}
            lines += [
                f"{key} = {_toml(value)}" for key, value in settings.items() if value is not None
            ]
        self.path.write_text("\n".join(lines), encoding="utf-8")
        return self.path

    # The process of the driver

    def start(self, own_process: bool = False) -> None:
        """Start the driver without waiting."""
        assert not self._is_hosted
        assert self._process is None
        log, self._code = self.folder / "log", None
        if not own_process:
            self._commands.start(["stream", self.path], self.folder, log)
            self._is_hosted = True
            return
        with log.open("ab") as file:
            self._process = subprocess.Popen(
                [COVEY, "stream", str(self.path)],
                cwd=self.folder, stdout=file, stderr=file, start_new_session=True,
                preexec_fn=die_with_parent,
            )  # fmt: skip

    def kill(self) -> None:
        """End a driver with its own process as a power failure would."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self.ended()

    def stop(self) -> int:
        """Ask the driver to end, and return its exit code."""
        if self._is_hosted:
            self._commands.terminate()
        else:
            assert self._process is not None
            self._process.send_signal(signal.SIGTERM)
        return self.ended()

    def interrupt(self) -> int:
        """Send SIGINT to all processes of the driver, as Ctrl-C does, and return its exit code."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGINT)
        return self.ended()

    def ended(self) -> int:
        """Wait until the driver and all of its child processes have ended; return its exit code."""
        if self._is_hosted:
            wait_for(lambda: not self.is_running or None, "the end of the stream")
            assert self._code is not None
            return self._code
        assert self._process is not None
        process, self._process = self._process, None
        try:
            code = process.wait(SECONDS)
            wait_for(lambda: not _is_there(process.pid) or None, "the end of Spark")
        finally:
            _kill_group(process.pid)
            process.wait()
        return code

    def close(self) -> None:
        """End all remaining processes."""
        if self._is_hosted:
            self._is_hosted = False
            self._commands.close()  # with a stream that did not end in time
        if self._process is not None:
            _kill_group(self._process.pid)
            self._process.wait()
            self._process = None

    @property
    def is_running(self) -> bool:
        if self._is_hosted and (outcome := self._commands.outcome(0.0)) is not None:
            self._is_hosted, self._code = False, outcome.code
        is_alive = self._process is not None and self._process.poll() is None
        return self._is_hosted or is_alive

    # Messages that go in

    def publish(self, *values: Value, key: str = "k", partition: int = -1) -> list[str]:
        """Send events, wait until Kafka has them, and return their event refs in order."""
        return send_all(self._producer, self.events, [(key.encode(), v) for v in values], partition)

    def subscribe(self, id: str, predicate: str, **others: Any) -> str:
        """Send a change, wait until it is acknowledged, and return its message ref."""
        return self.change(*subscription_message(id, predicate, **others))

    def cancel(self, id: str, **others: Any) -> str:
        return self.change(*cancel_message(id, **others))

    def change(self, key: bytes, value: Value) -> str:
        """Send any message to the control topic, and return its message ref.

        Events that were acknowledged before have an earlier time than the message, to the
        millisecond.
        """
        time.sleep(0.002)
        (place,) = send_all(self._producer, self.control, [(key, value)])
        return place

    # Messages that come out

    def notified(self, *places: str) -> dict[str, list[str]]:
        """Wait until events are decided, and return the subscriptions notified of each."""
        self.decided(*places)
        found: dict[str, list[str]] = {place: [] for place in places}
        for note in map(read_json, self.read(self.notifications)):
            if note["event"] in found:
                found[note["event"]].append(note["subscription"])
        return {place: sorted(ids) for place, ids in found.items()}

    def decided(self, *places: str) -> BatchDecision:
        """Wait until events are decided, and return the newest decision of one of them."""
        records, newest = DecisionLog(open_storage(str(self.state))), list[BatchDecision]()
        last: dict[tuple[str, int], int] = {}
        for topic, partition, offset in map(parse_event_ref, places):
            last[topic, partition] = max(offset, last.get((topic, partition), 0))
        for (topic, partition), offset in last.items():
            where = (topic, partition, offset)
            found = partial(records.find_by_event, *where)
            newest.append(self.wait_for(found, f"the batch of {where}"))
        record = max(newest, key=lambda one: one.batch)
        self.wait_for(partial(self._done, record), f"the end of batch {record.batch}")
        return record

    def read(self, topic: str) -> list[Message]:
        """Return all committed messages of a topic."""
        return list(_to_end(self.broker, topic))

    def letters(self) -> dict[str, dict[str, Any]]:
        """Return the dead letters by the event ref or message ref that they are about."""
        letters = map(read_json, self.read(self.dead_letters))
        return {letter.get("event") or letter["change"]: letter for letter in letters}

    @property
    def log(self) -> list[dict[str, Any]]:
        """Log lines so far, of all processes of this stream."""
        return [json.loads(line) for line in self.printed.splitlines() if line.startswith("{")]

    @property
    def printed(self) -> str:
        path = self.folder / "log"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    @property
    def batches(self) -> list[dict[str, Any]]:
        """Log lines of the completed batches, of all processes of this stream."""
        return [line for line in self.log if line["what"] == "batch"]

    def _done(self, record: BatchDecision) -> bool | None:
        is_it = ((one["batch"], one["completed_ms"] >= record.written_ms) for one in self.batches)
        return (record.batch, True) in is_it or None

    def wait_for(self, found: Callable[[], T | None], what: str) -> T:
        """Wait until a function returns a value while the driver runs, and return the value."""

        def still() -> T | None:
            is_running, answer = self.is_running, found()
            assert is_running or answer is not None, self.printed[-5000:]
            return answer

        try:
            return wait_for(still, what)
        except TimeoutError as error:
            raise AssertionError(f"{error}\n{self.printed[-5000:]}") from None


def wait_for(found: Callable[[], T | None], what: str, seconds: float = SECONDS) -> T:
    """Wait until a function returns a value, and return the value."""
    until = time.monotonic() + seconds
    while (answer := found()) is None:
        if time.monotonic() > until:
            raise TimeoutError(f"{what} did not happen in {seconds:g} seconds")
        time.sleep(0.05)
    return answer


def producer(broker: KafkaServer, **settings: str) -> Producer:
    """Return a producer that sends without delay."""
    usual = {"bootstrap.servers": broker.address, "acks": "all", "linger.ms": 0, "log_level": 0}
    return Producer(usual | {name.replace("_", "."): value for name, value in settings.items()})


def send_all(
    producer: Producer, topic: str, messages: Sequence[tuple[bytes, Value]], partition: int = -1
) -> list[str]:
    """Send messages, wait until Kafka has acknowledged them, and return their refs."""
    places = [""] * len(messages)

    def taken(row: int) -> Callable[[KafkaError | None, Message], None]:
        def note(error: KafkaError | None, message: Message) -> None:
            assert error is None, error
            places[row] = f"{message.topic()}-{message.partition()}-{message.offset()}"

        return note

    for row, (key, value) in enumerate(messages):
        content = json.dumps(value) if isinstance(value, dict) else value
        producer.produce(topic, content, key, partition, on_delivery=taken(row))
    assert producer.flush(SECONDS) == 0
    return places


def read_json(message: Message) -> dict[str, Any]:
    """Return the JSON object in a message."""
    found: dict[str, Any] = json.loads(message.value() or b"")
    return found


def free_port() -> int:
    """Return a port that is not in use."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        found: int = one.getsockname()[1]
        return found


def _to_end(broker: KafkaServer, topic: str) -> Iterator[Message]:
    settings = {
        "bootstrap.servers": broker.address, "group.id": "tests", "enable.auto.commit": False,
        "auto.offset.reset": "earliest", "enable.partition.eof": True, "log_level": 0,
        "isolation.level": "read_committed",
    }  # fmt: skip
    consumer = Consumer(settings)
    partitions = consumer.list_topics(topic, timeout=60).topics[topic].partitions
    consumer.assign([TopicPartition(topic, p, 0) for p in partitions])
    left = set(partitions)
    while left:
        message = consumer.poll(60)
        assert message is not None, f"{topic} cannot be read to its end"
        if (error := message.error()) is None:
            yield message
        elif error.code() == KafkaError._PARTITION_EOF:
            left.discard(message.partition())
        else:
            assert error.retriable(), error
    consumer.close()


def _is_there(group: int) -> bool:
    try:
        os.killpg(group, 0)
        return True
    except ProcessLookupError:
        return False


def _kill_group(group: int) -> None:
    if _is_there(group):
        os.killpg(group, signal.SIGKILL)


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(k)} = {_toml(v)}" for k, v in value.items()) + " }"
    return json.dumps(value)
