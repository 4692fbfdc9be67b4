"""Zones built by workers: a segment of each, out of segments that were prepared.

Prepared segments are read one at a time. Which of their rows meet which zone is shuffled, not the
subscriptions: who builds a zone takes its rows out of the same files.

Cost: each prepared segment is opened by every task that builds a zone with some of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from covey._types import JsonObject
from covey.space import Space
from covey.spark.single_task import run_in_task
from covey.spark.worker_errors import reraise_worker_errors
from covey.store import StagedSegment, Store
from covey.store.manifest import space_from_json, space_to_json
from covey.store.segments import SubscriptionBatch
from covey.store.zones import stage_zone
from covey.zones import ZoneMap, ZoneMembers

__all__ = [
    "STAGED_SCHEMA",
    "build_zone_segments",
    "decode_staged",
    "encode_staged",
    "publish_zones",
]

STAGED_SCHEMA = "content STRING"
"""The columns in which tasks tell what they have prepared."""

_ROW_DTYPE = np.int32

_PLACEMENT_SCHEMA = "zone INT, file STRING, rows BINARY, first BINARY, is_elsewhere BINARY"


def publish_zones(
    spark: SparkSession,
    location: str,
    base_version: int,
    staged_segments: Sequence[StagedSegment],
    zone_map: ZoneMap,
    *,
    is_smart: bool,
    space: Space,
    label: str,
) -> JsonObject:
    """Makes the version of `base` in which prepared segments are spread over zones."""
    of_zones = build_zone_segments(spark, location, staged_segments, zone_map, is_smart=is_smart)
    work = partial(
        _commit_zones,
        location,
        base_version,
        list(staged_segments),
        of_zones,
        zone_map,
        space_to_json(space),
        label,
    )
    return run_in_task(spark, work)


def build_zone_segments(
    spark: SparkSession,
    location: str,
    staged_segments: Sequence[StagedSegment],
    zone_map: ZoneMap,
    *,
    is_smart: bool,
) -> list[StagedSegment]:
    """Segments of all zones, out of what was prepared."""
    placing = _PlaceInZoneTask(location, tuple(staged_segments), zone_map)
    zones = len(zone_map) + 1  # with the one that is everywhere
    with reraise_worker_errors():
        files = spark.range(0, len(staged_segments), 1, max(1, len(staged_segments)))
        placed = files.mapInArrow(placing, _PLACEMENT_SCHEMA).repartitionById(zones, "zone")
        building = _BuildZoneTask(location, tuple(staged_segments), is_smart)
        return decode_staged(placed.mapInArrow(building, STAGED_SCHEMA))


def decode_staged(frame: DataFrame) -> list[StagedSegment]:
    """What tasks have prepared, from rows of `encode_staged`."""
    return [StagedSegment(**json.loads(row["content"])) for row in frame.collect()]


def encode_staged(staged_segments: Sequence[StagedSegment]) -> pa.RecordBatch:
    """What a task has prepared, as it tells the driver."""
    return pa.RecordBatch.from_pydict(
        {"content": [json.dumps(asdict(one)) for one in staged_segments]}
    )


@dataclass(frozen=True, slots=True)
class _PlaceInZoneTask:
    """The function of a `mapInArrow` over numbers of prepared segments."""

    location: str
    staged_segments: tuple[StagedSegment, ...]
    zone_map: ZoneMap

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        store = Store.open(self.location)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                one = self.staged_segments[number]
                owned = store.open_staged(one).take_live()
                for some in self.zone_map.iterate_members(
                    owned.regions, owned.subscription_rows, len(owned.ids)
                ):
                    arrays = (
                        some.rows.astype(_ROW_DTYPE),
                        some.first_zones.astype(_ROW_DTYPE),
                        some.is_replicated,
                    )
                    columns = [pa.array([some.zone], pa.int32()), pa.array([one.file])]
                    columns += [pa.array([array.tobytes()], pa.binary()) for array in arrays]
                    names = ["zone", "file", "rows", "first", "is_elsewhere"]
                    yield pa.RecordBatch.from_arrays(columns, names)


@dataclass(frozen=True, slots=True)
class _BuildZoneTask:
    """The function of a `mapInArrow` over what was placed in one zone."""

    location: str
    staged_segments: tuple[StagedSegment, ...]
    is_smart: bool

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        placed = [row for batch in batches for row in batch.to_pylist()]
        if not placed:
            return
        placed.sort(key=lambda row: row["file"])  # what is equal has one order in all zones
        store = Store.open(self.location)
        owned = self._take_zone_subscriptions(store, placed)
        some = ZoneMembers(
            placed[0]["zone"],
            np.arange(len(owned.ids)),
            np.frombuffer(b"".join(row["first"] for row in placed), _ROW_DTYPE).astype(np.int64),
            np.frombuffer(b"".join(row["is_elsewhere"] for row in placed), np.bool_),
        )
        yield encode_staged(stage_zone(store, owned, some, is_smart=self.is_smart))

    def _take_zone_subscriptions(
        self, store: Store, placements: Sequence[dict[str, Any]]
    ) -> SubscriptionBatch:
        """What the zone has of each file, the files one after another."""
        by_file, parts = {one.file: one for one in self.staged_segments}, []
        for row in placements:
            subscriptions = store.open_staged(by_file[row["file"]]).subscriptions
            parts.append(
                subscriptions.take(np.frombuffer(row["rows"], _ROW_DTYPE).astype(np.int64))
            )
        return SubscriptionBatch.concat(parts)


def _commit_zones(
    location: str,
    base_version: int,
    staged_segments: Sequence[StagedSegment],
    zone_segments: Sequence[StagedSegment],
    zone_map: ZoneMap,
    space: dict[str, Any],
    label: str,
) -> dict[str, Any]:
    with Store.open(location) as store:
        version = store.commit_zones(
            zone_map, zone_segments, space_from_json(space), label, base_version
        )
        store.discard_staged(staged_segments)
    subscriptions = version.subscriptions
    return {"version": version.version, "label": version.label, "subscriptions": subscriptions}
