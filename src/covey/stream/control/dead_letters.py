"""Dead letters about subscription changes that could not be read."""

from __future__ import annotations

import json
from collections.abc import Sequence

from confluent_kafka import Producer

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
            StreamError: Kafka did not acknowledge all letters within 60 seconds.
        """
        if not changes:
            return
        if self._producer is None:
            self._producer = self._cluster.create_producer()
        for change in changes:
            letter = {
                "change": change.message_ref,
                "subscription": change.subscription_id,
                "reason": change.problem,
            }
            value = json.dumps(letter, ensure_ascii=False, separators=(",", ":")).encode()
            self._producer.produce(self._topic, value, change.subscription_id.encode())
            self._producer.poll(0)
        if self._producer.flush(_TIMEOUT_S):
            raise StreamError(
                f"Kafka did not acknowledge all dead letters to topic {self._topic!r} within "
                f"{_TIMEOUT_S:g} seconds: check whether a Kafka server is down"
            )
