"""A stretch of the past computed again: the same events, decided by a version of then or of one's
choice, and nobody is notified.
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
    """A stretch of events: by topic and partition, from one offset to before another."""

    start_offsets: TopicOffsets
    end_offsets: TopicOffsets

    @classmethod
    def from_offsets(
        cls, config: StreamConfig, start_offsets: TopicOffsets, end_offsets: TopicOffsets | None
    ) -> ReplayRange:
        """From some offsets to others, or to what there is now; of partitions that are named."""
        cluster = KafkaCluster(config.kafka)
        ends: dict[str, dict[str, int]] = {}
        for topic in start_offsets:
            if topic not in config.events.topics:
                raise InvalidArgumentError(
                    f"{topic!r} is no topic of events, as [events] topics names them"
                )
            starts, stops = read_offset_bounds(cluster, topic)
            for partition, offset in start_offsets[topic].items():
                if int(partition) not in starts:
                    raise InvalidArgumentError(f"{topic!r} has no partition {partition}")
                if offset < starts[int(partition)]:
                    raise StreamError(
                        f"partition {partition} of {topic!r} begins at {starts[int(partition)]}: "
                        f"what was before, from {offset} on, is gone from Kafka"
                    )
                stop = stops[int(partition)]
                wanted = (
                    stop if end_offsets is None else end_offsets.get(topic, {}).get(partition, stop)
                )
                ends.setdefault(topic, {})[partition] = min(wanted, stop)
        return cls(start_offsets, ends)

    def build_notifications(
        self, spark: SparkSession, config: StreamConfig, snapshot: Snapshot
    ) -> DataFrame:
        """What would be sent of them if this version decided: `topic`, `key` and `value`."""
        named = FixedVersion.from_snapshot(locate_store(config), snapshot)
        wanted = RequiredAttributes().with_attributes_of(snapshot)
        return MatchQuery.from_config(config).build_rows(
            self.read_events(spark, config), wanted, named
        )

    def read_events(self, spark: SparkSession, config: StreamConfig) -> DataFrame:
        """The events as Kafka has them."""
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

    def split_by_version(self, decision_log: DecisionLog) -> list[tuple[int, ReplayRange]]:
        """The stretch in pieces, each with the version that decided it then.

        An event that several batches had, because a query began anew, counts as in the last.
        """
        left = {
            (topic, p): [(first, self.end_offsets[topic][p])]
            if first < self.end_offsets[topic][p]
            else []
            for topic, offsets in self.start_offsets.items()
            for p, first in offsets.items()
        }
        pieces = []
        for record in decision_log.iter_newest_first():
            while (piece := _take_decided(left, record)) is not None:
                pieces.append((record.version, piece))
        if not any(left.values()) and not pieces:
            raise StreamError("there is no event in the stretch: it begins where Kafka ends")
        missing = [(topic, p, ranges) for (topic, p), ranges in left.items() if ranges]
        for topic, p, ranges in missing:
            raise StreamError(
                f"no batch is known that had the events of {topic!r} partition {p} from "
                f"{ranges[0][0]} to before {ranges[0][1]}: it was not decided yet, or longer ago "
                "than [state] retention_s. Say with --version what is to decide them"
            )
        return pieces


def _take_decided(
    remaining: dict[tuple[str, str], list[tuple[int, int]]], decision: BatchDecision
) -> ReplayRange | None:
    """What a batch had of the ranges that are left, one a partition; None if it had nothing."""
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
    """A version of the stream's store, the newest if none is named."""
    try:
        return Store.open(locate_store(config)).snapshot(version)
    except StoreError as error:
        raise StoreError(
            f"{error}. Versions are kept for [state] retention_s = {config.state.retention_s} "
            "seconds after they were the newest"
        ) from None


@check_arguments
def parse_offsets(text: str) -> TopicOffsets:
    """Offsets as Spark writes them: `{"ads": {"0": 1200}}`.

    >>> parse_offsets('{"ads": {"0": 1200}}')
    {'ads': {'0': 1200}}
    """
    try:
        given = json.loads(text)
        return {
            str(topic): {str(int(p)): int(offset) for p, offset in offsets.items()}
            for topic, offsets in given.items()
        }
    except (ValueError, AttributeError, TypeError, RecursionError):
        raise InvalidArgumentError(
            f'{format_value(text)} is no offsets: write {{"topic": {{"0": 1200, "1": 900}}}}'
        ) from None
