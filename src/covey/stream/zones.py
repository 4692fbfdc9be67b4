"""Zones of a stream, into which its subscriptions are divided so that zones have equal work.

The work of a zone is estimated from a sample of the events on Kafka. Zones are made when the store
is rebuilt or the number of zones changes. Changed subscriptions are first stored outside the zones;
later, large merges distribute them over the zones.
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
    """Loader that spreads the subscriptions of staged segments over the configured zones.

    Args:
        spark: session in which zones are built.
        config: configuration of the stream.
        cluster: Kafka cluster from which events are sampled.
        decoder: decoder of the events.
        store: the stream's store.
        location: location of the store.
    """

    spark: SparkSession
    config: StreamConfig
    cluster: KafkaCluster
    decoder: EventDecoder
    store: Store
    location: str

    def publish(self, staged_segments: Sequence[StagedSegment], label: str) -> Manifest:
        """Commit a version with exactly the subscriptions of staged segments, spread over zones."""
        profile = profile_staged(self.location, self.store.space, staged_segments)
        first_events = read_first_events(self.spark, self.cluster, self.config.events.topics).limit(
            ZONE_SAMPLE_SIZE
        )
        decoded = first_events.select(self.decoder.decoded_value.alias(DECODED))
        names = self.decoder.schema.names
        flat = decoded.select(*(self.decoder.get_column(name).alias(name) for name in names))
        attribute = partial(select_attribute_or_time, profile.space, time_column=None)
        events = sample_events(
            flat, profile.space, profile.constrained_attributes, attribute, ZONE_SAMPLE_SIZE
        )
        zone_map = make_zone_map(
            profile, events, self.config.subscriptions.zones, frozenset({VALIDITY})
        )
        zone_segments = build_zone_segments(
            self.spark, self.location, staged_segments, zone_map, is_smart=False
        )
        manifest = self.store.commit_zones(
            zone_map, zone_segments, profile.space, label, self.store.versions[-1]
        )
        self.store.discard_staged(staged_segments)
        return manifest


def read_requested_zones(store: Store) -> int:
    """Return the number of zones that was requested for the newest version; 1 if it has none."""
    zone_map = store.zone_map(store.versions[-1])
    return 1 if zone_map is None else zone_map.requested_zones


def build_partitioner(store: Store, snapshot: Snapshot) -> ZonePartitioner | None:
    """Return the partitioner of events for the zones of a version; None if it has no zones."""
    zone_map = store.zone_map(snapshot.manifest.version)
    return None if zone_map is None else ZonePartitioner.from_zone_map(zone_map, is_smart=False)
