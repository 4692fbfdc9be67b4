"""Build the segments of zones in workers, from the rows of staged segments.

A worker opens one staged segment at a time. Subscriptions are not shuffled, only their row numbers,
home zones and flags: the task that builds a zone reads its rows from the same staged segments.

Cost: each task that builds a zone opens every staged segment that has rows for this zone.
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
from covey.spark.workers import ATTEMPT_S, open_shared_store, reraise_worker_errors, run_in_task
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
"""Schema in which tasks return the segments that they staged."""

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
    """Spread staged segments over zones, and commit the segments of the zones as a version.

    Args:
        spark: the session.
        location: location of the store.
        base_version: version whose type of ids the new version gets.
        staged_segments: the subscriptions; the staged files are deleted.
        zone_map: the zones.
        is_smart: whether replication is `smart`.
        space: space of the new version.
        label: label of the new version.

    Returns:
        The `version` number of the new version, its `label`, and its number of `subscriptions`.
    """
    zone_segments = build_zone_segments(
        spark, location, staged_segments, zone_map, is_smart=is_smart
    )
    work = partial(
        _commit_zones,
        location,
        base_version,
        list(staged_segments),
        zone_segments,
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
    """Build the segments of all zones from staged segments, in Spark's workers.

    Args:
        spark: the session.
        location: location of the store.
        staged_segments: the subscriptions.
        zone_map: the zones.
        is_smart: whether replication is `smart`.

    Returns:
        The staged segments of all zones and of the broadcast segment.
    """
    place_task = _PlaceInZoneTask(location, tuple(staged_segments), zone_map)
    zones = len(zone_map) + 1  # with the broadcast segment
    with reraise_worker_errors():
        numbers = spark.range(0, len(staged_segments), 1, max(1, len(staged_segments)))
        placements = numbers.mapInArrow(place_task, _PLACEMENT_SCHEMA)
        by_zone = placements.repartitionById(zones, "zone")
        build_task = _BuildZoneTask(location, tuple(staged_segments), is_smart)
        return decode_staged(by_zone.mapInArrow(build_task, STAGED_SCHEMA))


def decode_staged(frame: DataFrame) -> list[StagedSegment]:
    """Collect the staged segments that tasks returned with `encode_staged`."""
    return [StagedSegment(**json.loads(row["content"])) for row in frame.collect()]


def encode_staged(staged_segments: Sequence[StagedSegment]) -> pa.RecordBatch:
    """Return staged segments as rows of `STAGED_SCHEMA`."""
    return pa.RecordBatch.from_pydict(
        {"content": [json.dumps(asdict(segment)) for segment in staged_segments]}
    )


@dataclass(frozen=True, slots=True)
class _PlaceInZoneTask:
    """Function of a `mapInArrow`: find the zones of the subscriptions of staged segments.

    The input rows are positions in `staged_segments`. There is one output row for each staged
    segment and each zone, with three arrays as bytes: the rows of the segment's subscriptions that
    are in this zone, their home zones, and whether each is in other zones too.
    """

    location: str
    staged_segments: tuple[StagedSegment, ...]
    zone_map: ZoneMap

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        store = open_shared_store(self.location)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                segment = self.staged_segments[number]
                subscriptions = store.open_staged(segment).take_live()
                for members in self.zone_map.iterate_members(
                    subscriptions.regions, subscriptions.subscription_rows, len(subscriptions.ids)
                ):
                    arrays = (
                        members.rows.astype(_ROW_DTYPE),
                        members.first_zones.astype(_ROW_DTYPE),
                        members.is_replicated,
                    )
                    columns = [pa.array([members.zone], pa.int32()), pa.array([segment.file])]
                    columns += [pa.array([array.tobytes()], pa.binary()) for array in arrays]
                    names = ["zone", "file", "rows", "first", "is_elsewhere"]
                    yield pa.RecordBatch.from_arrays(columns, names)


@dataclass(frozen=True, slots=True)
class _BuildZoneTask:
    """Function of a `mapInArrow`: stage the segments of one zone.

    The input rows are all output rows of `_PlaceInZoneTask` for this zone.
    """

    location: str
    staged_segments: tuple[StagedSegment, ...]
    is_smart: bool

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        placements = [row for batch in batches for row in batch.to_pylist()]
        if not placements:
            return
        placements.sort(key=lambda row: row["file"])  # the same order of segments in all zones
        store = open_shared_store(self.location)
        subscriptions = self._take_zone_subscriptions(store, placements)
        first_zones = np.frombuffer(b"".join(row["first"] for row in placements), _ROW_DTYPE)
        members = ZoneMembers(
            placements[0]["zone"],
            np.arange(len(subscriptions.ids)),
            first_zones.astype(np.int64),
            np.frombuffer(b"".join(row["is_elsewhere"] for row in placements), np.bool_),
        )
        yield encode_staged(stage_zone(store, subscriptions, members, is_smart=self.is_smart))

    def _take_zone_subscriptions(
        self, store: Store, placements: Sequence[dict[str, Any]]
    ) -> SubscriptionBatch:
        """Return the subscriptions of the zone, in the order of `placements`."""
        by_file, batches = {segment.file: segment for segment in self.staged_segments}, []
        for row in placements:
            subscriptions = store.open_staged(by_file[row["file"]]).subscriptions
            batches.append(
                subscriptions.take(np.frombuffer(row["rows"], _ROW_DTYPE).astype(np.int64))
            )
        return SubscriptionBatch.concat(batches)


def _commit_zones(
    location: str,
    base_version: int,
    staged_segments: Sequence[StagedSegment],
    zone_segments: Sequence[StagedSegment],
    zone_map: ZoneMap,
    space: dict[str, Any],
    label: str,
) -> dict[str, Any]:
    with open_shared_store(location) as store:
        store.lock(ATTEMPT_S)
        manifest = store.commit_zones(
            zone_map, zone_segments, space_from_json(space), label, base_version
        )
        store.discard_staged(staged_segments)
    return {
        "version": manifest.version,
        "label": manifest.label,
        "subscriptions": manifest.subscriptions,
    }
