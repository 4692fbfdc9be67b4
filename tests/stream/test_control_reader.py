"""The control topic is read to its end, with a real Kafka server."""

from __future__ import annotations

import time
from uuid import uuid4

import pytest
from confluent_kafka import Producer

from covey.errors import StreamError
from covey.stream.config import KafkaConfig
from covey.stream.control.messages import SubscriptionChange
from covey.stream.control.reader import ControlTopicReader
from covey.stream.kafka_cluster import KafkaCluster
from covey.testing.kafka_server import KafkaServer


@pytest.mark.integration
def test_a_restarted_kafka_server_is_read_at_once(broker: KafkaServer) -> None:
    topic = f"alerts-{uuid4().hex[:8]}"
    broker.create_topic(topic, 1, message_timestamp_type="LogAppendTime")
    control = ControlTopicReader(KafkaCluster(KafkaConfig(broker.address)), topic, {0: 0})
    subscribe(broker, topic, "a > 1")
    changes = control.read_to_end()
    for number in range(2, 4):
        broker.kill()
        with pytest.raises(StreamError, match="Kafka reports"):
            control.read_to_end()
        broker.start()
        subscribe(broker, topic, f"a > {number}")
        changes += reach_end(control)
    control.close()
    assert [change.predicate for change in changes] == ["a > 1", "a > 2", "a > 3"]


def subscribe(broker: KafkaServer, topic: str, predicate: str) -> None:
    producer = Producer({"bootstrap.servers": broker.address, "acks": "all", "log_level": 0})
    producer.produce(topic, f'{{"predicate": "{predicate}"}}'.encode(), b"ann")
    assert producer.flush(60) == 0


def reach_end(control: ControlTopicReader) -> list[SubscriptionChange]:
    """Retry for some seconds, since connections are restored only on use."""
    for _ in range(20):
        try:
            return control.read_to_end()
        except StreamError:
            time.sleep(0.5)
    return control.read_to_end()
