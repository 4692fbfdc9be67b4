"""What is in a topic now, read from its beginning to its end, committed records only."""

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

_SECONDS = 60.0  # for an answer of a server that may just be starting


class Record(NamedTuple):
    """One record of a topic; `time_ms` is when the server appended it."""

    partition: int
    offset: int
    time_ms: int
    key: bytes | None
    value: bytes | None
    headers: dict[str, str]

    @classmethod
    def of(cls, message: Message) -> Record:
        """The record of a message that is no error."""
        found = cast("list[tuple[str, bytes]] | None", message.headers())
        headers = {name: value.decode() for name, value in found} if found else {}
        partition, offset = cast(int, message.partition()), cast(int, message.offset())
        return cls(
            partition, offset, message.timestamp()[1], message.key(), message.value(), headers
        )


def consumer(servers: str) -> Consumer:
    """A consumer that commits nothing, and tells when it came to the end of a partition."""
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
    """The numbers of a topic's partitions."""
    found = reader.list_topics(topic, timeout=_SECONDS).topics[topic]
    if found.error is not None:
        raise KafkaException(found.error)
    return sorted(found.partitions)


def ends(servers: str, topic: str) -> dict[int, int]:
    """Of every partition the offset of the next record that will be appended."""
    reader = consumer(servers)
    try:
        return {
            number: reader.get_watermark_offsets(TopicPartition(topic, number), timeout=_SECONDS)[1]
            for number in partitions(reader, topic)
        }
    finally:
        reader.close()


def records(servers: str, topic: str) -> Iterator[Record]:
    """Every record that is there when the end is reached, each partition in its order."""
    reader = consumer(servers)
    try:
        left = set(partitions(reader, topic))
        reader.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in left])
        while left:
            messages = reader.consume(10_000, timeout=0.2)
            left -= {cast(int, each.partition()) for each in messages if _is_end(each)}
            yield from _read(messages)
    finally:
        reader.close()


def tail(reader: Consumer) -> Iterator[list[Record]]:
    """What is there, and then what comes, for ever; a server that is down is waited for."""
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
