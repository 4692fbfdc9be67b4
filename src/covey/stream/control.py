"""The control topic: changes of subscriptions, read from a position to its end."""

from __future__ import annotations

import time
from collections.abc import Mapping

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from covey.errors import StreamError
from covey.stream.cluster import Cluster, bounds
from covey.stream.messages import Change, read_change

__all__ = ["ControlTopic"]

_AT_ONCE = 10_000
_PATIENCE_S = 60.0  # without a message, while there must be one
_HOPELESS = (
    KafkaError._AUTO_OFFSET_RESET,
    KafkaError.OFFSET_OUT_OF_RANGE,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
)


class ControlTopic:
    """Reads changes one after another, each once; `position` is what it reads next, by partition.

    Not for several threads at once.
    """

    def __init__(self, cluster: Cluster, topic: str, position: Mapping[int, int]) -> None:
        self.topic = topic
        self.position = dict(position)
        assigned = [TopicPartition(topic, p, offset) for p, offset in position.items()]
        self._consumer, self._asking = cluster.consumer(), cluster.consumer()
        self._consumer.assign(assigned)
        # The other asks where the topic ends: an answer would wait behind a fetch that waits for
        # news. It is assigned the topic to follow it when brokers come and go, and fetches none.
        self._asking.assign(assigned)
        self._asking.pause(assigned)

    def to_end(self, into: list[Change]) -> None:
        """Adds all changes up to what is committed at the moment of the call, in the log's order.

        What was added when it fails is not given again.

        Cost: a question to Kafka per partition, and what it takes to read the rest, which is
        fetched in the background.
        """
        ends = {p: bounds(self._asking, self.topic, p)[1] for p in self.position}
        for partition, end in ends.items():
            if end < self.position[partition]:
                raise StreamError(
                    f"partition {partition} of {self.topic!r} ends at {end}, but was read up to "
                    f"{self.position[partition]}: the topic was deleted and made anew. Delete the "
                    "state folder to start with what it has now"
                )
        until = time.monotonic() + _PATIENCE_S
        while any(self.position[p] < end for p, end in ends.items()):
            for message in _next(self._consumer):
                if self._read(message, into):
                    until = time.monotonic() + _PATIENCE_S
            if time.monotonic() > until:
                raise StreamError(
                    f"{self.topic!r} could not be read to its end in {_PATIENCE_S:g} seconds: it "
                    f"is at {self.position} of {ends}. Is a broker down?"
                )

    def close(self) -> None:
        """Ends the connections."""
        self._consumer.close()
        self._asking.close()

    def _read(self, message: Message, into: list[Change]) -> bool:
        """Takes a message; whether it led on."""
        error = message.error()
        if error is not None and error.code() != KafkaError._PARTITION_EOF:
            if error.fatal() or error.code() in _HOPELESS:
                raise StreamError(f"{self.topic!r} cannot be read: {error.str()}")
            return False  # a broker that is away may come back
        partition, offset = message.partition(), message.offset()
        assert partition is not None
        assert offset is not None
        if error is None:
            into.append(change_of(message))
            offset += 1
        self.position[partition] = max(self.position[partition], offset)
        return True


def change_of(message: Message) -> Change:
    """The change that a message of the control topic is."""
    place = f"{message.topic()}-{message.partition()}-{message.offset()}"
    return read_change(
        _bytes(message.key()), _bytes(message.value()), _headers(message), message.timestamp()[1],
        place,
    )  # fmt: skip


def _next(consumer: Consumer) -> list[Message]:
    """What was fetched already, or the next message that comes soon, if one does."""
    if fetched := consumer.consume(_AT_ONCE, 0):
        return fetched
    message = consumer.poll(0.5)
    return [] if message is None else [message]


def _headers(message: Message) -> list[tuple[str, bytes | None]]:
    given = message.headers() or []
    pairs = given.items() if isinstance(given, dict) else given
    return [(name, _bytes(content)) for name, content in pairs]


def _bytes(content: str | bytes | None) -> bytes | None:
    return content.encode() if isinstance(content, str) else content
