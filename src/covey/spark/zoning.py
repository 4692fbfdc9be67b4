"""Subscriptions spread over zones that are cut from samples of them and of events."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import uuid4

import numpy as np
from pyspark.sql import DataFrame, SparkSession

from covey.geometry import Regions
from covey.space import Events, Space
from covey.spark.building import publish
from covey.spark.lifetimes import LIFETIME, attribute_column
from covey.spark.params import MatcherParams
from covey.spark.routing import Routing
from covey.spark.sampling import sampled
from covey.store import Prepared, Store
from covey.store.spaces import space_of_all, space_to_json
from covey.zones import Sample, Zoning, cut_zones

__all__ = ["SAMPLED", "Spreading", "cut", "describe", "zones_for"]

SAMPLED = 20_000
"""Regions, and events, that zones are cut by."""
_ZONE_BYTES = 1 << 30  # of a segment, above which "auto" makes several


@dataclass(frozen=True, slots=True)
class Spreading:
    """Makes the version of what was prepared, spread over as many zones as the parameters say.

    `events` are some that are typical, if they are known.
    """

    spark: SparkSession
    params: MatcherParams
    place: str
    events: DataFrame | None

    def __call__(
        self, base: int, space: Space, prepared: Sequence[Prepared]
    ) -> dict[str, Any] | None:
        """What is to be known of the version; None if one zone is enough."""
        started, params = time.perf_counter(), self.params
        zones = zones_for(prepared, params.given(params.zones), worker_bytes(self.spark))
        if zones == 1:
            return None
        described = describe(self.place, space, prepared)
        time_column = params.given(params.eventTimeCol)
        attribute = partial(attribute_column, described.space, time_column=time_column)
        events = None
        if self.events is not None:
            names = described.constrained
            events = sampled(self.events, described.space, names, attribute, SAMPLED)
        zoning = cut(described, events, zones, frozenset({LIFETIME}))
        is_smart = params.given(params.replication) == "smart"
        made = publish(
            self.spark, self.place, base, prepared, zoning, is_smart, described.space, uuid4().hex
        )
        return {
            **made,
            "space": space_to_json(described.space),
            "constrained": described.constrained,
            "routing": Routing.of(zoning, is_smart),
            "seconds": round(time.perf_counter() - started, 2),
        }


@dataclass(frozen=True, slots=True)
class Described:
    """What prepared segments have in common, and some of their regions."""

    space: Space
    constrained: tuple[str, ...]
    regions: Regions
    count: int
    """Of all regions, of which `regions` are some."""


def zones_for(prepared: Sequence[Prepared], asked: int | str, memory_bytes: int | None) -> int:
    """How many zones: as asked, or as many as keep each well below what a worker may have.

    >>> zones_for([Prepared("a", 3 << 30, 10)], "auto", None)
    4
    """
    if asked != "auto":
        return int(asked)
    size = sum(one.size_bytes for one in prepared)
    most = _ZONE_BYTES if memory_bytes is None else max(1 << 20, memory_bytes // 4)
    return 1 if size <= most else -(-5 * size // (4 * most))


def worker_bytes(spark: SparkSession) -> int | None:
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


def describe(place: str, base: Space, prepared: Sequence[Prepared], seed: int = 0) -> Described:
    """Reads prepared segments one after another."""
    random, store = np.random.default_rng(seed), Store.open(place)
    total = max(1, sum(one.subscriptions for one in prepared))
    space, names, some, regions = base, set[str](), [Regions(base, 0, {})], 0
    for one in prepared:
        subscriptions = store.prepared(one).subscriptions
        space = space_of_all(space, [subscriptions.index.space])
        names |= set(subscriptions.index.constrained)
        regions += len(subscriptions.index)
        count = min(len(subscriptions), -(-SAMPLED * len(subscriptions) // total))
        rows = np.sort(random.choice(len(subscriptions), count, replace=False))
        some.append(subscriptions.take(rows).regions)
    constrained = tuple(a.name for a in space if a.name in names)
    return Described(space, constrained, Regions.concat(some), regions)


def cut(described: Described, events: Events | None, zones: int, spared: frozenset[str]) -> Zoning:
    """Zones by the attributes that are not to be spared; without events, of equal regions."""
    if events is None:
        events = Events(described.space, 0, {})
    sample = Sample.of(events, described.regions, described.count)
    tree = cut_zones(sample, zones, frozenset(described.constrained) - spared)
    work, held = sample.loads(tree)
    share = work if len(events) else held / max(1.0, held.sum())
    return Zoning.of(tree, share, zones, described.regions)
