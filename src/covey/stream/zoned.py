"""The subscriptions of a stream in zones: cut when all are read, by the events that there are.

What changes after that is of no zone at first, and is spread over them by large merges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from pyspark.sql import SparkSession

from covey.spark.building import built
from covey.spark.lifetimes import LIFETIME, attribute_column
from covey.spark.routing import Routing
from covey.spark.sampling import sampled
from covey.spark.zoning import SAMPLED, cut, describe
from covey.store import Prepared, Snapshot, Store, Version
from covey.stream.cluster import Cluster
from covey.stream.config import Config
from covey.stream.events import READ, Decoding
from covey.stream.pace import first_events

__all__ = ["LiveZones", "routing_of", "zones_asked"]


@dataclass(frozen=True, slots=True)
class LiveZones:
    """Makes the version of what was prepared, in as many zones as the configuration says."""

    spark: SparkSession
    config: Config
    cluster: Cluster
    decoding: Decoding
    store: Store
    place: str

    def publish(self, prepared: Sequence[Prepared], label: str) -> Version:
        """The version of these and nothing else."""
        described = describe(self.place, self.store.space, prepared)
        given = first_events(self.spark, self.cluster, self.config.events.topics).limit(SAMPLED)
        read = given.select(self.decoding.read.alias(READ))
        names = self.decoding.schema.names
        flat = read.select(*(self.decoding.column(name).alias(name) for name in names))
        attribute = partial(attribute_column, described.space, time_column=None)
        events = sampled(flat, described.space, described.constrained, attribute, SAMPLED)
        zoning = cut(described, events, self.config.subscriptions.zones, frozenset({LIFETIME}))
        put = built(self.spark, self.place, prepared, zoning, is_smart=False)
        version = self.store.zone(zoning, put, described.space, label, self.store.versions[-1])
        for one in prepared:
            self.store.writer.files.delete(one.file)
        return version


def zones_asked(store: Store) -> int:
    """How many zones the newest version of a store was to have."""
    zoning = store.zoning(store.versions[-1])
    return 1 if zoning is None else zoning.asked


def routing_of(store: Store, snapshot: Snapshot) -> Routing | None:
    """How events find the zones of a version, if it has any."""
    zoning = store.zoning(snapshot.version.number)
    return None if zoning is None else Routing.of(zoning, is_smart=False)
