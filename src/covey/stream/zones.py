"""The subscriptions of a stream in zones: cut when all are read, by the events that there are.

What changes after that is of no zone at first, and is spread over them by large merges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from pyspark.sql import SparkSession

from covey.spark.event_sample import sample_events
from covey.spark.validity import VALIDITY, select_attribute_or_time
from covey.spark.zones import (
    ZONE_SAMPLE_SIZE,
    ZonePartitioner,
    build_zone_segments,
    make_zone_map,
    profile_staged,
)
from covey.store import Manifest, Snapshot, StagedSegment, Store
from covey.stream.batches.batch_size import read_first_events
from covey.stream.config import StreamConfig
from covey.stream.events.decoder import DECODED, EventDecoder
from covey.stream.kafka_cluster import KafkaCluster

__all__ = ["StreamZoneLoader", "build_partitioner", "read_requested_zones"]


@dataclass(frozen=True, slots=True)
class StreamZoneLoader:
    """Makes the version of what was prepared, in as many zones as the configuration says."""

    spark: SparkSession
    config: StreamConfig
    cluster: KafkaCluster
    decoder: EventDecoder
    store: Store
    location: str

    def publish(self, staged_segments: Sequence[StagedSegment], label: str) -> Manifest:
        """The version of these and nothing else."""
        described = profile_staged(self.location, self.store.space, staged_segments)
        given = read_first_events(self.spark, self.cluster, self.config.events.topics).limit(
            ZONE_SAMPLE_SIZE
        )
        read = given.select(self.decoder.decoded_value.alias(DECODED))
        names = self.decoder.schema.names
        flat = read.select(*(self.decoder.get_column(name).alias(name) for name in names))
        attribute = partial(select_attribute_or_time, described.space, time_column=None)
        events = sample_events(
            flat, described.space, described.constrained_attributes, attribute, ZONE_SAMPLE_SIZE
        )
        zoning = make_zone_map(
            described, events, self.config.subscriptions.zones, frozenset({VALIDITY})
        )
        put = build_zone_segments(
            self.spark, self.location, staged_segments, zoning, is_smart=False
        )
        version = self.store.commit_zones(
            zoning, put, described.space, label, self.store.versions[-1]
        )
        self.store.discard_staged(staged_segments)
        return version


def read_requested_zones(store: Store) -> int:
    """How many zones the newest version of a store was to have."""
    zoning = store.zone_map(store.versions[-1])
    return 1 if zoning is None else zoning.requested_zones


def build_partitioner(store: Store, snapshot: Snapshot) -> ZonePartitioner | None:
    """How events find the zones of a version, if it has any."""
    zoning = store.zone_map(snapshot.manifest.version)
    return None if zoning is None else ZonePartitioner.from_zone_map(zoning, is_smart=False)
