"""Dead letters about subscription changes that could not be read."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from functools import partial

from confluent_kafka import KafkaError, Message, Producer

from covey.errors import StreamError
from covey.stream.control.messages import SubscriptionChange
from covey.stream.kafka_cluster import KafkaCluster

__all__ = ["DeadLetterProducer"]

_TIMEOUT_S = 60.0


class DeadLetterProducer:
    """Producer of dead letters about subscription changes.

    After a failure, letters that were already sent may be sent again.
    """

    def __init__(self, cluster: KafkaCluster, topic: str) -> None:
        self._cluster, self._topic = cluster, topic
        self._producer: Producer | None = None

    def send_changes(self, changes: Sequence[SubscriptionChange]) -> None:
        """Send one dead letter per change, and return when Kafka has acknowledged all letters.

        Raises:
            StreamError: Kafka refused a letter, or did not acknowledge all of them within 60
                seconds.
        """
        if not changes:
            return
        if self._producer is None:
            self._producer = self._cluster.create_producer()
        errors: list[KafkaError] = []
        for change in changes:
            self._send(self._producer, change, errors)
        is_unanswered = self._producer.flush(_TIMEOUT_S) > 0
        if errors:
            raise StreamError(
                f"Kafka refused a dead letter to topic {self._topic!r}: {errors[0].str()}; check "
                "that the topic exists, that the stream may write to it, and its max.message.bytes"
            )
        if is_unanswered:
            raise self._not_acknowledged()

    def _send(
        self, producer: Producer, change: SubscriptionChange, errors: list[KafkaError]
    ) -> None:
        """Add a dead letter to the queue of the producer; `errors` receives an error of Kafka."""
        letter = {
            "change": change.message_ref,
            "subscription": change.subscription_id,
            "reason": change.problem,
        }
        value = json.dumps(letter, ensure_ascii=False, separators=(",", ":")).encode()
        key = change.subscription_id.encode()
        deadline = time.monotonic() + _TIMEOUT_S
        while True:
            try:
                producer.produce(self._topic, value, key, on_delivery=partial(_keep_error, errors))
                break
            except BufferError:  # the queue is full
                if time.monotonic() > deadline:
                    raise self._not_acknowledged() from None
                producer.poll(1)
        producer.poll(0)

    def _not_acknowledged(self) -> StreamError:
        return StreamError(
            f"Kafka did not acknowledge all dead letters to topic {self._topic!r} within "
            f"{_TIMEOUT_S:g} seconds: check whether a Kafka server is down"
        )


def _keep_error(errors: list[KafkaError], error: KafkaError | None, _: Message) -> None:
    if error is not None:
        errors.append(error)
