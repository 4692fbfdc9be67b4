"""A killed Kafka server restarts with every acknowledged message."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from covey.testing.kafka_server import KafkaServer

JARS = Path(__file__).parents[2] / ".kafka"


@pytest.mark.integration
def test_acknowledged_messages_survive_a_kill(tmp_path: Path) -> None:
    with KafkaServer.on_free_ports(JARS, tmp_path / "kafka", is_short_lived=True) as broker:
        broker.create_topic("events", 2)
        send(broker, range(1000))
        broker.kill()
        assert not broker.is_running
        broker.start()
        send(broker, range(1000, 1100))
        assert read(broker, 1100) == set(range(1100))


def test_a_missing_kafka_is_reported_with_the_way_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="run `make kafka` to download it"):
        KafkaServer.on_free_ports(tmp_path, tmp_path / "kafka").start()


def send(broker: KafkaServer, numbers: range) -> None:
    producer = Producer({"bootstrap.servers": broker.address, "acks": "all", "log_level": 0})
    for number in numbers:
        producer.produce("events", str(number).encode())
    assert producer.flush(60) == 0


def read(broker: KafkaServer, count: int) -> set[int]:
    """Return the first `count` messages of all partitions."""
    settings = {"bootstrap.servers": broker.address, "group.id": "test", "log_level": 0}
    consumer, found = Consumer({**settings, "auto.offset.reset": "earliest"}), list[int]()
    consumer.subscribe(["events"])
    while len(found) < count:
        message = consumer.poll(60)
        assert message is not None, f"{len(found)} of {count} messages came back"
        assert not message.error(), message.error()
        found.append(int(message.value() or b""))
    consumer.close()
    return set(found)
