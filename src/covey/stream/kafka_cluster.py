"""Clients of one Kafka cluster: their options, topic configuration and offset bounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._resource import ResourceType

from covey.errors import InvalidArgumentError, StreamError
from covey.stream.config import KafkaConfig

__all__ = ["KafkaCluster", "read_offset_bounds", "read_partition_bounds"]

_TIMEOUT_S = 30.0
_ADMIN_TIMEOUT_S = 10.0  # for requests at the start of a stream, when a person may be waiting


@dataclass(frozen=True, slots=True)
class KafkaCluster:
    """Kafka cluster of a stream: options of Spark's clients, and covey's own clients."""

    config: KafkaConfig

    @property
    def spark_options(self) -> dict[str, str]:
        """Options of Spark's Kafka readers and writers."""
        configured = {**self.config.options, **self.config.spark_options}
        options = {f"kafka.{name}": value for name, value in configured.items()}
        return {"kafka.bootstrap.servers": self.config.servers, **options}

    @property
    def reader_options(self) -> dict[str, str]:
        """Options of Spark's Kafka readers, which read committed messages only."""
        return {**self.spark_options, "kafka.isolation.level": "read_committed"}

    def create_consumer(self) -> Consumer:
        """Create a consumer that reads committed messages only.

        The caller assigns partitions and offsets; no consumer group is used.
        """
        return Consumer(
            {
                **self._client_config,
                "group.id": "covey",  # the client requires a name; no offset is committed
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
            }
        )

    def create_producer(self) -> Producer:
        """Create an idempotent producer that waits for replication.

        A message is acknowledged when all in-sync replicas of its partition have it.
        """
        return Producer({**self._client_config, "acks": "all", "enable.idempotence": True})

    def check_reachable(self) -> None:
        """Raise StreamError if no server of the cluster answers, or if an option is wrong."""
        with reraise_kafka_errors("[kafka] options or client_options"):
            admin = AdminClient(self._client_config)
        try:
            admin.list_topics(timeout=_ADMIN_TIMEOUT_S)
        except KafkaException as error:
            raise StreamError(
                f"no Kafka server answers at {self.config.servers} within {_ADMIN_TIMEOUT_S:.0f} "
                f"seconds ({error.args[0].str()}): check that [kafka] servers has the form "
                "HOST:PORT, that a server runs there, and that [kafka] options has the security "
                "settings that the server needs"
            ) from None

    def list_partitions(self, topic: str) -> list[int]:
        """Return the partition numbers of a topic, ascending.

        Raises:
            StreamError: the topic does not exist, or Kafka cannot be reached.
        """
        with self._reraise_topic_errors(topic):
            metadata = AdminClient(self._client_config).list_topics(topic, timeout=_ADMIN_TIMEOUT_S)
            if (error := metadata.topics[topic].error) is not None:
                raise KafkaException(error)
            return sorted(metadata.topics[topic].partitions)

    def read_topic_config(self, topic: str) -> Mapping[str, str]:
        """Return the configuration of a topic: the value of each option by its name.

        Raises:
            StreamError: Kafka cannot be reached, or reports an error.
        """
        resource = ConfigResource(ResourceType.TOPIC, topic)
        with self._reraise_topic_errors(topic):
            admin = AdminClient(self._client_config)  # must live until the answer has arrived
            answer = admin.describe_configs([resource], request_timeout=_ADMIN_TIMEOUT_S)[resource]
            return {name: entry.value for name, entry in answer.result().items()}

    def check_append_time(self, topic: str) -> None:
        """Raise InvalidArgumentError unless Kafka sets the timestamps of a topic's messages.

        Timestamps of producers cannot be used, because they can have any value.

        Raises:
            InvalidArgumentError: the topic has timestamps of producers.
            StreamError: Kafka cannot be reached, or reports an error.
        """
        if self.read_topic_config(topic)["message.timestamp.type"] != "LogAppendTime":
            raise InvalidArgumentError(
                f"topic {topic!r} has timestamps of producers, but validity intervals are compared "
                "with the time at which Kafka appended a message. Change it for new messages: "
                f"kafka-configs.sh --bootstrap-server {self.config.servers} --alter --entity-type "
                f"topics --entity-name {topic} --add-config "
                "message.timestamp.type=LogAppendTime"
            )

    @contextmanager
    def _reraise_topic_errors(self, topic: str) -> Iterator[None]:
        """Re-raise an error of Kafka's client about a topic as a StreamError."""
        with reraise_kafka_errors(f"topic {topic!r} at {self.config.servers}"):
            try:
                yield
            except KafkaException as error:
                if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise StreamError(
                        f"topic {topic!r} does not exist at {self.config.servers}: create it, for "
                        "example with kafka-topics.sh --create, or correct its name"
                    ) from None
                raise

    @property
    def _client_config(self) -> dict[str, Any]:
        configured = {**self.config.options, **self.config.client_options}
        return {"bootstrap.servers": self.config.servers, "log_level": 0, **configured}


def read_partition_bounds(consumer: Consumer, topic: str, partition: int) -> tuple[int, int]:
    """Return the first offset of a partition, and the offset after its last committed message.

    Raises:
        StreamError: Kafka cannot be reached, or reports an error.
    """
    with reraise_kafka_errors(f"partition {partition} of {topic!r}"):
        topic_partition = TopicPartition(topic, partition)
        first, end = consumer.get_watermark_offsets(topic_partition, timeout=_TIMEOUT_S)
        return first, end


def read_offset_bounds(cluster: KafkaCluster, topic: str) -> tuple[dict[int, int], dict[int, int]]:
    """Return two offsets of each partition of a topic, in two dictionaries by partition number.

    The first dictionary contains first offsets, the second one the offsets after the last committed
    messages.

    Raises:
        StreamError: the topic does not exist, or Kafka cannot be reached.
    """
    partitions, consumer = cluster.list_partitions(topic), cluster.create_consumer()
    try:
        bounds = {p: read_partition_bounds(consumer, topic, p) for p in partitions}
    finally:
        consumer.close()
    return {p: b[0] for p, b in bounds.items()}, {p: b[1] for p, b in bounds.items()}


@contextmanager
def reraise_kafka_errors(subject: str) -> Iterator[None]:
    """Re-raise an error of Kafka's client as a StreamError whose message begins with `subject`."""
    try:
        yield
    except KafkaException as error:
        reason = error.args[0].str() if error.args else str(error)
        raise StreamError(f"{subject}: Kafka reports: {reason}") from None
