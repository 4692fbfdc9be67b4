"""Merging parts into one while changes go on, or spreading them over zones.

A merge is claimed, built, and finished. Between claim and finish the version may have changed: what
died meanwhile becomes tombstones of the merged segment, and nothing has to wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from covey.store.ids import Ids
from covey.store.segments.expiry import Horizons, drop_expired
from covey.store.segments.live_segment import LiveSegment
from covey.store.segments.segment import IndexedSubscriptions, SubscriptionBatch
from covey.store.storage.content_store import ContentStore
from covey.store.zones.placement import split_by_zone
from covey.zones import ZoneMap

__all__ = ["MergeOperation", "MergedSegment", "install_merged", "merge_segments", "write_merged"]


@dataclass(frozen=True, slots=True)
class MergeOperation:
    """Parts of one zone that are to become one, as they were when the merge was claimed.

    Regions that end before one of the `horizons` are left out. With a `zone_map`, what they have
    becomes a part of each zone instead.
    """

    segments: tuple[LiveSegment, ...]
    horizons: Horizons = field(default_factory=dict)
    zone_map: ZoneMap | None = None

    @property
    def files(self) -> set[str]:
        return {part.file for part in self.segments}


@dataclass(frozen=True, slots=True)
class MergedSegment:
    """A segment that a merge made, which the store has: of which zone it is, if of one."""

    zone: int | None
    file: str
    size_bytes: int


def merge_segments(operation: MergeOperation) -> Iterator[tuple[int | None, IndexedSubscriptions]]:
    """The subscriptions of all parts that count and have not ended, in one index; none if none.

    Cost: that of `IndexedSubscriptions.build`; about three copies of the regions in memory.
    """
    parts = (part.take_live() for part in operation.segments if part.live_count)
    live = [left for part in parts if len((left := drop_expired(part, operation.horizons)).ids)]
    if not live:
        return
    owned = SubscriptionBatch.concat(live)
    if operation.zone_map is None:
        yield operation.segments[0].zone, IndexedSubscriptions.build(owned)
        return
    for zone, some in split_by_zone(owned, operation.zone_map):
        yield zone, IndexedSubscriptions.build(some)


def write_merged(operation: MergeOperation, content_store: ContentStore) -> list[MergedSegment]:
    """What a merge makes, in the files of a store; nothing if nothing was left."""
    placed = []
    for zone, subscriptions in merge_segments(operation):
        packed = subscriptions.encode()
        content_store.put(packed)
        placed.append(MergedSegment(zone, packed.sha256, packed.size_bytes))
    return placed


def install_merged(
    operation: MergeOperation,
    live_segments: Sequence[LiveSegment],
    merged_segments: Sequence[LiveSegment],
) -> list[LiveSegment]:
    """The parts of a version, now that a merge is done: its inputs gave way to its results.

    An input that is no longer there died as a whole. What became a zone's is before what is not.
    """
    places = [i for i, part in enumerate(live_segments) if part.file in operation.files]
    kept = [part for part in live_segments if part.file not in operation.files]
    place = places[0] if places and operation.zone_map is None else 0
    died = _find_died_ids(operation, live_segments)
    left = [result.without_ids(died) for result in merged_segments]
    return [*kept[:place], *(part for part in left if part.live_count), *kept[place:]]


def _find_died_ids(operation: MergeOperation, live_segments: Sequence[LiveSegment]) -> Ids:
    """The ids that counted when a merge was claimed and do not count in its inputs now."""
    current = {part.file: part.tombstones for part in live_segments}
    died = []
    for part in operation.segments:
        stones = current.get(part.file)
        gone = part.tombstones.live_rows if stones is None else stones.rows_since(part.tombstones)
        died.append(part.subscriptions.ids.take(gone))
    return Ids.concat(died)
