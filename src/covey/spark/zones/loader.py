"""Subscriptions spread over zones that are cut from samples of them and of events."""

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
from covey.spark.zones.builder import publish_zones
from covey.spark.zones.partitioner import ZonePartitioner
from covey.store import StagedSegment, Store
from covey.store.manifest import combine_spaces, space_to_json
from covey.zones import ZoneMap, ZoneSample, build_zone_tree

__all__ = ["ZONE_SAMPLE_SIZE", "ZoneLoader", "choose_zone_count", "make_zone_map", "profile_staged"]

ZONE_SAMPLE_SIZE = 20_000
"""Regions, and events, that zones are cut by."""
_MAX_ZONE_BYTES = 1 << 30  # of a segment, above which "auto" makes several


@dataclass(frozen=True, slots=True)
class ZoneLoader:
    """Makes the version of what was prepared, spread over as many zones as the parameters say.

    `events` are some that are typical, if they are known.
    """

    spark: SparkSession
    params: MatcherParams
    location: str
    events: DataFrame | None

    def __call__(
        self, base_version: int, space: Space, staged_segments: Sequence[StagedSegment]
    ) -> dict[str, object] | None:
        """What is to be known of the version; None if one zone is enough."""
        started, params = time.perf_counter(), self.params
        zones = choose_zone_count(
            staged_segments, params._param_value(params.zones), read_worker_memory_bytes(self.spark)
        )
        if zones == 1:
            return None
        described = profile_staged(self.location, space, staged_segments)
        time_column = params._param_value(params.eventTimeCol)
        attribute = partial(select_attribute_or_time, described.space, time_column=time_column)
        events = None
        if self.events is not None:
            names = described.constrained_attributes
            events = sample_events(self.events, described.space, names, attribute, ZONE_SAMPLE_SIZE)
        zoning = make_zone_map(described, events, zones, frozenset({VALIDITY}))
        is_smart = params._param_value(params.replication) == "smart"
        made = publish_zones(
            self.spark,
            self.location,
            base_version,
            staged_segments,
            zoning,
            is_smart=is_smart,
            space=described.space,
            label=uuid4().hex,
        )
        return {
            **made,
            "space": space_to_json(described.space),
            "constrained": described.constrained_attributes,
            "routing": ZonePartitioner.from_zone_map(zoning, is_smart),
            "seconds": round(time.perf_counter() - started, 2),
        }


@dataclass(frozen=True, slots=True)
class StagedProfile:
    """What prepared segments have in common, and some of their regions."""

    space: Space
    constrained_attributes: tuple[str, ...]
    regions: Regions
    region_count: int
    """Of all regions, of which `regions` are some."""


def choose_zone_count(
    staged_segments: Sequence[StagedSegment], requested_zones: int | str, memory_bytes: int | None
) -> int:
    """How many zones: as asked, or as many as keep each well below what a worker may have.

    >>> choose_zone_count([StagedSegment("a", 3 << 30, 10)], "auto", None)
    4
    """
    if requested_zones != "auto":
        return int(requested_zones)
    size = sum(one.size_bytes for one in staged_segments)
    most = _MAX_ZONE_BYTES if memory_bytes is None else max(1 << 20, memory_bytes // 4)
    return 1 if size <= most else -(-5 * size // (4 * most))


def read_worker_memory_bytes(spark: SparkSession) -> int | None:
    """How much address space a Python worker may have, if Spark is to limit it."""
    given = spark.conf.get("spark.executor.pyspark.memory", None)
    if not given:
        return None
    found = re.fullmatch(r"(\d+)([bkmgt]?)b?", given.strip().lower())
    if found is None:
        return None
    shift = {"b": 0, "k": 10, "m": 20, "": 20, "g": 30, "t": 40}[found[2]]
    cores = spark.conf.get("spark.executor.cores", None)
    return (int(found[1]) << shift) // max(1, int(cores or 1))


def profile_staged(
    location: str, base_space: Space, staged_segments: Sequence[StagedSegment], *, seed: int = 0
) -> StagedProfile:
    """Reads prepared segments one after another."""
    random, store = np.random.default_rng(seed), Store.open(location)
    total = max(1, sum(one.subscriptions for one in staged_segments))
    space, names, some, regions = base_space, set[str](), [Regions(base_space, 0, {})], 0
    for one in staged_segments:
        subscriptions = store.open_staged(one).subscriptions
        space = combine_spaces(space, [subscriptions.index.space])
        names |= set(subscriptions.index.constrained_attributes)
        regions += len(subscriptions.index)
        count = min(len(subscriptions), -(-ZONE_SAMPLE_SIZE * len(subscriptions) // total))
        rows = np.sort(random.choice(len(subscriptions), count, replace=False))
        some.append(subscriptions.take(rows).regions)
    constrained = tuple(a.name for a in space if a.name in names)
    return StagedProfile(space, constrained, Regions.concat(some), regions)


def make_zone_map(
    profile: StagedProfile,
    events: Events | None,
    zone_count: int,
    excluded_attributes: frozenset[str],
) -> ZoneMap:
    """Zones by the attributes that are not to be spared; without events, of equal regions."""
    if events is None:
        events = Events(profile.space, 0, {})
    sample = ZoneSample.from_events(events, profile.regions, represented_count=profile.region_count)
    tree = build_zone_tree(
        sample,
        zone_count,
        attributes=frozenset(profile.constrained_attributes) - excluded_attributes,
    )
    work, held = sample.measure_loads(tree)
    share = work if len(events) else held / max(1.0, held.sum())
    return ZoneMap.build(tree, share, requested_zones=zone_count, regions=profile.regions)
