"""Topics of a stream: checked before Spark starts, and the offsets at which a stream begins.

The offsets of a first start are read from Kafka when the process begins: events that are published
while Spark starts are matched, also if the stream begins with the latest events.
"""

from __future__ import annotations

from covey.store.storage import open_storage
from covey.stream.batches.checkpoint import CHECKPOINT_FOLDER, Checkpoint
from covey.stream.config import StreamConfig
from covey.stream.events.sinks import build_sink
from covey.stream.kafka_cluster import KafkaCluster, read_offset_bounds

__all__ = ["TopicOffsets", "check_startup", "check_topics", "read_starting_offsets"]

TopicOffsets = dict[str, dict[str, int]]
"""Offsets by topic and partition, with partitions as texts, as Spark and JSON have them."""


def check_startup(config: StreamConfig) -> None:
    """Refuse a configuration whose sink or topics cannot be used, before Spark starts.

    Raises:
        StreamError: Kafka cannot be reached, or a topic does not exist.
        InvalidArgumentError: a topic is set up wrongly, or the function of a sink cannot be used.
    """
    build_sink(config)
    check_topics(config)


def check_topics(config: StreamConfig) -> None:
    """Refuse topics that do not exist, or whose messages do not have the time of Kafka.

    Raises:
        StreamError: Kafka cannot be reached, or a topic does not exist.
        InvalidArgumentError: a topic is set up wrongly.
    """
    cluster = KafkaCluster(config.kafka)
    for topic in (*config.events.topics, config.subscriptions.topic):
        cluster.check_append_time(topic)
    if config.notifications.sink == "kafka":
        cluster.list_partitions(config.notifications.topic)
    cluster.list_partitions(config.dead_letters.topic)


def read_starting_offsets(config: StreamConfig) -> tuple[TopicOffsets, str]:
    """Return the first offsets that a stream reads, and where they come from.

    The origin is `checkpoint` if the stream has run before; otherwise it is the setting
    `starting_offsets`.
    """
    checkpoint = Checkpoint(open_storage(f"{config.state.path}/{CHECKPOINT_FOLDER}"))
    known = checkpoint.read_next_offsets()
    if known is not None:
        return known, "checkpoint"
    cluster, origin = KafkaCluster(config.kafka), config.events.starting_offsets or "latest"
    offsets: TopicOffsets = {}
    for topic in config.events.topics:
        first, end = read_offset_bounds(cluster, topic)
        chosen = first if origin == "earliest" else end
        offsets[topic] = {str(partition): offset for partition, offset in sorted(chosen.items())}
    return offsets, origin
