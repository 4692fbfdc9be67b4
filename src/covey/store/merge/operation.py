"""Merge operation: several segments become one, or are spread over zones.

A merge is claimed, built, and finished. Other changes do not wait for it: rows that die between
claim and finish become tombstones of the merged segment.
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
    """Merge of segments of one zone, or of no zone, into one segment.

    `segments` are as they were when the merge was claimed. Regions that end before one of the
    `horizons` are dropped. With a `zone_map`, the subscriptions are spread over its zones instead,
    with one segment for each zone that has any.
    """

    segments: tuple[LiveSegment, ...]
    horizons: Horizons = field(default_factory=dict)
    zone_map: ZoneMap | None = None

    @property
    def files(self) -> set[str]:
        """Names of the segment files that are merged."""
        return {segment.file for segment in self.segments}


@dataclass(frozen=True, slots=True)
class MergedSegment:
    """Segment file that a merge has written to the store, with its zone (None for no zone)."""

    zone: int | None
    file: str
    size_bytes: int


def merge_segments(operation: MergeOperation) -> Iterator[tuple[int | None, IndexedSubscriptions]]:
    """Yield pairs of a zone number, or None for no zone, and the content of a merged segment.

    With a zone map, there is a pair for each zone that has subscriptions; otherwise there is a
    single pair. Merged segments contain the live subscriptions of all segments, without expired
    regions. If no subscription remains, nothing is yielded.

    Cost: that of `IndexedSubscriptions.build`; about three copies of the regions in memory.
    """
    live = (segment.take_live() for segment in operation.segments if segment.live_count)
    batches = [left for batch in live if len((left := drop_expired(batch, operation.horizons)).ids)]
    if not batches:
        return
    merged = SubscriptionBatch.concat(batches)
    if operation.zone_map is None:
        yield operation.segments[0].zone, IndexedSubscriptions.build(merged)
        return
    for zone, zone_batch in split_by_zone(merged, operation.zone_map):
        yield zone, IndexedSubscriptions.build(zone_batch)


def write_merged(operation: MergeOperation, content_store: ContentStore) -> list[MergedSegment]:
    """Build the merged segments, write their files, and return the merged segments.

    The list is empty if no subscription remains.
    """
    written = []
    for zone, subscriptions in merge_segments(operation):
        encoded = subscriptions.encode()
        content_store.put(encoded)
        written.append(MergedSegment(zone, encoded.sha256, encoded.size_bytes))
    return written


def install_merged(
    operation: MergeOperation,
    live_segments: Sequence[LiveSegment],
    merged_segments: Sequence[LiveSegment],
) -> list[LiveSegment]:
    """Return the segments of a version with the inputs of a merge replaced by its results.

    Rows that died since the merge was claimed are dead in the results. If an input is missing in
    `live_segments`, all its rows have died. The results are put at the position of the first input.
    If they were spread over zones, or no input remains, they are put before all other segments.

    Args:
        operation: the merge.
        live_segments: the segments of the newest version.
        merged_segments: the results of the merge, with all rows live.
    """
    input_rows = [i for i, segment in enumerate(live_segments) if segment.file in operation.files]
    remaining = [segment for segment in live_segments if segment.file not in operation.files]
    insert_row = input_rows[0] if input_rows and operation.zone_map is None else 0
    dead_ids = _find_died_ids(operation, live_segments)
    results = [result.without_ids(dead_ids) for result in merged_segments]
    return [
        *remaining[:insert_row],
        *(segment for segment in results if segment.live_count),
        *remaining[insert_row:],
    ]


def _find_died_ids(operation: MergeOperation, live_segments: Sequence[LiveSegment]) -> Ids:
    """Return the ids that were live when a merge was claimed and are dead in its inputs now."""
    current = {segment.file: segment.tombstones for segment in live_segments}
    dead_ids = []
    for segment in operation.segments:
        tombstones = current.get(segment.file)
        dead_rows = (
            segment.tombstones.live_rows
            if tombstones is None
            else tombstones.rows_since(segment.tombstones)
        )
        dead_ids.append(segment.subscriptions.ids.take(dead_rows))
    return Ids.concat(dead_ids)
