"""The writer of a store: makes its versions, one after another.

It holds the writer's lock, the newest version, and which segments are being merged.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from covey.errors import StoreError
from covey.space import Space
from covey.store.changes import Changes
from covey.store.ids import IdKind, Ids
from covey.store.manifest.manifest import (
    Manifest,
    SegmentEntry,
    manifest_name,
    now_ms,
    read_manifest,
    read_newest_manifest,
)
from covey.store.manifest.space_json import combine_spaces
from covey.store.merge.operation import MergedSegment, MergeOperation, install_merged
from covey.store.merge.policy import TieredMergePolicy
from covey.store.segments.expiry import Horizons
from covey.store.segments.live_segment import LiveSegment, SegmentOpener
from covey.store.segments.segment import IndexedSubscriptions, SubscriptionBatch
from covey.store.segments.tombstones import Tombstones, encode_tombstones
from covey.store.snapshot import Snapshot
from covey.store.storage.backend import StorageBackend
from covey.store.storage.content_store import ContentStore
from covey.store.storage.lock import WriterLock
from covey.store.zones.placement import encode_zone_map, read_zone_map
from covey.zones import ZoneMap

__all__ = ["Writer", "apply_changes_to_segments"]

_MIN_SPLIT_LEVEL = 2  # of tiers, from which on what is of no zone is spread over zones
_MIN_MAPPED_BYTES = 1 << 24  # smaller new segments stay in memory: they are rewritten soon


class Writer:
    """Makes versions. Takes the lock with the first of them; for any number of threads."""

    def __init__(
        self,
        backend: StorageBackend,
        opener: SegmentOpener,
        merge_policy: TieredMergePolicy,
        space: Space,
        id_kind: IdKind,
    ) -> None:
        self._backend, self._opener, self._merge_policy = backend, opener, merge_policy
        self._space, self.id_kind = space, id_kind
        self._commit_lock = threading.RLock()
        self._writer_lock: WriterLock | None = None
        self._newest_snapshot: Snapshot | None = None
        self._merging_files: set[str] = set()
        self._horizons: Horizons = {}

    @property
    def content_store(self) -> ContentStore:
        """Where segments are kept."""
        return self._opener.content_store

    @property
    def newest_snapshot(self) -> Snapshot | None:
        """The newest version, if this is the writer, because then nobody else makes one."""
        now = self._newest_snapshot
        return (
            None
            if now is None
            else Snapshot(now.manifest, tuple(p.without_replicas() for p in now.live_segments))
        )

    def apply(self, changes: Changes, label: str | None = None) -> Manifest:
        """See `Store.apply`."""
        return self.commit_changes(*changes.validate(self._space, self.id_kind), label=label)

    def commit_changes(
        self,
        added: SubscriptionBatch | None,
        removed_ids: Ids,
        *,
        label: str | None = None,
        base_version: int | None = None,
    ) -> Manifest:
        """The version with what is added and without what is removed; no id is in both.

        It is made from the newest version, or from that with the number `base_version`.
        """
        with self._lock_newest_snapshot() as now:
            if base_version is not None and base_version != now.manifest.version:
                version = read_manifest(self._backend, base_version)
                now = Snapshot(version, self._opener.open_segments(version))
            parts, added = apply_changes_to_segments(
                now.live_segments, added, removed_ids, self._merge_policy
            )
            if added is None and list(map(id, parts)) == list(map(id, now.live_segments)):
                return now.manifest
            built = None if added is None else IndexedSubscriptions.build(added)
            return self._commit(parts, built, label, now.manifest)

    def overwrite(self, segments: list[LiveSegment], label: str | None) -> Manifest:
        """See `Store.overwrite`."""
        with self._lock_newest_snapshot() as now:
            return (
                self._commit(segments, None, label)
                if segments or now.live_segments
                else now.manifest
            )

    def commit_gated(self, segments: list[LiveSegment], label: str, base_version: int) -> Manifest:
        """See `Store.commit_gated`."""
        with self._lock_newest_snapshot():
            before = read_manifest(self._backend, base_version)
            if before.subscriptions != sum(part.live_count for part in segments):
                raise StoreError(f"what was staged is not all that version {base_version} has")
            return self._commit(segments, None, label, before)

    def expire_before(self, attribute: str, before_key: int) -> None:
        """See `Store.expire_before`."""
        with self._commit_lock:
            self._horizons = {**self._horizons, attribute: before_key}

    def claim_merge(self) -> MergeOperation | None:
        """The next merge to be done, of segments that no other merge has claimed."""
        with self._lock_newest_snapshot() as now:
            free = [
                p
                for p in now.live_segments
                if p.file not in self._merging_files and not p.is_merge_exempt
            ]
            by_zone: dict[int | None, list[LiveSegment]] = {}
            for part in free:
                by_zone.setdefault(part.zone, []).append(part)
            for zone, parts in by_zone.items():
                if chosen := self._merge_policy.find_merge([part.size for part in parts]):
                    some = tuple(parts[i] for i in chosen)
                    merge = MergeOperation(
                        some, self._horizons, self._zone_map_to_split_by(zone, some, now.manifest)
                    )
                    self._merging_files |= merge.files
                    return merge
            return None

    def open_zone_map(self, manifest: Manifest) -> ZoneMap | None:
        """Where the zones of a version are, if it has any."""
        if manifest.zone_map_file is None:
            return None
        return read_zone_map(self.content_store.open(manifest.zone_map_file), manifest.space)

    def finish_merge(
        self, operation: MergeOperation, merged_segments: Sequence[MergedSegment]
    ) -> Manifest:
        """The version in which a merge is done, whatever changed meanwhile."""
        parts = [
            replace(self._opener.open_segment(b.file, b.size_bytes), zone=b.zone)
            for b in merged_segments
        ]
        with self._lock_newest_snapshot() as now:
            return self._commit(
                install_merged(operation, now.live_segments, parts), None, now.manifest.label
            )

    def commit_zones(
        self,
        zone_map: ZoneMap,
        entries: Sequence[SegmentEntry],
        space: Space,
        label: str,
        base_version: int,
        *,
        tombstones_file: str | None = None,
    ) -> Manifest:
        """See `Store.commit_zones` and `Store.commit_rezoned`."""
        packed = encode_zone_map(zone_map)
        self.content_store.put(packed)
        with self._commit_lock:
            self._acquire_lock()
            self._newest_snapshot = None  # the parts of the next one are not opened for it
            number = read_newest_manifest(self._backend).version + 1
            kind = read_manifest(self._backend, base_version).id_kind
            version = Manifest(
                number, now_ms(), space, kind, tuple(entries), tombstones_file, label, packed.sha256
            )
            self._backend.put_if_absent(manifest_name(number), version.to_bytes())
            return version

    def release_merge(self, operation: MergeOperation) -> None:
        """Lets others claim what this merge had, done or not."""
        with self._commit_lock:
            self._merging_files -= operation.files

    def files_in_use(self) -> set[str]:
        """Files that merges read; makes sure that this is the writer."""
        with self._lock_newest_snapshot():
            return set(self._merging_files)

    def close(self) -> None:
        """Gives the lock back."""
        with self._commit_lock:
            self._newest_snapshot = None
            if self._writer_lock is not None:
                self._writer_lock.release()
                self._writer_lock = None

    def _zone_map_to_split_by(
        self, zone: int | None, segments: Sequence[LiveSegment], manifest: Manifest
    ) -> ZoneMap | None:
        """The zones that parts are to be spread over instead of merged: if they are of none, and
        large together.
        """
        if zone is not None or manifest.zone_map_file is None:
            return None
        if (
            self._merge_policy.level_of(sum(part.size.live_regions for part in segments))
            < _MIN_SPLIT_LEVEL
        ):
            return None
        return self.open_zone_map(manifest)

    @contextmanager
    def _lock_newest_snapshot(self) -> Iterator[Snapshot]:
        """The newest version, while no other thread or process can make the next."""
        with self._commit_lock:
            self._acquire_lock()
            if self._newest_snapshot is None:
                version = read_newest_manifest(self._backend)
                self._newest_snapshot = Snapshot(version, self._opener.open_segments(version))
            yield self._newest_snapshot

    def _acquire_lock(self) -> None:
        path = self._backend.local_path("writer.lock")
        if self._writer_lock is None and path is not None:
            self._writer_lock = WriterLock(path)

    def _commit(
        self,
        segments: list[LiveSegment],
        new_subscriptions: IndexedSubscriptions | None,
        label: str | None = None,
        base_manifest: Manifest | None = None,
    ) -> Manifest:
        """Makes the next version, of these parts and one that is new, in the space of the base."""
        assert self._newest_snapshot is not None
        before, files = self._newest_snapshot.manifest, []
        base_manifest = before if base_manifest is None else base_manifest
        if new_subscriptions is not None:
            packed = new_subscriptions.encode()
            files.append(packed)
            none = Tombstones.empty(len(new_subscriptions))
            segments = [
                *segments,
                LiveSegment(packed.sha256, packed.size_bytes, new_subscriptions, none),
            ]
        stones = encode_tombstones({part.file: part.tombstones for part in segments})
        if stones is not None and stones.sha256 != before.tombstones_file:
            files.append(stones)
        version = Manifest(
            before.version + 1,
            now_ms(),
            combine_spaces(
                base_manifest.space.without_derived,
                (part.subscriptions.index.space for part in segments),
            ),
            base_manifest.id_kind,
            tuple(part.entry for part in segments),
            None if stones is None else stones.sha256,
            label,
            base_manifest.zone_map_file,
        )
        self.content_store.put(*files)
        if new_subscriptions is not None and segments[-1].size_bytes > _MIN_MAPPED_BYTES:
            segments[-1] = self._opener.open_segment(segments[-1].file, segments[-1].size_bytes)
        try:
            self._backend.put_if_absent(manifest_name(version.version), version.to_bytes())
            self._newest_snapshot = Snapshot(version, tuple(segments))
        except BaseException:
            self._newest_snapshot = (
                None  # nobody knows whether it took effect: the next change looks
            )
            raise
        return version


def apply_changes_to_segments(
    segments: Sequence[LiveSegment],
    added: SubscriptionBatch | None,
    removed_ids: Ids,
    merge_policy: TieredMergePolicy,
) -> tuple[list[LiveSegment], SubscriptionBatch | None]:
    """The parts that stay, with new tombstones, and what becomes a new segment (None if nothing).

    The last part, while it is small and of no zone, is rewritten together with what is added, so
    that batches do not become a segment each. What is not touched is the same object as before.

    Cost: a binary search in every part per id, a copy of the tombstones of every part reached.
    """
    changed = removed_ids if added is None else Ids.concat([added.ids, removed_ids])
    kept = [part.without_ids(changed) for part in segments]
    kept = [part for part in kept if part.live_count or part.is_merge_exempt]
    last = kept[-1] if kept and kept[-1].zone is None else None
    if (
        added is not None
        and last is not None
        and merge_policy.should_rewrite_last(last.size, len(added.regions))
    ):
        added = SubscriptionBatch.concat([kept.pop().take_live(), added])
    return kept, added
