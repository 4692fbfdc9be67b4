"""Kafka as covey's own client reaches it: topics and how they are set up, and where they end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._resource import ResourceType

from covey.errors import StreamError, ValueRefused
from covey.stream.config import Kafka

__all__ = ["Cluster", "bounds", "first_and_end"]

_TIMEOUT_S = 30.0
_START_S = 15.0  # for what is asked once, when a person may be waiting


@dataclass(frozen=True, slots=True)
class Cluster:
    """The servers of one Kafka cluster, for clients of both kinds."""

    kafka: Kafka

    @property
    def spark_options(self) -> dict[str, str]:
        """How Spark's readers and writers reach it."""
        given = {**self.kafka.options, **self.kafka.spark_options}
        options = {f"kafka.{name}": value for name, value in given.items()}
        return {"kafka.bootstrap.servers": self.kafka.servers, **options}

    @property
    def reading(self) -> dict[str, str]:
        """How Spark's readers reach it, and see what is committed only."""
        return {**self.spark_options, "kafka.isolation.level": "read_committed"}

    def consumer(self) -> Consumer:
        """A consumer of what is committed, that is told where to read and keeps no group."""
        return Consumer(
            {
                **self._settings,
                "group.id": "covey",  # a name it must have; no offset is committed
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
            }
        )

    def producer(self) -> Producer:
        """A producer whose messages are acknowledged by all replicas, in order and once."""
        return Producer({**self._settings, "acks": "all", "enable.idempotence": True})

    def partitions(self, topic: str) -> list[int]:
        """The partitions of a topic, which must be there."""
        with told_of_kafka(f"topic {topic!r} at {self.kafka.servers}"):
            found = AdminClient(self._settings).list_topics(topic, timeout=_START_S)
            if (error := found.topics[topic].error) is not None:
                raise KafkaException(error)
            return sorted(found.topics[topic].partitions)

    def settings(self, topic: str) -> Mapping[str, str]:
        """How a topic is set up."""
        resource = ConfigResource(ResourceType.TOPIC, topic)
        with told_of_kafka(f"topic {topic!r} at {self.kafka.servers}"):
            admin = AdminClient(self._settings)  # lives until the answer is there
            found = admin.describe_configs([resource], request_timeout=_START_S)[resource]
            return {name: entry.value for name, entry in found.result().items()}

    def check_append_time(self, topic: str) -> None:
        """Refuses a topic whose messages have the time of producers, which may be anything."""
        if self.settings(topic)["message.timestamp.type"] != "LogAppendTime":
            raise ValueRefused(
                f"topic {topic!r} has the time at which producers made a message; lifetimes are "
                "compared with the time at which Kafka took it. Set it up with "
                "message.timestamp.type=LogAppendTime"
            )

    @property
    def _settings(self) -> dict[str, Any]:
        given = {**self.kafka.options, **self.kafka.client_options}
        return {"bootstrap.servers": self.kafka.servers, "log_level": 0, **given}


def bounds(consumer: Consumer, topic: str, partition: int) -> tuple[int, int]:
    """The first offset of a partition, and the one after the last that is committed."""
    with told_of_kafka(f"partition {partition} of {topic!r}"):
        where = TopicPartition(topic, partition)
        first, end = consumer.get_watermark_offsets(where, timeout=_TIMEOUT_S)
        return first, end


def first_and_end(cluster: Cluster, topic: str) -> tuple[dict[int, int], dict[int, int]]:
    """The first offset of each partition of a topic, and the one after the last."""
    partitions, consumer = cluster.partitions(topic), cluster.consumer()
    try:
        found = {p: bounds(consumer, topic, p) for p in partitions}
    finally:
        consumer.close()
    return {p: b[0] for p, b in found.items()}, {p: b[1] for p, b in found.items()}


@contextmanager
def told_of_kafka(what: str) -> Iterator[None]:
    """What Kafka's client says, as one of covey's errors."""
    try:
        yield
    except KafkaException as error:
        said = error.args[0].str() if error.args else str(error)
        raise StreamError(f"{what}: Kafka says: {said}") from None
