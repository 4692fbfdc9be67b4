"""Spread subscriptions over zones, which are computed from samples of subscriptions and events."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from uuid import uuid4

import numpy as np
from pyspark.sql import DataFrame, SparkSession

from covey.geometry import Regions
from covey.space import Events, Space
from covey.spark.event_sample import sample_events
from covey.spark.params import MatcherParams
from covey.spark.validity import VALIDITY, select_attribute_or_time
from covey.spark.workers import open_shared_store
from covey.spark.zones.builder import publish_zones
from covey.spark.zones.partitioner import ZonePartitioner
from covey.store import StagedSegment
from covey.store.manifest import combine_spaces, space_to_json
from covey.zones import ZoneMap, ZoneSample, build_zone_tree

__all__ = ["ZONE_SAMPLE_SIZE", "ZoneLoader", "choose_zone_count", "make_zone_map", "profile_staged"]

ZONE_SAMPLE_SIZE = 20_000
"""Number of subscriptions (approximate) and largest number of events that are sampled for zones."""
_MAX_ZONE_BYTES = 1 << 30  # allowed size of a zone, if the memory of a worker is unknown


@dataclass(frozen=True, slots=True)
class ZoneLoader:
    """Function that spreads staged segments over as many zones as a matcher's parameters require.

    Args:
        spark: the session.
        params: parameters of the matcher.
        location: location of the store.
        events: typical events, from which zones are computed; None if there are none.
    """

    spark: SparkSession
    params: MatcherParams
    location: str
    events: DataFrame | None

    def __call__(
        self, base_version: int, space: Space, staged_segments: Sequence[StagedSegment]
    ) -> dict[str, object] | None:
        """Commit a version with zones and return facts about it, or None if one zone is enough.

        If one zone is enough, nothing is committed. The facts are the version's number, label,
        count of subscriptions, space, constrained attributes and partitioner, and the elapsed
        seconds.
        """
        started, params = time.perf_counter(), self.params
        zone_count = choose_zone_count(
            staged_segments, params._param_value(params.zones), read_worker_memory_bytes(self.spark)
        )
        if zone_count == 1:
            return None
        profile = profile_staged(self.location, space, staged_segments)
        time_column = params._param_value(params.eventTimeCol)
        attribute = partial(select_attribute_or_time, profile.space, time_column=time_column)
        events = None
        if self.events is not None:
            names = profile.constrained_attributes
            events = sample_events(self.events, profile.space, names, attribute, ZONE_SAMPLE_SIZE)
        zone_map = make_zone_map(profile, events, zone_count, frozenset({VALIDITY}))
        is_smart = params._param_value(params.replication) == "smart"
        committed = publish_zones(
            self.spark,
            self.location,
            base_version,
            staged_segments,
            zone_map,
            is_smart=is_smart,
            space=profile.space,
            label=uuid4().hex,
        )
        return {
            **committed,
            "space": space_to_json(profile.space),
            "constrained_attributes": profile.constrained_attributes,
            "has_several_conditions": profile.has_several_conditions,
            "partitioner": ZonePartitioner.from_zone_map(zone_map, is_smart),
            "seconds": round(time.perf_counter() - started, 2),
        }


@dataclass(frozen=True, slots=True)
class StagedProfile:
    """Properties of all staged segments of a fit, and a sample of their regions."""

    space: Space
    constrained_attributes: tuple[str, ...]
    regions: Regions
    """The sampled regions."""
    region_count: int
    """Number of all regions."""
    has_several_conditions: bool
    """Whether a subscription has several late conditions."""


def choose_zone_count(
    staged_segments: Sequence[StagedSegment], requested_zones: int | str, memory_bytes: int | None
) -> int:
    """Return the requested number of zones; for "auto", the number that a worker's memory requires.

    With "auto", the allowed size of a zone is a quarter of `memory_bytes` (at least 1 MiB), or
    1 GiB if `memory_bytes` is None. If all segments together are not larger, one zone is enough.
    Otherwise a zone gets about four fifths of the allowed size.

    >>> choose_zone_count([StagedSegment("a", 3 << 30, 10)], "auto", None)
    4
    """
    if requested_zones != "auto":
        return int(requested_zones)
    size_bytes = sum(segment.size_bytes for segment in staged_segments)
    max_bytes = _MAX_ZONE_BYTES if memory_bytes is None else max(1 << 20, memory_bytes // 4)
    return 1 if size_bytes <= max_bytes else -(-5 * size_bytes // (4 * max_bytes))


def read_worker_memory_bytes(spark: SparkSession) -> int | None:
    """Return the memory of one Python worker according to `spark.executor.pyspark.memory`.

    The result is None if the setting is missing or cannot be parsed. The setting is the memory of a
    Spark executor, which its workers, one for each core, share equally.
    """
    setting = spark.conf.get("spark.executor.pyspark.memory", None)
    if not setting:
        return None
    parsed = re.fullmatch(r"(\d+)([bkmgt]?)b?", setting.strip().lower())
    if parsed is None:
        return None
    shift = {"b": 0, "k": 10, "m": 20, "": 20, "g": 30, "t": 40}[parsed[2]]
    cores = spark.conf.get("spark.executor.cores", None)
    return (int(parsed[1]) << shift) // max(1, int(cores or 1))


def profile_staged(
    location: str, base_space: Space, staged_segments: Sequence[StagedSegment], *, seed: int = 0
) -> StagedProfile:
    """Return the profile of staged segments; only one segment is open at a time.

    Args:
        location: location of the store.
        base_space: space of the version on which the staged segments are based.
        staged_segments: the segments.
        seed: seed of the sample of about `ZONE_SAMPLE_SIZE` subscriptions.
    """
    random, store = np.random.default_rng(seed), open_shared_store(location)
    total = max(1, sum(segment.subscriptions for segment in staged_segments))
    space, names, samples, region_count = base_space, set[str](), [Regions(base_space, 0, {})], 0
    has_several = False
    for segment in staged_segments:
        subscriptions = store.open_staged(segment).subscriptions
        space = combine_spaces(space, [subscriptions.index.space])
        names |= set(subscriptions.index.constrained_attributes)
        region_count += len(subscriptions.index)
        has_several = has_several or subscriptions.has_several_conditions
        count = min(len(subscriptions), -(-ZONE_SAMPLE_SIZE * len(subscriptions) // total))
        rows = np.sort(random.choice(len(subscriptions), count, replace=False))
        samples.append(subscriptions.take(rows).regions)
    constrained = tuple(a.name for a in space if a.name in names)
    return StagedProfile(space, constrained, Regions.concat(samples), region_count, has_several)


def make_zone_map(
    profile: StagedProfile,
    events: Events | None,
    zone_count: int,
    excluded_attributes: frozenset[str],
) -> ZoneMap:
    """Return a zone map whose zones have nearly equal work for the events.

    Args:
        profile: profile of the subscriptions.
        events: a sample of events. If it is None or empty, zones get similar numbers of regions.
        zone_count: number of zones.
        excluded_attributes: attributes by which zones are not split.
    """
    if events is None:
        events = Events(profile.space, 0, {})
    sample = ZoneSample.from_events(events, profile.regions, represented_count=profile.region_count)
    tree = build_zone_tree(
        sample,
        zone_count,
        attributes=frozenset(profile.constrained_attributes) - excluded_attributes,
    )
    work_shares, region_counts = sample.measure_loads(tree)
    shares = work_shares if len(events) else region_counts / max(1.0, region_counts.sum())
    return ZoneMap.build(tree, shares, requested_zones=zone_count, regions=profile.regions)
