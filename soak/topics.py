"""Committed records of a topic, read from its beginning to its present end or continuously."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, cast

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

__all__ = ["Record", "consumer", "ends", "partitions", "records", "tail"]

_SECONDS = 60.0  # limit of a request to a server that may be starting


class Record(NamedTuple):
    """One record of a topic; `time_ms` is its append time."""

    partition: int
    offset: int
    time_ms: int
    key: bytes | None
    value: bytes | None
    headers: dict[str, str]

    @classmethod
    def of(cls, message: Message) -> Record:
        """Return the record of a message that is not an error."""
        raw_headers = cast("list[tuple[str, bytes]] | None", message.headers())
        headers = {name: value.decode() for name, value in raw_headers} if raw_headers else {}
        partition, offset = cast(int, message.partition()), cast(int, message.offset())
        return cls(
            partition, offset, message.timestamp()[1], message.key(), message.value(), headers
        )


def consumer(servers: str) -> Consumer:
    """Return a consumer that commits no offsets, and reports the end of a partition."""
    return Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "soak",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "auto.offset.reset": "error",
            "reconnect.backoff.max.ms": 1000,
            "log_level": 0,
        }
    )


def partitions(reader: Consumer, topic: str) -> list[int]:
    """Return the numbers of a topic's partitions."""
    metadata = reader.list_topics(topic, timeout=_SECONDS).topics[topic]
    if metadata.error is not None:
        raise KafkaException(metadata.error)
    return sorted(metadata.partitions)


def ends(servers: str, topic: str) -> dict[int, int]:
    """Return the offset of the next record to be appended for each partition."""
    reader = consumer(servers)
    try:
        return {
            number: reader.get_watermark_offsets(TopicPartition(topic, number), timeout=_SECONDS)[1]
            for number in partitions(reader, topic)
        }
    finally:
        reader.close()


def records(servers: str, topic: str) -> Iterator[Record]:
    """Yield every record up to the present end of the topic, in order per partition."""
    reader = consumer(servers)
    try:
        unfinished = set(partitions(reader, topic))
        reader.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in unfinished])
        while unfinished:
            messages = reader.consume(10_000, timeout=0.2)
            unfinished -= {cast(int, m.partition()) for m in messages if _is_end(m)}
            yield from _read(messages)
    finally:
        reader.close()


def tail(reader: Consumer) -> Iterator[list[Record]]:
    """Yield all records and then new ones in batches, without end; wait if the server is down."""
    while True:
        if batch := list(_read(reader.consume(1000, timeout=0.2))):
            yield batch


def _read(messages: list[Message]) -> Iterator[Record]:
    for message in messages:
        error = message.error()
        if error is None:
            yield Record.of(message)
        elif not (_is_end(message) or error.retriable() or error.code() == KafkaError._TRANSPORT):
            raise KafkaException(error)


def _is_end(message: Message) -> bool:
    error = message.error()
    return error is not None and error.code() == KafkaError._PARTITION_EOF
