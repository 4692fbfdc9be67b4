"""Topics of a benchmark: create, fill, read and empty them.

Messages have the append times of the server, so delays are differences of one clock.
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
_SEGMENT = 64 << 20  # bytes of a segment: so small that deleted messages are removed soon
_KEPT = 1 << 30  # bytes retained per partition: enough for a backlog of events
_SECONDS = 60.0  # limit of one request
_WAIT_S = 0.1  # longest wait for a batch of messages
_AT_ONCE = 10_000  # messages of a batch


def producer(servers: str, **options: object) -> Producer:
    """Return a Kafka producer for large batches.

    `options` are further options of the producer, with `_` for each dot, such as `linger_ms`.
    """
    kafka_options = {name.replace("_", "."): value for name, value in options.items()}
    return Producer(
        {
            "bootstrap.servers": servers,
            "queue.buffering.max.messages": 1_000_000,
            "queue.buffering.max.kbytes": 512 << 10,
            "batch.size": 1 << 20,
            **kafka_options,
        }
    )


@dataclass(slots=True)
class Topics:
    """The topics of one Kafka server."""

    broker: KafkaServer
    _consumer: Any = field(default=None, init=False)
    _parts: dict[str, list[int]] = field(default_factory=dict, init=False)

    def create(self, *names: str) -> None:
        """Create topics with `PARTITIONS` partitions, one per core."""
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
        """Create a control topic, with log compaction."""
        self.broker.create_topic(
            name, message_timestamp_type="LogAppendTime", cleanup_policy="compact"
        )

    def fill(self, name: str, messages: Iterable[tuple[bytes | None, bytes | None]]) -> int:
        """Write keys and values as fast as possible, and return the number of messages."""
        count, kafka_producer = 0, producer(self.broker.address, linger_ms=50)
        for count, (key, value) in enumerate(messages, start=1):
            while True:
                try:
                    kafka_producer.produce(name, value, key)
                    break
                except BufferError:
                    kafka_producer.poll(0.05)
            if count % _AT_ONCE == 0:
                kafka_producer.poll(0)
        _flushed(kafka_producer)
        return count

    def fill_events(self, names: Iterable[str], values: list[bytes], count: int) -> None:
        """Write the same `count` events to each topic, equally to its partitions.

        `values` are used in turns.
        """
        kafka_producer = producer(self.broker.address, linger_ms=50)
        for name in names:
            for number, value in enumerate(islice(cycle(values), count)):
                while True:
                    try:
                        kafka_producer.produce(name, value, partition=number % PARTITIONS)
                        break
                    except BufferError:
                        kafka_producer.poll(0.05)
                if number % _AT_ONCE == 0:
                    kafka_producer.poll(0)
        _flushed(kafka_producer)

    def ends(self, name: str) -> dict[int, int]:
        """Return the next offset of each partition."""
        return {
            number: self._reader().get_watermark_offsets(TopicPartition(name, number), _SECONDS)[1]
            for number in self._partitions(name)
        }

    def size(self, name: str) -> int:
        """Return the number of all messages that were ever written to a topic."""
        return sum(self.ends(name).values())

    def at(self, name: str, time_ms: int) -> dict[int, int]:
        """Return for each partition the first offset that was appended at a time or later."""
        times = [TopicPartition(name, number, time_ms) for number in self._partitions(name)]
        offsets = self._reader().offsets_for_times(times, timeout=_SECONDS)
        ends = self.ends(name)
        return {p.partition: p.offset if p.offset >= 0 else ends[p.partition] for p in offsets}

    def read(
        self, name: str, start: Mapping[int, int], end: Mapping[int, int] | None = None
    ) -> Iterator[list[Any]]:
        """Yield messages between offsets, in lists; the default of `end` is the present end.

        Raises:
            RuntimeError: a message could not be read, or none arrived in time.
        """
        stop = dict(end or self.ends(name))
        unfinished = {number for number, offset in start.items() if offset < stop[number]}
        reader = Consumer(self._options() | {"fetch.message.max.bytes": 8 << 20})
        try:
            reader.assign([TopicPartition(name, number, start[number]) for number in unfinished])
            until = time.monotonic() + _SECONDS
            while unfinished:
                messages: list[Any] = reader.consume(_AT_ONCE, _WAIT_S)
                if not messages and time.monotonic() > until:
                    raise RuntimeError(
                        f"no message of topic {name} arrived in {_SECONDS:.0f} s, although "
                        f"partitions {unfinished} have more"
                    )
                if not messages:
                    continue
                until = time.monotonic() + _SECONDS
                for message in messages:
                    if message.error():
                        raise RuntimeError(f"topic {name}: {message.error()}")
                yield [m for m in messages if m.offset() < stop[m.partition()]]
                last = {message.partition(): message.offset() for message in messages}
                unfinished -= {n for n, offset in last.items() if offset >= stop[n] - 1}
        finally:
            reader.close()

    def empty(self, name: str) -> None:
        """Delete all messages of a topic."""
        admin = AdminClient({"bootstrap.servers": self.broker.address})
        ends = [TopicPartition(name, number, end) for number, end in self.ends(name).items() if end]
        for done in admin.delete_records(ends).values() if ends else ():
            done.result(_SECONDS)

    def close(self) -> None:
        """Close the consumer that reads offsets."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None

    def _reader(self) -> Any:
        if self._consumer is None:
            self._consumer = Consumer(self._options())
        return self._consumer

    def _partitions(self, name: str) -> list[int]:
        until = time.monotonic() + _SECONDS
        while not self._parts.get(name):  # a new topic is known with a delay
            if time.monotonic() > until:
                raise RuntimeError(f"topic {name} does not exist after {_SECONDS:.0f} s")
            metadata = self._reader().list_topics(name, _SECONDS).topics[name]
            self._parts[name] = sorted(metadata.partitions)
        return self._parts[name]

    def _options(self) -> dict[str, object]:
        return {
            "bootstrap.servers": self.broker.address,
            "group.id": "benchmark",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "log_level": 0,  # the server ends before this client, which would log that
        }


def _flushed(into: Producer) -> None:
    unsent = into.flush(_SECONDS)
    if unsent:
        raise RuntimeError(f"Kafka did not accept {unsent} messages in {_SECONDS:.0f} s")
