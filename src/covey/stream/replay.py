"""Replay: decide a past range of events again, without sending notifications.

The events are matched with the version that decided them in the stream, or with any other version
of the store.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from covey._argument_checks import check_arguments, format_value
from covey.errors import InvalidArgumentError, StoreError, StreamError
from covey.store import Snapshot, Store
from covey.stream.batches.decision_log import BatchDecision, DecisionLog
from covey.stream.batches.version_source import FixedVersion
from covey.stream.config import StreamConfig
from covey.stream.events.match_query import MatchQuery, RequiredAttributes
from covey.stream.kafka_cluster import KafkaCluster, read_offset_bounds
from covey.stream.startup import locate_store

__all__ = ["ReplayRange", "open_version", "parse_offsets"]

TopicOffsets = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class ReplayRange:
    """Range of past events: for each topic and partition a first and an end offset.

    Args:
        start_offsets: first offset of each partition; partitions are strings, as in Spark's JSON.
        end_offsets: for each partition the offset after the last event of the range.
    """

    start_offsets: TopicOffsets
    end_offsets: TopicOffsets

    @classmethod
    def from_offsets(
        cls, config: StreamConfig, start_offsets: TopicOffsets, end_offsets: TopicOffsets | None
    ) -> ReplayRange:
        """Build a range, and check that Kafka still has its events.

        Args:
            config: configuration of the stream.
            start_offsets: first offsets; partitions that are missing are not part of the range.
            end_offsets: end offsets, exclusive. The range of a partition ends at the current end
                of the partition if it is missing here, if the offset here is larger, or if this
                argument is None.

        Raises:
            InvalidArgumentError: a topic is not an event topic, or a partition does not exist.
            StreamError: events of the range were deleted from Kafka, or Kafka cannot be reached.
        """
        cluster = KafkaCluster(config.kafka)
        cluster.check_reachable()
        ends: dict[str, dict[str, int]] = {}
        for topic in start_offsets:
            if topic not in config.events.topics:
                raise InvalidArgumentError(
                    f"the topic {topic!r} is not in [events] topics, which are "
                    f"{', '.join(config.events.topics)}"
                )
            starts, stops = read_offset_bounds(cluster, topic)
            for partition, offset in start_offsets[topic].items():
                if int(partition) not in starts:
                    raise InvalidArgumentError(
                        f"topic {topic!r} has no partition {partition}: its partitions are "
                        f"{', '.join(map(str, starts))}"
                    )
                if offset < starts[int(partition)]:
                    raise StreamError(
                        f"Kafka has deleted events from offset {offset} on in partition "
                        f"{partition} of topic {topic!r}: its first offset is now "
                        f"{starts[int(partition)]}; replay from there"
                    )
                stop = stops[int(partition)]
                requested_end = (
                    stop if end_offsets is None else end_offsets.get(topic, {}).get(partition, stop)
                )
                ends.setdefault(topic, {})[partition] = min(requested_end, stop)
        return cls(start_offsets, ends)

    def build_notifications(
        self,
        spark: SparkSession,
        config: StreamConfig,
        snapshot: Snapshot,
        *,
        time_ms: int | None = None,
    ) -> DataFrame:
        """Match the events of the range with one version, and return the output rows.

        Their columns are `topic`, `key` and `value`.

        Args:
            spark: session that reads the events from Kafka.
            config: configuration of the stream.
            snapshot: the version.
            time_ms: time that relative times in predicates refer to, in milliseconds since 1970;
                None for the current time.
        """
        version = FixedVersion.from_snapshot(locate_store(config), snapshot)
        required_attributes = RequiredAttributes(time_ms=time_ms).with_attributes_of(snapshot)
        return MatchQuery.from_config(config).build_rows(
            self.read_events(spark, config), required_attributes, version
        )

    def read_events(self, spark: SparkSession, config: StreamConfig) -> DataFrame:
        """Return the events of the range as rows of Spark's Kafka source."""
        assigned = {
            topic: [int(p) for p in offsets] for topic, offsets in self.start_offsets.items()
        }
        return (
            spark.read.format("kafka")
            .options(**KafkaCluster(config.kafka).reader_options)
            .option("assign", json.dumps(assigned))
            .option("startingOffsets", json.dumps(self.start_offsets))
            .option("endingOffsets", json.dumps(self.end_offsets))
            .load()
        )

    def split_by_decision(
        self, decision_log: DecisionLog
    ) -> list[tuple[BatchDecision, ReplayRange]]:
        """Split the range into sub-ranges, each with the batch decision that contains it.

        If several batches contained an event, because a query was started with a new checkpoint,
        the newest batch decision is used.

        Raises:
            StreamError: the range is empty, or no batch decision contains some of its events.
        """
        remaining = {
            (topic, p): [(first, self.end_offsets[topic][p])]
            if first < self.end_offsets[topic][p]
            else []
            for topic, offsets in self.start_offsets.items()
            for p, first in offsets.items()
        }
        pieces = []
        for decision in decision_log.iter_newest_first():
            while (piece := _take_decided(remaining, decision)) is not None:
                pieces.append((decision, piece))
        if not any(remaining.values()) and not pieces:
            raise StreamError(
                "the range contains no event: in each partition its first offset (--from) is at or "
                "after its end offset (--to), or at the end of the partition"
            )
        undecided = [(topic, p, ranges) for (topic, p), ranges in remaining.items() if ranges]
        for topic, p, ranges in undecided:
            raise StreamError(
                f"no batch decision contains the events of {topic!r} partition {p} from offset "
                f"{ranges[0][0]} up to, but not including, {ranges[0][1]}: they have not been "
                "decided yet, were published before the stream began to read, or were decided "
                "longer ago than [state] retention_s. Choose a version with --version"
            )
        return pieces


def _take_decided(
    remaining: dict[tuple[str, str], list[tuple[int, int]]], decision: BatchDecision
) -> ReplayRange | None:
    """Remove events of a batch from the remaining ranges, and return these events as a range.

    One call takes events from at most one range per partition. Call the function until it returns
    None, which means that the batch contains no remaining event.

    Args:
        remaining: for each topic and partition the remaining ranges, as a list of pairs of a first
            and an end offset.
        decision: the decision of the batch.
    """
    first: dict[str, dict[str, int]] = {}
    end: dict[str, dict[str, int]] = {}
    for (topic, p), ranges in remaining.items():
        low, high = decision.events.get(topic, {}).get(p, (0, 0))
        for start, stop in ranges:
            begin, until = max(start, low), min(stop, high)
            if begin < until:
                first.setdefault(topic, {})[p] = begin
                end.setdefault(topic, {})[p] = until
                ranges.remove((start, stop))
                ranges += [r for r in ((start, begin), (until, stop)) if r[0] < r[1]]
                break
    return ReplayRange(first, end) if first else None


def open_version(config: StreamConfig, version: int | None) -> Snapshot:
    """Open a version of the stream's store, or the newest version if `version` is None.

    Raises:
        StoreError: the version was vacuumed or never existed, or there is no store.
    """
    try:
        return Store.open(locate_store(config)).snapshot(version)
    except StoreError as error:
        raise StoreError(
            f"{error}. Versions are kept for [state] retention_s = {config.state.retention_s} "
            "seconds after a newer version was made"
        ) from None


@check_arguments
def parse_offsets(text: str) -> TopicOffsets:
    """Parse offsets by topic and partition, in Spark's JSON format.

    Raises:
        InvalidArgumentError: `text` has another format.

    >>> parse_offsets('{"ads": {"0": 1200}}')
    {'ads': {'0': 1200}}
    """
    try:
        content = json.loads(text)
        return {
            str(topic): {str(int(p)): int(offset) for p, offset in offsets.items()}
            for topic, offsets in content.items()
        }
    except (ValueError, AttributeError, TypeError, RecursionError):
        raise InvalidArgumentError(
            f"{format_value(text)} is not a set of offsets: write "
            '{"topic": {"0": 1200, "1": 900}}'
        ) from None
