"""Parts of a version: a segment together with the tombstones that the version has for it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from covey.index import Pairs
from covey.store.ids import Ids
from covey.store.manifest.manifest import Manifest, SegmentEntry
from covey.store.merge.policy import SegmentSize
from covey.store.segments.pairs import SegmentPairs
from covey.store.segments.segment import IndexedSubscriptions, SubscriptionBatch
from covey.store.segments.tombstones import Tombstones, read_tombstones
from covey.store.storage.array_file import MappedArrays
from covey.store.storage.content_store import ContentStore

__all__ = ["LiveSegment", "SegmentOpener"]

Rows = NDArray[np.int64]
AnyRows = NDArray[np.integer[Any]]  # of pairs, as an index numbers them


@dataclass(frozen=True, slots=True)
class LiveSegment:
    """The subscriptions of one file, of which some no longer count.

    If it is `gated_by` the file of another segment, an event that no region there contains, dead
    ones included, matches nothing here. If it is of a `zone`, some of it may be replicas of what
    another zone has; if it `is_home`, events of other zones are sent to it.
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
        """The part in a file, all of which counts."""
        subscriptions = IndexedSubscriptions.from_file(file)
        stones = Tombstones.empty(len(subscriptions))
        return cls(file.sha256, file.size_bytes, subscriptions, stones)

    def with_tombstones(self, file: MappedArrays) -> LiveSegment:
        """This part with its tombstones out of the file of a version."""
        stones = read_tombstones(file, self.file, len(self.subscriptions))
        return replace(self, tombstones=stones)

    @property
    def entry(self) -> SegmentEntry:
        """How a version names this part."""
        stored, dead = len(self.subscriptions), self.tombstones.dead_count
        regions = len(self.subscriptions.index)
        replicas = self.live_count - self.without_replicas().live_count
        return SegmentEntry(
            self.file, self.size_bytes, regions, stored, dead, self.gated_by, self.zone, replicas,
            self.is_home,
        )  # fmt: skip

    @property
    def is_merge_exempt(self) -> bool:
        """Whether it is not to be merged: even the dead in it say where events go on to, or it is
        where they come to.
        """
        return self.is_home or self.subscriptions.forward_to is not None

    @property
    def size(self) -> SegmentSize:
        """How large it is for `TieredMergePolicy`."""
        share = self.tombstones.dead_count / max(1, len(self.subscriptions))
        return SegmentSize(len(self.subscriptions.index), share)

    def without_replicas(self) -> LiveSegment:
        """This part without what is a copy: then a subscription is in one part only."""
        copies = self.subscriptions.replica_bits
        if copies is None:
            return self
        return replace(self, tombstones=self.tombstones.with_bits(copies))

    @property
    def live_count(self) -> int:
        return len(self.subscriptions) - self.tombstones.dead_count

    def take_live(self) -> SubscriptionBatch:
        """The subscriptions that count."""
        return self.subscriptions.take(self.tombstones.live_rows)

    def find_rows(self, ids: Ids) -> Rows:
        """The row of each id, -1 where it is not here or no longer counts."""
        rows = self.subscriptions.ids.find_rows(ids)
        rows[self.tombstones.is_dead(np.maximum(rows, 0))] = -1
        return rows

    def without_ids(self, ids: Ids) -> LiveSegment:
        """This part with the given ids dead; those that are not here change nothing."""
        rows = self.find_rows(ids)
        rows = rows[rows >= 0]
        return replace(self, tombstones=self.tombstones.with_rows(rows)) if len(rows) else self

    def to_segment_pairs(self, pairs: Pairs, first_row: int) -> SegmentPairs:
        """Pairs with regions as pairs with their subscriptions, whose rows begin at `start`."""
        return (
            pairs.query_rows,
            self.subscriptions.to_subscription_rows(pairs),
            self.tombstones.bits,
            first_row,
        )


class SegmentOpener:
    """Opens the parts of versions; a segment that some snapshot has open is not opened again.

    For any number of threads.
    """

    def __init__(self, content_store: ContentStore) -> None:
        self.content_store = content_store
        self._open_segments: WeakValueDictionary[str, IndexedSubscriptions] = WeakValueDictionary()
        self._lock = threading.Lock()

    def open_segments(
        self, manifest: Manifest, include: Callable[[SegmentEntry], bool] = lambda _: True
    ) -> tuple[LiveSegment, ...]:
        """All parts of a version that are wanted, verified."""
        stones = (
            None
            if manifest.tombstones_file is None
            else self.content_store.open(manifest.tombstones_file)
        )
        opened = []
        for entry in manifest.segments:
            if not include(entry):
                continue
            part = self.open_segment(entry.file, entry.size_bytes)
            part = replace(part, gated_by=entry.gated_by, zone=entry.zone, is_home=entry.is_home)
            opened.append(part if stones is None else part.with_tombstones(stones))
        return tuple(opened)

    def open_segment(self, file: str, size_bytes: int) -> LiveSegment:
        """One segment without tombstones."""
        with self._lock:
            subscriptions = self._open_segments.get(file)
        if subscriptions is None:  # without the lock: a large file must not hold up a small one
            subscriptions = IndexedSubscriptions.from_file(self.content_store.open(file))
            with self._lock:
                subscriptions = self._open_segments.setdefault(file, subscriptions)
        return LiveSegment(file, size_bytes, subscriptions, Tombstones.empty(len(subscriptions)))
