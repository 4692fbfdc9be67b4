"""Reader of the control topic, from a position to the end of the committed messages."""

from __future__ import annotations

import time
from collections.abc import Mapping

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from covey.errors import StreamError
from covey.stream.control.messages import SubscriptionChange, parse_change
from covey.stream.kafka_cluster import KafkaCluster, read_partition_bounds

__all__ = ["ControlTopicReader"]

_MAX_FETCHED_MESSAGES = 10_000
_READ_TIMEOUT_S = 60.0  # longest time without a new message before the end is reached
_FATAL_ERROR_CODES = (
    KafkaError._AUTO_OFFSET_RESET,
    KafkaError.OFFSET_OUT_OF_RANGE,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
)


class ControlTopicReader:
    """Reader of subscription changes that returns each change once; not thread-safe.

    Args:
        cluster: the Kafka cluster.
        topic: the control topic.
        position: for each partition the offset to read next; the reader updates its own copy.
    """

    def __init__(self, cluster: KafkaCluster, topic: str, position: Mapping[int, int]) -> None:
        self.topic = topic
        self.position = dict(position)
        self._unreturned_changes: list[SubscriptionChange] = []
        assigned = [TopicPartition(topic, p, offset) for p, offset in position.items()]
        self._consumer, self._offset_consumer = cluster.create_consumer(), cluster.create_consumer()
        self._consumer.assign(assigned)
        # The second consumer only queries the end of the topic. On the first one such a query would
        # have to wait for a pending fetch. The second is assigned the partitions so that it learns
        # when they move to other Kafka servers, and paused so that it fetches no messages.
        self._offset_consumer.assign(assigned)
        self._offset_consumer.pause(assigned)

    def read_to_end(self) -> list[SubscriptionChange]:
        """Return all changes that were committed before the call, and maybe some later ones.

        Changes of one partition are in order. Each change is returned once: if a call fails, the
        next call also returns the changes that the failed call had read.

        Raises:
            StreamError: the topic cannot be read, a partition ends before the position, or no
                further message could be read for 60 seconds.

        Cost: one request to Kafka per partition, and the time to read new messages, which are
        fetched in the background.
        """
        ends = {
            p: read_partition_bounds(self._offset_consumer, self.topic, p)[1] for p in self.position
        }
        for partition, end in ends.items():
            if end < self.position[partition]:
                raise StreamError(
                    f"partition {partition} of {self.topic!r} ends at {end}, but was read up to "
                    f"{self.position[partition]}: the topic was deleted and created again. Delete "
                    "the state folder to start with the topic's current messages"
                )
        deadline_s = time.monotonic() + _READ_TIMEOUT_S
        while any(self.position[p] < end for p, end in ends.items()):
            for message in _fetch_messages(self._consumer):
                if self._accept_message(message):
                    deadline_s = time.monotonic() + _READ_TIMEOUT_S
            if time.monotonic() > deadline_s:
                raise StreamError(
                    f"topic {self.topic!r} had no new message for {_READ_TIMEOUT_S:g} seconds: "
                    f"by partition, it was read to {self.position}, but ends at {ends}. Check "
                    "whether a Kafka server is down"
                )
        changes, self._unreturned_changes = self._unreturned_changes, []
        return changes

    def close(self) -> None:
        """Close the connections to Kafka."""
        self._consumer.close()
        self._offset_consumer.close()

    def _accept_message(self, message: Message) -> bool:
        """Store the change of a message, and advance the position to the offset after it.

        The end of a partition advances the position too.

        Returns:
            False for a temporary error of Kafka, which changes nothing; otherwise True.

        Raises:
            StreamError: Kafka reports an error that is not temporary.
        """
        error = message.error()
        if error is not None and error.code() != KafkaError._PARTITION_EOF:
            if error.fatal() or error.code() in _FATAL_ERROR_CODES:
                raise StreamError(f"topic {self.topic!r} cannot be read: {error.str()}")
            return False  # the Kafka server may become reachable again
        partition, offset = message.partition(), message.offset()
        assert partition is not None
        assert offset is not None
        if error is None:
            self._unreturned_changes.append(decode_change(message))
            offset += 1
        self.position[partition] = max(self.position[partition], offset)
        return True


def decode_change(message: Message) -> SubscriptionChange:
    """Parse a message of Kafka's client into a subscription change."""
    message_ref = f"{message.topic()}-{message.partition()}-{message.offset()}"
    return parse_change(
        _to_bytes(message.key()),
        _to_bytes(message.value()),
        _decode_headers(message),
        message.timestamp()[1],
        message_ref,
    )


def _fetch_messages(consumer: Consumer) -> list[Message]:
    """Return the messages that have been fetched; if there are none, wait up to 0.5 s for one."""
    if fetched := consumer.consume(_MAX_FETCHED_MESSAGES, 0):
        return fetched
    message = consumer.poll(0.5)
    return [] if message is None else [message]


def _decode_headers(message: Message) -> list[tuple[str, bytes | None]]:
    headers = message.headers() or []
    pairs = headers.items() if isinstance(headers, dict) else headers
    return [(name, _to_bytes(content)) for name, content in pairs]


def _to_bytes(content: str | bytes | None) -> bytes | None:
    return content.encode() if isinstance(content, str) else content
