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

from covey.errors import InvalidArgumentError, StreamError
from covey.stream.config import KafkaConfig

__all__ = ["KafkaCluster", "read_offset_bounds", "read_partition_bounds"]

_TIMEOUT_S = 30.0
_ADMIN_TIMEOUT_S = 15.0  # for what is asked once, when a person may be waiting


@dataclass(frozen=True, slots=True)
class KafkaCluster:
    """The servers of one Kafka cluster, for clients of both kinds."""

    config: KafkaConfig

    @property
    def spark_options(self) -> dict[str, str]:
        """How Spark's readers and writers reach it."""
        given = {**self.config.options, **self.config.spark_options}
        options = {f"kafka.{name}": value for name, value in given.items()}
        return {"kafka.bootstrap.servers": self.config.servers, **options}

    @property
    def reader_options(self) -> dict[str, str]:
        """How Spark's readers reach it, and see what is committed only."""
        return {**self.spark_options, "kafka.isolation.level": "read_committed"}

    def create_consumer(self) -> Consumer:
        """A consumer of what is committed, that is told where to read and keeps no group."""
        return Consumer(
            {
                **self._client_config,
                "group.id": "covey",  # a name it must have; no offset is committed
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
            }
        )

    def create_producer(self) -> Producer:
        """A producer whose messages are acknowledged by all replicas, in order and once."""
        return Producer({**self._client_config, "acks": "all", "enable.idempotence": True})

    def list_partitions(self, topic: str) -> list[int]:
        """The partitions of a topic, which must be there."""
        with reraise_kafka_errors(f"topic {topic!r} at {self.config.servers}"):
            found = AdminClient(self._client_config).list_topics(topic, timeout=_ADMIN_TIMEOUT_S)
            if (error := found.topics[topic].error) is not None:
                raise KafkaException(error)
            return sorted(found.topics[topic].partitions)

    def read_topic_config(self, topic: str) -> Mapping[str, str]:
        """How a topic is set up."""
        resource = ConfigResource(ResourceType.TOPIC, topic)
        with reraise_kafka_errors(f"topic {topic!r} at {self.config.servers}"):
            admin = AdminClient(self._client_config)  # lives until the answer is there
            found = admin.describe_configs([resource], request_timeout=_ADMIN_TIMEOUT_S)[resource]
            return {name: entry.value for name, entry in found.result().items()}

    def check_append_time(self, topic: str) -> None:
        """Refuses a topic whose messages have the time of producers, which may be anything."""
        if self.read_topic_config(topic)["message.timestamp.type"] != "LogAppendTime":
            raise InvalidArgumentError(
                f"topic {topic!r} has the time at which producers made a message; lifetimes are "
                "compared with the time at which Kafka took it. Set it up with "
                "message.timestamp.type=LogAppendTime"
            )

    @property
    def _client_config(self) -> dict[str, Any]:
        given = {**self.config.options, **self.config.client_options}
        return {"bootstrap.servers": self.config.servers, "log_level": 0, **given}


def read_partition_bounds(consumer: Consumer, topic: str, partition: int) -> tuple[int, int]:
    """The first offset of a partition, and the one after the last that is committed."""
    with reraise_kafka_errors(f"partition {partition} of {topic!r}"):
        where = TopicPartition(topic, partition)
        first, end = consumer.get_watermark_offsets(where, timeout=_TIMEOUT_S)
        return first, end


def read_offset_bounds(cluster: KafkaCluster, topic: str) -> tuple[dict[int, int], dict[int, int]]:
    """The first offset of each partition of a topic, and the one after the last."""
    partitions, consumer = cluster.list_partitions(topic), cluster.create_consumer()
    try:
        found = {p: read_partition_bounds(consumer, topic, p) for p in partitions}
    finally:
        consumer.close()
    return {p: b[0] for p, b in found.items()}, {p: b[1] for p, b in found.items()}


@contextmanager
def reraise_kafka_errors(subject: str) -> Iterator[None]:
    """What Kafka's client says, as one of covey's errors."""
    try:
        yield
    except KafkaException as error:
        said = error.args[0].str() if error.args else str(error)
        raise StreamError(f"{subject}: Kafka says: {said}") from None
