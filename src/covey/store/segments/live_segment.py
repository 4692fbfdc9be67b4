"""Live segments: a segment together with the tombstones that one version has for it.

A query of a version queries the index of each live segment, and `concat_live_pairs` joins the
pairs of all segments, without those of dead rows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from covey._jit import kernel
from covey.index import Pairs
from covey.store.ids import Ids
from covey.store.manifest.manifest import Manifest, SegmentEntry
from covey.store.merge.policy import SegmentSize
from covey.store.segments.segment import IndexedSubscriptions, SubscriptionBatch
from covey.store.segments.tombstones import Tombstones, read_tombstones
from covey.store.storage.array_file import MappedArrays
from covey.store.storage.content_store import ContentStore

__all__ = ["NO_TOMBSTONES", "LiveSegment", "SegmentOpener", "SegmentPairs", "concat_live_pairs"]

Rows = NDArray[np.int64]
AnyRows = NDArray[np.integer[Any]]  # row numbers in pairs; their dtype is chosen by the index
SegmentPairs = tuple[AnyRows, AnyRows, NDArray[np.uint8], int]
"""Query rows, stored rows, bits of dead rows, and the first row of the segment in the snapshot."""
NO_TOMBSTONES = np.empty(0, np.uint8)
"""Bits of a segment in which all rows are live."""


@dataclass(frozen=True, slots=True)
class LiveSegment:
    """Segment of one version: the subscriptions of a file, some of which may be dead.

    `gated_by` is the file of the gate, another segment, or None. An event that no region of the
    gate contains, dead ones included, matches no subscription of this segment. A segment with a
    `zone` may contain replicas, which are subscriptions with another home zone. If `is_home` is
    true, events of other zones are forwarded to the segment.
    """

    file: str
    size_bytes: int
    subscriptions: IndexedSubscriptions
    tombstones: Tombstones
    gated_by: str | None = None
    zone: int | None = None
    is_home: bool = False

    @classmethod
    def from_file(cls, file: MappedArrays) -> LiveSegment:
        """Return the segment in a file, with all rows live."""
        subscriptions = IndexedSubscriptions.from_file(file)
        tombstones = Tombstones.empty(len(subscriptions))
        return cls(file.sha256, file.size_bytes, subscriptions, tombstones)

    def with_tombstones(self, file: MappedArrays) -> LiveSegment:
        """Return this segment with its tombstones from `file`, a version's file of tombstones."""
        tombstones = read_tombstones(file, self.file, len(self.subscriptions))
        return replace(self, tombstones=tombstones)

    @property
    def entry(self) -> SegmentEntry:
        """Entry that describes this segment in a manifest."""
        stored, dead = len(self.subscriptions), self.tombstones.dead_count
        regions = len(self.subscriptions.index)
        replicas = self.live_count - self.without_replicas().live_count
        return SegmentEntry(
            self.file, self.size_bytes, regions, stored, dead, self.gated_by, self.zone, replicas,
            self.is_home,
        )  # fmt: skip

    @property
    def is_merge_exempt(self) -> bool:
        """Whether the segment must not be merged.

        This is true if events of other zones are forwarded to the segment. It is also true if the
        segment forwards events, because dead rows forward events too and a merge would drop them.
        """
        return self.is_home or self.subscriptions.forward_to is not None

    @property
    def size(self) -> SegmentSize:
        """Size of this segment for `TieredMergePolicy`."""
        share = self.tombstones.dead_count / max(1, len(self.subscriptions))
        return SegmentSize(len(self.subscriptions.index), share)

    def without_replicas(self) -> LiveSegment:
        """Return this segment with replicas marked as dead.

        Without replicas, each subscription of a version is live in exactly one segment.
        """
        replica_bits = self.subscriptions.replica_bits
        if replica_bits is None:
            return self
        return replace(self, tombstones=self.tombstones.with_bits(replica_bits))

    @property
    def live_count(self) -> int:
        """Number of live subscriptions."""
        return len(self.subscriptions) - self.tombstones.dead_count

    def take_live(self) -> SubscriptionBatch:
        """Return the live subscriptions."""
        return self.subscriptions.take(self.tombstones.live_rows)

    def find_rows(self, ids: Ids) -> Rows:
        """Return the row of the live subscription with each id, or -1 if there is none."""
        rows = self.subscriptions.ids.find_rows(ids)
        rows[self.tombstones.is_dead(np.maximum(rows, 0))] = -1
        return rows

    def without_ids(self, ids: Ids) -> LiveSegment:
        """Return this segment with the rows of these ids dead; unknown ids are ignored."""
        rows = self.find_rows(ids)
        rows = rows[rows >= 0]
        return replace(self, tombstones=self.tombstones.with_rows(rows)) if len(rows) else self

    def to_segment_pairs(self, pairs: Pairs, first_row: int) -> SegmentPairs:
        """Return pairs with subscription rows instead of region rows, for `concat_live_pairs`.

        `first_row` is the number that the first row of this segment has in the snapshot.
        """
        return (
            pairs.query_rows,
            self.subscriptions.to_subscription_rows(pairs),
            self.tombstones.bits,
            first_row,
        )


class SegmentOpener:
    """Opener of segments; a segment that a snapshot has open is not opened again.

    Any number of threads can use it at the same time.
    """

    def __init__(self, content_store: ContentStore) -> None:
        self.content_store = content_store
        self._open_segments: WeakValueDictionary[str, IndexedSubscriptions] = WeakValueDictionary()
        self._lock = threading.Lock()

    def open_segments(
        self, manifest: Manifest, include: Callable[[SegmentEntry], bool] = lambda _: True
    ) -> tuple[LiveSegment, ...]:
        """Open and verify those segments of a version for whose entry `include` returns true."""
        tombstones = (
            None
            if manifest.tombstones_file is None
            else self.content_store.open(manifest.tombstones_file)
        )
        opened = []
        for entry in manifest.segments:
            if not include(entry):
                continue
            segment = self.open_segment(entry.file, entry.size_bytes)
            segment = replace(
                segment, gated_by=entry.gated_by, zone=entry.zone, is_home=entry.is_home
            )
            opened.append(segment if tombstones is None else segment.with_tombstones(tombstones))
        return tuple(opened)

    def open_segment(self, file: str, size_bytes: int) -> LiveSegment:
        """Open one segment, with all rows live."""
        with self._lock:
            subscriptions = self._open_segments.get(file)
        if subscriptions is None:  # not under the lock: a large file must not delay a small one
            subscriptions = IndexedSubscriptions.from_file(self.content_store.open(file))
            with self._lock:
                subscriptions = self._open_segments.setdefault(file, subscriptions)
        return LiveSegment(file, size_bytes, subscriptions, Tombstones.empty(len(subscriptions)))


def concat_live_pairs(segment_pairs: Sequence[SegmentPairs]) -> Pairs:
    """Return the pairs of all segments together, without pairs whose stored row is dead.

    The pairs of each segment must be sorted by query row; the result is sorted by query row as
    well. The stored rows of one query row are in no particular order. In the result, stored rows
    are rows of the snapshot: the first row of the segment is added to them.

    Cost: some nanoseconds per pair.
    """
    size = sum(len(query_rows) for query_rows, *_ in segment_pairs)
    query_rows, stored_rows = np.empty(size, np.int32), np.empty(size, np.int64)
    count = 0
    for segment_query_rows, segment_stored_rows, dead_bits, first_row in segment_pairs:
        count += _write_live_pairs(
            segment_query_rows,
            segment_stored_rows,
            dead_bits,
            first_row,
            query_rows[count:],
            stored_rows[count:],
        )
    query_rows, stored_rows = query_rows[:count], stored_rows[:count]
    if len(segment_pairs) == 1 or not count:
        return Pairs(query_rows, stored_rows)
    sorted_query_rows, sorted_stored_rows = np.empty(count, np.int32), np.empty(count, np.int64)
    _write_by_query_row(
        query_rows, stored_rows, int(query_rows.max()) + 1, sorted_query_rows, sorted_stored_rows
    )
    return Pairs(sorted_query_rows, sorted_stored_rows)


@kernel
def _write_live_pairs(
    query_rows: AnyRows, stored_rows: AnyRows, dead_bits: NDArray[np.uint8], first_row: int,
    out_query_rows: NDArray[np.int32], out_stored_rows: NDArray[np.int64],
) -> int:  # fmt: skip
    """Write the pairs whose stored row is live, and return their number.

    `first_row` is added to each stored row.
    """
    count = 0
    for i in range(len(query_rows)):
        row = np.int64(stored_rows[i])
        if len(dead_bits) == 0 or (dead_bits[row >> 3] >> (row & 7)) & 1 == 0:
            out_query_rows[count], out_stored_rows[count] = query_rows[i], first_row + row
            count += 1
    return count


@kernel
def _write_by_query_row(
    query_rows: NDArray[np.int32], stored_rows: NDArray[np.int64], query_count: int,
    out_query_rows: NDArray[np.int32], out_stored_rows: NDArray[np.int64],
) -> None:  # fmt: skip
    """Write the pairs sorted by query row, by a stable counting sort.

    `query_count` is greater than each query row. A run of pairs with the same query row is moved as
    a whole, which is faster.
    """
    next_slots = np.zeros(query_count + 1, np.int64)
    for row in query_rows:
        next_slots[row + 1] += 1
    for row in range(query_count):
        next_slots[row + 1] += next_slots[row]
    i = 0
    while i < len(query_rows):
        row = query_rows[i]
        slot = next_slots[row]
        while i < len(query_rows) and query_rows[i] == row:
            out_query_rows[slot], out_stored_rows[slot] = row, stored_rows[i]
            i += 1
            slot += 1
        next_slots[row] = slot
