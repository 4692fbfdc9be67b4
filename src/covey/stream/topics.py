"""Checks of a stream's topics before Spark starts, and the offsets at which the stream begins.

If a stream has not run before, these offsets are read from Kafka when the process starts. So events
that are published while Spark starts are matched, also if `starting_offsets` is `latest`.
"""

from __future__ import annotations

from pathlib import Path

from covey.errors import InvalidArgumentError, prefix_errors
from covey.store.storage import open_storage
from covey.stream.batches.checkpoint import CHECKPOINT_FOLDER, Checkpoint
from covey.stream.config import StreamConfig
from covey.stream.events.sinks import build_sink
from covey.stream.kafka_cluster import KafkaCluster, read_offset_bounds

__all__ = ["TopicOffsets", "check_startup", "check_topics", "read_starting_offsets"]

TopicOffsets = dict[str, dict[str, int]]
"""Offsets by topic and partition; partition numbers are strings, as in Spark's JSON."""


def check_startup(config: StreamConfig) -> None:
    """Raise an error if the sink, a topic or the state folder cannot be used; Spark is not needed.

    Raises:
        StreamError: Kafka cannot be reached, or a topic does not exist.
        InvalidArgumentError: an event topic or the control topic has timestamps of producers, or
            the function of the sink `foreach` or the state folder cannot be used.
    """
    build_sink(config)
    check_topics(config)
    _create_state_folder(config.state.path)


def check_topics(config: StreamConfig) -> None:
    """Raise an error if a topic does not exist, or has timestamps that Kafka does not set.

    The timestamps are checked for event topics and the control topic.

    Raises:
        StreamError: Kafka cannot be reached, or a topic does not exist.
        InvalidArgumentError: an event topic or the control topic has timestamps of producers.
    """
    cluster = KafkaCluster(config.kafka)
    cluster.check_reachable()
    with prefix_errors("[events] topics"):
        for topic in config.events.topics:
            cluster.check_append_time(topic)
    with prefix_errors("[subscriptions] topic"):
        cluster.check_append_time(config.subscriptions.topic)
    if config.notifications.sink == "kafka":
        with prefix_errors("[notifications] topic"):
            cluster.list_partitions(config.notifications.topic)
    with prefix_errors("[dead_letters] topic"):
        cluster.list_partitions(config.dead_letters.topic)


def read_starting_offsets(config: StreamConfig) -> tuple[TopicOffsets, str]:
    """Return the offsets at which a stream begins to read, and their origin.

    The origin is `checkpoint` if the stream has run before; otherwise it is the value of the
    setting `starting_offsets`: `earliest` or `latest`.

    Raises:
        StreamError: Kafka cannot be reached, or a file of the checkpoint is missing.
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


def _create_state_folder(path: str) -> None:
    """Create a local state folder, unless it exists; folders at URIs are created when used."""
    if "://" in path:
        return
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidArgumentError(
            f"[state] path: the folder {path} cannot be created: {error.strerror}; name another "
            "folder, in which this user may write"
        ) from None
