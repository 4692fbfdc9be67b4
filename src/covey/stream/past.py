"""A stretch of the past computed again: the same events, decided by a version of then or of one's
choice, and nobody is notified.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from covey.errors import StoreError, StreamError, ValueRefused
from covey.store import Snapshot, Store
from covey.stream.cluster import Cluster, first_and_end
from covey.stream.config import Config
from covey.stream.matched import Matched, Wanted
from covey.stream.opening import store_place_of
from covey.stream.records import Record, Records
from covey.stream.versions import Named

__all__ = ["Past", "parse_offsets", "version_at"]

Ends = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Past:
    """A stretch of events: by topic and partition, from one offset to before another."""

    first: Ends
    end: Ends

    @classmethod
    def between(cls, config: Config, first: Ends, end: Ends | None) -> Past:
        """From some offsets to others, or to what there is now; of partitions that are named."""
        cluster = Cluster(config.kafka)
        ends: dict[str, dict[str, int]] = {}
        for topic in first:
            if topic not in config.events.topics:
                raise ValueRefused(
                    f"{topic!r} is no topic of events, as [events] topics names them"
                )
            starts, stops = first_and_end(cluster, topic)
            for partition, offset in first[topic].items():
                if int(partition) not in starts:
                    raise ValueRefused(f"{topic!r} has no partition {partition}")
                if offset < starts[int(partition)]:
                    raise StreamError(
                        f"partition {partition} of {topic!r} begins at {starts[int(partition)]}: "
                        f"what was before, from {offset} on, is gone from Kafka"
                    )
                stop = stops[int(partition)]
                wanted = stop if end is None else end.get(topic, {}).get(partition, stop)
                ends.setdefault(topic, {})[partition] = min(wanted, stop)
        return cls(first, ends)

    def notifications(self, spark: SparkSession, config: Config, snapshot: Snapshot) -> DataFrame:
        """What would be sent of them if this version decided: `topic`, `key` and `value`."""
        named = Named.of(store_place_of(config), snapshot)
        wanted = Wanted().and_of(snapshot)
        return Matched.of(config).rows(self.events(spark, config), wanted, named)

    def events(self, spark: SparkSession, config: Config) -> DataFrame:
        """The events as Kafka has them."""
        assigned = {topic: [int(p) for p in offsets] for topic, offsets in self.first.items()}
        return (
            spark.read.format("kafka")
            .options(**Cluster(config.kafka).reading)
            .option("assign", json.dumps(assigned))
            .option("startingOffsets", json.dumps(self.first))
            .option("endingOffsets", json.dumps(self.end))
            .load()
        )

    def decided(self, records: Records) -> list[tuple[int, Past]]:
        """The stretch in pieces, each with the version that decided it then.

        An event that several batches had, because a query began anew, counts as in the last.
        """
        left = {
            (topic, p): [(first, self.end[topic][p])] if first < self.end[topic][p] else []
            for topic, offsets in self.first.items()
            for p, first in offsets.items()
        }
        pieces = []
        for record in records.newest_first():
            while (piece := _taken(left, record)) is not None:
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


def _taken(left: dict[tuple[str, str], list[tuple[int, int]]], record: Record) -> Past | None:
    """What a batch had of the ranges that are left, one a partition; None if it had nothing."""
    first: dict[str, dict[str, int]] = {}
    end: dict[str, dict[str, int]] = {}
    for (topic, p), ranges in left.items():
        low, high = record.events.get(topic, {}).get(p, (0, 0))
        for start, stop in ranges:
            begin, until = max(start, low), min(stop, high)
            if begin < until:
                first.setdefault(topic, {})[p] = begin
                end.setdefault(topic, {})[p] = until
                ranges.remove((start, stop))
                ranges += [r for r in ((start, begin), (until, stop)) if r[0] < r[1]]
                break
    return Past(first, end) if first else None


def version_at(config: Config, number: int | None) -> Snapshot:
    """A version of the stream's store, the newest if none is named."""
    try:
        return Store.open(store_place_of(config)).snapshot(number)
    except StoreError as error:
        raise StoreError(
            f"{error}. Versions are kept for [state] retention_s = {config.state.retention_s} "
            "seconds after they were the newest"
        ) from None


def parse_offsets(text: str) -> Ends:
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
    except (ValueError, AttributeError, TypeError):
        raise ValueRefused(
            f'{text!r} is no offsets: write {{"topic": {{"0": 1200, "1": 900}}}}'
        ) from None
