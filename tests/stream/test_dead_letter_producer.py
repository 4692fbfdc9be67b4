"""Dead letters about subscription changes, with a real Kafka server."""

from __future__ import annotations

from uuid import uuid4

import pytest
from confluent_kafka import Consumer, TopicPartition

from covey.errors import StreamError
from covey.stream.config import KafkaConfig
from covey.stream.control.dead_letters import DeadLetterProducer
from covey.stream.control.messages import SubscriptionChange
from covey.stream.kafka_cluster import KafkaCluster
from covey.testing.kafka_server import KafkaServer

pytestmark = pytest.mark.integration


def rejected(reason: str) -> SubscriptionChange:
    return SubscriptionChange("ann", 0, "alerts-0-7", problem=reason)


def test_a_letter_that_kafka_refuses_is_reported(broker: KafkaServer) -> None:
    topic = f"rejected-{uuid4().hex[:8]}"
    broker.create_topic(topic, 1, max_message_bytes="1000")
    producer = DeadLetterProducer(KafkaCluster(KafkaConfig(broker.address)), topic)
    with pytest.raises(StreamError, match=rf"Kafka refused a dead letter to topic '{topic}'"):
        producer.send_changes([rejected("short"), rejected("x" * 2_000)])
    producer.send_changes([rejected("short")])


def test_more_letters_than_the_queue_of_the_producer_holds(broker: KafkaServer) -> None:
    topic, count = f"rejected-{uuid4().hex[:8]}", 120_000
    broker.create_topic(topic, 1)
    producer = DeadLetterProducer(KafkaCluster(KafkaConfig(broker.address)), topic)
    producer.send_changes([rejected("?")] * count)
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": topic})
    assert consumer.get_watermark_offsets(TopicPartition(topic, 0), 60) == (0, count)
    consumer.close()
