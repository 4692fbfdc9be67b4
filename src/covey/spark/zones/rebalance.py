"""A zoned model whose events are not what they were: a few of its zones built anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from covey.geometry import Regions
from covey.space import Events
from covey.spark.model_state import ModelState
from covey.spark.single_task import run_in_task
from covey.spark.validity import VALIDITY
from covey.spark.worker_errors import reraise_worker_errors
from covey.spark.zones.builder import STAGED_SCHEMA, decode_staged, encode_staged
from covey.spark.zones.partitioner import ZonePartitioner
from covey.store import Snapshot, StagedSegment, Store
from covey.store.zones import collect_zone_subscriptions
from covey.zones import RebalanceResult, ZoneSample, rebalance_zones

__all__ = ["compute_zone_loads", "rebalance_model"]

_MAX_SAMPLE_REGIONS = 20_000  # regions


def rebalance_model(spark: SparkSession, state: ModelState, events: Events) -> ModelState:
    """The model with zones that are even for these events.

    Where nothing is to be moved, only how many share each zone may change.
    """
    store = Store.open(state.location)
    zoning = store.zone_map(state.version)
    assert zoning is not None
    sample = _build_zone_sample(store, state, events)
    owners = zoning.tree.find_event_zones(events)

    def of_zone(zone: int) -> ZoneSample:
        mine = np.flatnonzero(owners == zone)
        regions = _sample_regions(store.zone_snapshot(state.version, zone))
        return ZoneSample(events.take(mine), sample.event_work[mine], regions)

    work = sample.measure_loads(zoning.tree)[0]
    to = rebalance_zones(zoning, work, of_zone, excluded_attributes=frozenset({VALIDITY}))
    building = _RebuildZoneTask(state.location, state.version, to)
    put: list[StagedSegment] = []
    if to.changed_zones:
        with reraise_worker_errors():
            zones = spark.range(0, len(to.changed_zones), 1, len(to.changed_zones))
            put = decode_staged(zones.mapInArrow(building, STAGED_SCHEMA))
    made: Mapping[str, Any] = run_in_task(
        spark, partial(_commit_rebalanced, state.location, state.version, to, put, uuid4().hex)
    )
    routing = ZonePartitioner.from_zone_map(to.zone_map, is_smart=False)
    return replace(state, version=made["version"], label=made["label"], partitioner=routing)


def compute_zone_loads(state: ModelState, events: Events) -> NDArray[np.float64]:
    """The share of the work that each zone has of these events."""
    store = Store.open(state.location)
    zoning = store.zone_map(state.version)
    assert zoning is not None
    return _build_zone_sample(store, state, events).measure_loads(zoning.tree)[0]


def _build_zone_sample(store: Store, state: ModelState, events: Events) -> ZoneSample:
    snapshot = store.snapshot(state.version)
    return ZoneSample.from_events(
        events, _sample_regions(snapshot), represented_count=len(snapshot)
    )


def _sample_regions(snapshot: Snapshot, seed: int = 0) -> Regions:
    rows = snapshot.rows
    if len(rows) > _MAX_SAMPLE_REGIONS:
        rows = np.random.default_rng(seed).choice(rows, _MAX_SAMPLE_REGIONS, replace=False)
    return snapshot.take_regions(np.sort(rows))[0]


@dataclass(frozen=True, slots=True)
class _RebuildZoneTask:
    """The function of a `mapInArrow` over numbers of zones that changed."""

    location: str
    version: int
    rebalance_plan: RebalanceResult

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        store = Store.open(self.location)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                zone = self.rebalance_plan.changed_zones[number]
                parts = [
                    part
                    for source in self.rebalance_plan.source_zones[zone]
                    for part in store.zone_snapshot(self.version, source).live_segments
                    if part.zone == source
                ]
                owned = collect_zone_subscriptions(self.rebalance_plan, zone, parts)
                if owned is not None:
                    yield encode_staged([store.stage_zone_segment(zone, owned)])


def _commit_rebalanced(
    location: str,
    base_version: int,
    rebalance_plan: RebalanceResult,
    staged_segments: list[StagedSegment],
    label: str,
) -> dict[str, Any]:
    with Store.open(location) as store:
        version = store.commit_rezoned(rebalance_plan, staged_segments, label, base_version)
    return {"version": version.version, "label": version.label}
