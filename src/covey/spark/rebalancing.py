"""A zoned model whose events are not what they were: a few of its zones built anew."""

from __future__ import annotations

from collections.abc import Iterator
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
from covey.spark.building import PREPARED, as_rows, prepared_of
from covey.spark.fitted import Fitted
from covey.spark.lifetimes import LIFETIME
from covey.spark.routing import Routing
from covey.spark.task import in_a_task, told
from covey.store import Prepared, Snapshot, Store
from covey.store.rezoned import of_new_zone
from covey.zones import Rebalanced, Sample, rebalanced

__all__ = ["loads", "rebalance"]

_SAMPLED = 20_000  # regions


def rebalance(spark: SparkSession, fitted: Fitted, events: Events) -> Fitted:
    """The model with zones that are even for these events.

    Where nothing is to be moved, only how many share each zone may change.
    """
    store = Store.open(fitted.place)
    zoning = store.zoning(fitted.version)
    assert zoning is not None
    sample = _sample(store, fitted, events)
    owners = zoning.tree.owners(events)

    def of_zone(zone: int) -> Sample:
        mine = np.flatnonzero(owners == zone)
        regions = _some(store.zone_snapshot(fitted.version, zone))
        return Sample(events.take(mine), sample.work[mine], regions)

    work = sample.loads(zoning.tree)[0]
    to = rebalanced(zoning, work, of_zone, frozenset({LIFETIME}))
    building = _Building(fitted.place, fitted.version, to)
    put: list[Prepared] = []
    if to.changed:
        with told():
            zones = spark.range(0, len(to.changed), 1, len(to.changed))
            put = prepared_of(zones.mapInArrow(building, PREPARED))
    made = in_a_task(spark, partial(_publish, fitted.place, fitted.version, to, put, uuid4().hex))
    routing = Routing.of(to.zoning, is_smart=False)
    return replace(fitted, version=made["version"], label=made["label"], routing=routing)


def loads(fitted: Fitted, events: Events) -> NDArray[np.float64]:
    """The share of the work that each zone has of these events."""
    store = Store.open(fitted.place)
    zoning = store.zoning(fitted.version)
    assert zoning is not None
    return _sample(store, fitted, events).loads(zoning.tree)[0]


def _sample(store: Store, fitted: Fitted, events: Events) -> Sample:
    snapshot = store.snapshot(fitted.version)
    return Sample.of(events, _some(snapshot), len(snapshot))


def _some(snapshot: Snapshot, seed: int = 0) -> Regions:
    rows = snapshot.rows
    if len(rows) > _SAMPLED:
        rows = np.random.default_rng(seed).choice(rows, _SAMPLED, replace=False)
    return snapshot.regions(np.sort(rows))[0]


@dataclass(frozen=True, slots=True)
class _Building:
    """The function of a `mapInArrow` over numbers of zones that changed."""

    place: str
    version: int
    to: Rebalanced

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        store = Store.open(self.place)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                zone = self.to.changed[number]
                parts = [
                    part
                    for source in self.to.sources[zone]
                    for part in store.zone_snapshot(self.version, source).parts
                    if part.zone == source
                ]
                owned = of_new_zone(self.to, zone, parts)
                if owned is not None:
                    yield as_rows([store.prepare_zone(zone, owned)])


def _publish(
    place: str, base: int, to: Rebalanced, put: list[Prepared], label: str
) -> dict[str, Any]:
    with Store.open(place) as store:
        version = store.rezone(to, put, label, base)
    return {"version": version.number, "label": version.label}
