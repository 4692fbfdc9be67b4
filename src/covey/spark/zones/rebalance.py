"""Rebalance the zones of a model after typical events have changed; only few zones are rebuilt."""

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
from covey.spark.validity import VALIDITY
from covey.spark.workers import ATTEMPT_S, open_shared_store, reraise_worker_errors, run_in_task
from covey.spark.zones.builder import STAGED_SCHEMA, decode_staged, encode_staged
from covey.spark.zones.partitioner import ZonePartitioner
from covey.store import Snapshot, StagedSegment, Store
from covey.store.zones import collect_zone_subscriptions
from covey.zones import RebalanceResult, ZoneSample, rebalance_zones

__all__ = ["compute_zone_loads", "rebalance_model"]

_MAX_SAMPLE_REGIONS = 20_000  # subscriptions whose regions are sampled


def rebalance_model(spark: SparkSession, state: ModelState, events: Events) -> ModelState:
    """Commit a version whose zones have nearly equal work for these events; return its state.

    Often only some zones are built again, or only the number of partitions of zones changes.

    Raises:
        StoreError: the store has a newer version than the model.
    """
    store = Store.open(state.location)
    zone_map = store.zone_map(state.version)
    assert zone_map is not None
    sample = _build_zone_sample(store, state, events)
    event_zones = zone_map.tree.find_event_zones(events)

    def sample_zone(zone: int) -> ZoneSample:
        rows = np.flatnonzero(event_zones == zone)
        regions = _sample_regions(store.zone_snapshot(state.version, zone))
        return ZoneSample(events.take(rows), sample.event_work[rows], regions)

    work = sample.measure_loads(zone_map.tree)[0]
    result = rebalance_zones(zone_map, work, sample_zone, excluded_attributes=frozenset({VALIDITY}))
    rebuild_task = _RebuildZoneTask(state.location, state.version, result)
    staged: list[StagedSegment] = []
    if result.changed_zones:
        with reraise_worker_errors():
            zones = spark.range(0, len(result.changed_zones), 1, len(result.changed_zones))
            staged = decode_staged(zones.mapInArrow(rebuild_task, STAGED_SCHEMA))
    commit = partial(_commit_rebalanced, state.location, state.version, result, staged, uuid4().hex)
    committed: Mapping[str, Any] = run_in_task(spark, commit)
    return replace(
        state,
        version=committed["version"],
        label=committed["label"],
        partitioner=ZonePartitioner.from_zone_map(result.zone_map, is_smart=False),
    )


def compute_zone_loads(state: ModelState, events: Events) -> NDArray[np.float64]:
    """Return for each zone its share of the work of matching these events, from 0 to 1."""
    store = Store.open(state.location)
    zone_map = store.zone_map(state.version)
    assert zone_map is not None
    return _build_zone_sample(store, state, events).measure_loads(zone_map.tree)[0]


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
    """Function of a `mapInArrow`: stage the segments of changed zones.

    The input rows are positions in the `changed_zones` of `rebalance_plan`.
    """

    location: str
    version: int
    rebalance_plan: RebalanceResult

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        store = open_shared_store(self.location)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                zone = self.rebalance_plan.changed_zones[number]
                segments = [
                    segment
                    for source in self.rebalance_plan.source_zones[zone]
                    for segment in store.zone_snapshot(self.version, source).live_segments
                    if segment.zone == source
                ]
                subscriptions = collect_zone_subscriptions(self.rebalance_plan, zone, segments)
                if subscriptions is not None:
                    yield encode_staged([store.stage_zone_segment(zone, subscriptions)])


def _commit_rebalanced(
    location: str,
    base_version: int,
    rebalance_plan: RebalanceResult,
    staged_segments: list[StagedSegment],
    label: str,
) -> dict[str, Any]:
    with open_shared_store(location) as store:
        store.lock(ATTEMPT_S)
        manifest = store.commit_rezoned(rebalance_plan, staged_segments, label, base_version)
    return {"version": manifest.version, "label": manifest.label}
