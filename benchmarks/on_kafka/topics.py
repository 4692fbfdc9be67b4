"""Topics of a benchmark: made, filled, read from outside, and emptied of what was read.

Every topic has the append times of the server, so delays are differences of one clock.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from covey.testing.kafka_server import KafkaServer

__all__ = ["PARTITIONS", "Topics", "producer"]

PARTITIONS = 2
_SEGMENT = 64 << 20  # bytes: small enough that what is deleted leaves the server
_KEPT = 1 << 30  # bytes of a partition, which a backlog of events fits in
_SECONDS = 60.0
_WAIT_S = 0.1  # for as many messages as are read at once
_AT_ONCE = 10_000


def producer(servers: str, **options: object) -> Producer:
    """One that fills large batches; `linger_ms` and others are given with `_` for dots."""
    given = {name.replace("_", "."): value for name, value in options.items()}
    return Producer(
        {
            "bootstrap.servers": servers,
            "queue.buffering.max.messages": 1_000_000,
            "queue.buffering.max.kbytes": 512 << 10,
            "batch.size": 1 << 20,
            **given,
        }
    )


@dataclass(slots=True)
class Topics:
    """The topics of one server."""

    broker: KafkaServer
    _consumer: Any = field(default=None, init=False)
    _parts: dict[str, list[int]] = field(default_factory=dict, init=False)

    def create(self, *names: str) -> None:
        """Makes topics of as many partitions as there are cores."""
        for name in names:
            self.broker.create_topic(
                name,
                PARTITIONS,
                message_timestamp_type="LogAppendTime",
                segment_bytes=str(_SEGMENT),
                retention_bytes=str(_KEPT),
                file_delete_delay_ms="1000",
            )

    def create_control(self, name: str) -> None:
        """Makes a compacted topic, as subscriptions are kept in."""
        self.broker.create_topic(
            name, message_timestamp_type="LogAppendTime", cleanup_policy="compact"
        )

    def fill(self, name: str, messages: Iterable[tuple[bytes | None, bytes | None]]) -> int:
        """Writes keys and values as fast as it goes, and gives how many there were."""
        count, into = 0, producer(self.broker.address, linger_ms=50)
        for count, (key, value) in enumerate(messages, start=1):
            while True:
                try:
                    into.produce(name, value, key)
                    break
                except BufferError:
                    into.poll(0.05)
            if count % _AT_ONCE == 0:
                into.poll(0)
        _flushed(into)
        return count

    def fill_events(self, names: Iterable[str], values: list[bytes], count: int) -> None:
        """Writes the same events to topics, as many to each partition; values are used in turns."""
        into = producer(self.broker.address, linger_ms=50)
        for name in names:
            for number, value in enumerate(islice(cycle(values), count)):
                while True:
                    try:
                        into.produce(name, value, partition=number % PARTITIONS)
                        break
                    except BufferError:
                        into.poll(0.05)
                if number % _AT_ONCE == 0:
                    into.poll(0)
        _flushed(into)

    def ends(self, name: str) -> dict[int, int]:
        """The next offset of each partition."""
        return {
            part: self._reader().get_watermark_offsets(TopicPartition(name, part), _SECONDS)[1]
            for part in self._partitions(name)
        }

    def size(self, name: str) -> int:
        """How many messages were ever written."""
        return sum(self.ends(name).values())

    def at(self, name: str, time_ms: int) -> dict[int, int]:
        """The first offset of each partition that was appended at that time or later."""
        asked = [TopicPartition(name, part, time_ms) for part in self._partitions(name)]
        found = self._reader().offsets_for_times(asked, timeout=_SECONDS)
        ends = self.ends(name)
        return {at.partition: at.offset if at.offset >= 0 else ends[at.partition] for at in found}

    def read(
        self, name: str, start: Mapping[int, int], end: Mapping[int, int] | None = None
    ) -> Iterator[list[Any]]:
        """Messages between offsets, in lists; to the ends of now unless told."""
        stop = dict(end or self.ends(name))
        left = {part for part, offset in start.items() if offset < stop[part]}
        reader = Consumer(self._options() | {"fetch.message.max.bytes": 8 << 20})
        try:
            reader.assign([TopicPartition(name, part, start[part]) for part in left])
            until = time.monotonic() + _SECONDS
            while left:
                found: list[Any] = reader.consume(
                    _AT_ONCE, _WAIT_S
                )  # waits for so many, or so long
                if not found and time.monotonic() > until:
                    raise RuntimeError(f"{name} gives nothing more, but partitions {left} have it")
                if not found:
                    continue
                until = time.monotonic() + _SECONDS
                for message in found:
                    if message.error():
                        raise RuntimeError(f"{name}: {message.error()}")
                yield [message for message in found if message.offset() < stop[message.partition()]]
                last = {message.partition(): message.offset() for message in found}
                left -= {part for part, offset in last.items() if offset >= stop[part] - 1}
        finally:
            reader.close()

    def empty(self, name: str) -> None:
        """Deletes all that is on a topic."""
        admin = AdminClient({"bootstrap.servers": self.broker.address})
        ends = [TopicPartition(name, part, end) for part, end in self.ends(name).items() if end]
        for done in admin.delete_records(ends).values() if ends else ():
            done.result(_SECONDS)

    def close(self) -> None:
        """Ends the consumer that asks for offsets."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None

    def _reader(self) -> Any:
        if self._consumer is None:
            self._consumer = Consumer(self._options())
        return self._consumer

    def _partitions(self, name: str) -> list[int]:
        until = time.monotonic() + _SECONDS
        while not self._parts.get(name):  # a new topic is known a little after it is there
            if time.monotonic() > until:
                raise RuntimeError(f"there is no topic {name}")
            found = self._reader().list_topics(name, _SECONDS).topics[name]
            self._parts[name] = sorted(found.partitions)
        return self._parts[name]

    def _options(self) -> dict[str, object]:
        return {
            "bootstrap.servers": self.broker.address,
            "group.id": "benchmark",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "log_level": 0,  # the server ends before this client does
        }


def _flushed(into: Producer) -> None:
    left = into.flush(_SECONDS)
    if left:
        raise RuntimeError(f"{left} messages were not taken in {_SECONDS:.0f} s")
