"""The control topic: changes of subscriptions, read from a position to its end."""

from __future__ import annotations

import time
from collections.abc import Mapping

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from covey.errors import StreamError
from covey.stream.control.messages import SubscriptionChange, parse_change
from covey.stream.kafka_cluster import KafkaCluster, read_partition_bounds

__all__ = ["ControlTopicReader"]

_MAX_FETCHED_MESSAGES = 10_000
_READ_TIMEOUT_S = 60.0  # without a message, while there must be one
_FATAL_ERROR_CODES = (
    KafkaError._AUTO_OFFSET_RESET,
    KafkaError.OFFSET_OUT_OF_RANGE,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
)


class ControlTopicReader:
    """Reads changes one after another, each once; `position` is what it reads next, by partition.

    Not for several threads at once.
    """

    def __init__(self, cluster: KafkaCluster, topic: str, position: Mapping[int, int]) -> None:
        self.topic = topic
        self.position = dict(position)
        self._unreturned_changes: list[SubscriptionChange] = []
        assigned = [TopicPartition(topic, p, offset) for p, offset in position.items()]
        self._consumer, self._offset_consumer = cluster.create_consumer(), cluster.create_consumer()
        self._consumer.assign(assigned)
        # The other asks where the topic ends: an answer would wait behind a fetch that waits for
        # news. It is assigned the topic to follow it when brokers come and go, and fetches none.
        self._offset_consumer.assign(assigned)
        self._offset_consumer.pause(assigned)

    def read_to_end(self) -> list[SubscriptionChange]:
        """Return all changes up to what is committed at the moment of the call, in the log's order.

        Each is returned once: what was read by a call that fails comes with the next one.

        Cost: a question to Kafka per partition, and what it takes to read the rest, which is
        fetched in the background.
        """
        ends = {
            p: read_partition_bounds(self._offset_consumer, self.topic, p)[1] for p in self.position
        }
        for partition, end in ends.items():
            if end < self.position[partition]:
                raise StreamError(
                    f"partition {partition} of {self.topic!r} ends at {end}, but was read up to "
                    f"{self.position[partition]}: the topic was deleted and made anew. Delete the "
                    "state folder to start with what it has now"
                )
        until = time.monotonic() + _READ_TIMEOUT_S
        while any(self.position[p] < end for p, end in ends.items()):
            for message in _fetch_messages(self._consumer):
                if self._accept_message(message):
                    until = time.monotonic() + _READ_TIMEOUT_S
            if time.monotonic() > until:
                raise StreamError(
                    f"{self.topic!r} could not be read to its end in {_READ_TIMEOUT_S:g} seconds: "
                    f"it is at {self.position} of {ends}. Is a broker down?"
                )
        changes, self._unreturned_changes = self._unreturned_changes, []
        return changes

    def close(self) -> None:
        """Ends the connections."""
        self._consumer.close()
        self._offset_consumer.close()

    def _accept_message(self, message: Message) -> bool:
        """Takes a message; whether it led on."""
        error = message.error()
        if error is not None and error.code() != KafkaError._PARTITION_EOF:
            if error.fatal() or error.code() in _FATAL_ERROR_CODES:
                raise StreamError(f"{self.topic!r} cannot be read: {error.str()}")
            return False  # a broker that is away may come back
        partition, offset = message.partition(), message.offset()
        assert partition is not None
        assert offset is not None
        if error is None:
            self._unreturned_changes.append(decode_change(message))
            offset += 1
        self.position[partition] = max(self.position[partition], offset)
        return True


def decode_change(message: Message) -> SubscriptionChange:
    """The change that a message of the control topic is."""
    place = f"{message.topic()}-{message.partition()}-{message.offset()}"
    return parse_change(
        _to_bytes(message.key()),
        _to_bytes(message.value()),
        _decode_headers(message),
        message.timestamp()[1],
        place,
    )


def _fetch_messages(consumer: Consumer) -> list[Message]:
    """What was fetched already, or the next message that comes soon, if one does."""
    if fetched := consumer.consume(_MAX_FETCHED_MESSAGES, 0):
        return fetched
    message = consumer.poll(0.5)
    return [] if message is None else [message]


def _decode_headers(message: Message) -> list[tuple[str, bytes | None]]:
    given = message.headers() or []
    pairs = given.items() if isinstance(given, dict) else given
    return [(name, _to_bytes(content)) for name, content in pairs]


def _to_bytes(content: str | bytes | None) -> bytes | None:
    return content.encode() if isinstance(content, str) else content
