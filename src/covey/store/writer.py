"""The writer of a store: it makes the versions of the store, one after another.

The writer holds the writer's lock, a snapshot of the newest version, and the names of the segment
files that are being merged.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

from covey.errors import StoreError
from covey.space import Space
from covey.store.changes import Changes
from covey.store.ids import IdKind, Ids
from covey.store.manifest.manifest import (
    Manifest,
    SegmentEntry,
    find_labelled_manifest,
    list_versions,
    now_ms,
    publish_manifest,
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
from covey.store.storage.backend import AlreadyExistsError, StorageBackend
from covey.store.storage.content_store import ContentStore
from covey.store.storage.lock import WriterLease, WriterLock, lock_writer
from covey.store.zones.placement import encode_zone_map, read_zone_map
from covey.zones import ZoneMap

__all__ = ["Writer", "apply_changes_to_segments"]

_MIN_SPLIT_LEVEL = 2  # lowest level of a merge that spreads segments without a zone over zones
_MIN_MAPPED_BYTES = 1 << 24  # smaller new segments are not mapped, as they are rewritten soon
_MAX_REBASE_S = 60.0  # time after which a writer that always comes second gives up
_LOCK_PAUSE_S = 0.1  # pause between two attempts to take the writer's lock
_MAX_PAUSE_S = 1.0  # longest pause between two attempts

T = TypeVar("T")


class Writer:
    """Writer of versions, for any number of threads.

    In an object store and on WebHDFS there may be several writers. Of two that make the same
    version, one succeeds; the other one applies its changes to the newest version and tries again.
    On other file systems, the first change, merge or vacuum takes the writer's lock, which is held
    until `close`.
    """

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
        self._writer_lock: WriterLock | WriterLease | None = None
        self._newest_snapshot: Snapshot | None = None
        self._merging_files: set[str] = set()
        self._settled: tuple[int, frozenset[str]] | None = None  # a version without a due merge
        self._horizons: Horizons = {}

    @property
    def content_store(self) -> ContentStore:
        """Content store of the segment files."""
        return self._opener.content_store

    @property
    def newest_snapshot(self) -> Snapshot | None:
        """Snapshot of the newest version without replicas.

        None if this writer has not opened it, or if another writer may have made a newer one.
        """
        newest = self._newest_snapshot
        return (
            None
            if newest is None or not self._is_exclusive
            else Snapshot(
                newest.manifest,
                tuple(segment.without_replicas() for segment in newest.live_segments),
            )
        )

    def apply(self, changes: Changes, label: str | None = None) -> Manifest:
        """Implement `Store.apply`."""
        return self.commit_changes(*changes.validate(self._space, self.id_kind), label=label)

    def commit_changes(
        self,
        added: SubscriptionBatch | None,
        removed_ids: Ids,
        *,
        label: str | None = None,
        base_version: int | None = None,
    ) -> Manifest:
        """Commit a version with `added` and without `removed_ids`, and return its manifest.

        No id may be in both. The changes are applied to `base_version`, or to the newest version if
        `base_version` is None. If nothing is added and that version has none of the removed ids, no
        version is made, and the manifest of that version is returned.

        If another writer has just made a version with the same label, the manifest of that version
        is returned.
        """
        return self._rebase(
            lambda: self._commit_changes(added, removed_ids, label, base_version), label
        )

    def _commit_changes(
        self,
        added: SubscriptionBatch | None,
        removed_ids: Ids,
        label: str | None,
        base_version: int | None,
    ) -> Manifest:
        """Try once to commit changes, as `commit_changes` does."""
        with self._lock_newest_snapshot() as base:
            if base_version is not None and base_version != base.manifest.version:
                manifest = read_manifest(self._backend, base_version)
                base = Snapshot(manifest, self._opener.open_segments(manifest))
            live_segments, added = apply_changes_to_segments(
                base.live_segments, added, removed_ids, self._merge_policy
            )
            if added is None and list(map(id, live_segments)) == list(map(id, base.live_segments)):
                return base.manifest
            new_subscriptions = None if added is None else IndexedSubscriptions.build(added)
            return self._commit(live_segments, new_subscriptions, label, base.manifest)

    def overwrite(self, segments: list[LiveSegment], label: str | None) -> Manifest:
        """Implement `Store.overwrite`."""
        with self._lock_newest_snapshot() as newest:
            return (
                self._commit(segments, None, label)
                if segments or newest.live_segments
                else newest.manifest
            )

    def commit_gated(self, segments: list[LiveSegment], label: str, base_version: int) -> Manifest:
        """Implement `Store.commit_gated`."""
        with self._lock_newest_snapshot():
            base_manifest = read_manifest(self._backend, base_version)
            if base_manifest.subscriptions != sum(segment.live_count for segment in segments):
                raise StoreError(
                    f"the staged segments have {sum(segment.live_count for segment in segments)} "
                    f"subscriptions, but version {base_version} has "
                    f"{base_manifest.subscriptions}: stage each subscription of the version once"
                )
            return self._commit(segments, None, label, base_manifest)

    def expire_before(self, attribute: str, before_key: int) -> None:
        """Implement `Store.expire_before`."""
        with self._commit_lock:
            self._horizons = {**self._horizons, attribute: before_key}

    def claim_merge(self) -> MergeOperation | None:
        """Choose the next merge, and claim its segments; return None if no merge is due.

        Segments that another merge has claimed are not chosen. If no merge is due, the search is
        not repeated before there is another version, or other segments are claimed.
        """
        with self._lock_newest_snapshot() as newest:
            searched = newest.manifest.version, frozenset(self._merging_files)
            if searched == self._settled:
                return None
            unclaimed = [
                segment
                for segment in newest.live_segments
                if segment.file not in self._merging_files and not segment.is_merge_exempt
            ]
            segments_by_zone: dict[int | None, list[LiveSegment]] = {}
            for segment in unclaimed:
                segments_by_zone.setdefault(segment.zone, []).append(segment)
            for zone, zone_segments in segments_by_zone.items():
                if chosen_rows := self._merge_policy.find_merge(
                    [segment.size for segment in zone_segments]
                ):
                    chosen_segments = tuple(zone_segments[i] for i in chosen_rows)
                    operation = MergeOperation(
                        chosen_segments,
                        self._horizons,
                        self._zone_map_to_split_by(zone, chosen_segments, newest.manifest),
                    )
                    self._merging_files |= operation.files
                    return operation
            self._settled = searched
            return None

    def open_zone_map(self, manifest: Manifest) -> ZoneMap | None:
        """Return the zone map of a version, or None if the version has no zones."""
        if manifest.zone_map_file is None:
            return None
        return read_zone_map(self.content_store.open(manifest.zone_map_file), manifest.space)

    def finish_merge(
        self, operation: MergeOperation, merged_segments: Sequence[MergedSegment]
    ) -> Manifest:
        """Commit a finished merge, and return the manifest of the new version.

        Changes that were committed since the merge was claimed are preserved.
        """
        opened_segments = [
            replace(self._opener.open_segment(merged.file, merged.size_bytes), zone=merged.zone)
            for merged in merged_segments
        ]

        def commit() -> Manifest:
            with self._lock_newest_snapshot() as newest:
                return self._commit(
                    install_merged(operation, newest.live_segments, opened_segments),
                    None,
                    newest.manifest.label,
                )

        return self._rebase(commit)

    def commit_zones(
        self,
        zone_map: ZoneMap,
        entries: Sequence[SegmentEntry],
        space: Space,
        label: str,
        base_version: int,
        *,
        tombstones_file: str | None = None,
        must_be_newest: bool = False,
    ) -> Manifest:
        """Implement `Store.commit_zones` and `Store.commit_rezoned`.

        Raises:
            StoreError: `must_be_newest` is true, and `base_version` is not the newest version.
        """
        zone_map_file = encode_zone_map(zone_map)
        self.content_store.put(zone_map_file)
        with self._commit_lock:
            self._acquire_lock()
            self._newest_snapshot = None  # the next version is opened when it is needed
            newest = read_newest_manifest(self._backend)
            if must_be_newest and newest.version != base_version:
                raise StoreError(
                    f"version {base_version} is no longer the newest: rebalance the newest version"
                )
            id_kind = read_manifest(self._backend, base_version).id_kind
            manifest = Manifest(
                newest.version + 1,
                now_ms(),
                space,
                id_kind,
                tuple(entries),
                tombstones_file,
                label,
                zone_map_file.sha256,
                previous_commit_id=newest.commit_id,
            )
            self._acquire_lock()
            publish_manifest(self._backend, manifest)
            return manifest

    def lock(self, timeout_s: float) -> None:
        """Implement `Store.lock`."""
        until = time.monotonic() + timeout_s
        while True:
            try:
                with self._commit_lock:
                    self._acquire_lock()
                return
            except StoreError:
                if time.monotonic() >= until:
                    raise
                time.sleep(_LOCK_PAUSE_S)

    def release_merge(self, operation: MergeOperation) -> None:
        """Release the segments of a merge, finished or not, so that they can be claimed again."""
        with self._commit_lock:
            self._merging_files -= operation.files

    def files_in_use(self) -> set[str]:
        """Take the writer's lock, and return the names of the files that merges are reading."""
        with self._lock_newest_snapshot():
            return set(self._merging_files)

    def close(self) -> None:
        """Release the writer's lock, if it is held."""
        with self._commit_lock:
            self._newest_snapshot = None
            if self._writer_lock is not None:
                self._writer_lock.release()
                self._writer_lock = None

    def _zone_map_to_split_by(
        self, zone: int | None, segments: Sequence[LiveSegment], manifest: Manifest
    ) -> ZoneMap | None:
        """Return the zone map if the segments must be spread over zones, and None otherwise.

        They are spread if they belong to no zone and their live regions together are enough for
        level 2 of the merge policy or a higher one.
        """
        if zone is not None or manifest.zone_map_file is None:
            return None
        if (
            self._merge_policy.level_of(sum(segment.size.live_regions for segment in segments))
            < _MIN_SPLIT_LEVEL
        ):
            return None
        return self.open_zone_map(manifest)

    @contextmanager
    def _lock_newest_snapshot(self) -> Iterator[Snapshot]:
        """Yield a snapshot of the newest version, with its replicas live.

        Until the context ends, no other thread can make the next version, and on a local file
        system no other process.
        """
        with self._commit_lock:
            self._acquire_lock()
            if self._newest_snapshot is not None and not self._is_exclusive:
                last_version = max(list_versions(self._backend), default=-1)
                if last_version != self._newest_snapshot.manifest.version:
                    self._newest_snapshot = None
            if self._newest_snapshot is None:
                manifest = read_newest_manifest(self._backend)
                self._newest_snapshot = Snapshot(manifest, self._opener.open_segments(manifest))
            yield self._newest_snapshot

    def _acquire_lock(self) -> None:
        """Take the writer's lock unless it is held already, or make sure that it is still held."""
        if self._writer_lock is None:
            self._writer_lock = lock_writer(self._backend)
        else:
            self._writer_lock.confirm()

    @property
    def _is_exclusive(self) -> bool:
        """Whether no other process can make a version."""
        return self._writer_lock is not None

    def _rebase(self, commit: Callable[[], Manifest], label: str | None = None) -> Manifest:
        """Try to commit until no other writer makes the same version first.

        Args:
            commit: commits changes of the newest version; raises AlreadyExistsError if another
                writer has made the next one.
            label: label of the version to be made.

        Raises:
            StoreError: other writers were always faster, for a minute.
        """
        until, pause_s = time.monotonic() + _MAX_REBASE_S, 0.01
        while True:
            try:
                return commit()
            except AlreadyExistsError as error:
                if self._is_exclusive or time.monotonic() > until:
                    raise StoreError(str(error)) from None
            labelled = None if label is None else find_labelled_manifest(self._backend, label)
            if labelled is not None:
                return labelled
            time.sleep(random.uniform(0, pause_s))
            pause_s = min(2 * pause_s, _MAX_PAUSE_S)

    def _commit(
        self,
        segments: list[LiveSegment],
        new_subscriptions: IndexedSubscriptions | None,
        label: str | None = None,
        base_manifest: Manifest | None = None,
    ) -> Manifest:
        """Publish the next version, and return its manifest.

        The version consists of `segments` and, if `new_subscriptions` is not None, a new segment.
        The columns and settings of the space, the type of ids and the zone map are those of
        `base_manifest`, or of the newest version if `base_manifest` is None. The derived attributes
        are those of the segments.
        """
        assert self._newest_snapshot is not None
        newest_manifest, files = self._newest_snapshot.manifest, []
        base_manifest = newest_manifest if base_manifest is None else base_manifest
        if new_subscriptions is not None:
            segment_file = new_subscriptions.encode()
            files.append(segment_file)
            no_tombstones = Tombstones.empty(len(new_subscriptions))
            segments = [
                *segments,
                LiveSegment(
                    segment_file.sha256, segment_file.size_bytes, new_subscriptions, no_tombstones
                ),
            ]
        tombstones_file = encode_tombstones(
            {segment.file: segment.tombstones for segment in segments}
        )
        if (
            tombstones_file is not None
            and tombstones_file.sha256 != newest_manifest.tombstones_file
        ):
            files.append(tombstones_file)
        manifest = Manifest(
            newest_manifest.version + 1,
            now_ms(),
            combine_spaces(
                base_manifest.space.without_derived,
                (segment.subscriptions.index.space for segment in segments),
            ),
            base_manifest.id_kind,
            tuple(segment.entry for segment in segments),
            None if tombstones_file is None else tombstones_file.sha256,
            label,
            base_manifest.zone_map_file,
            previous_commit_id=newest_manifest.commit_id,
        )
        self.content_store.put(*files)
        if new_subscriptions is not None and segments[-1].size_bytes > _MIN_MAPPED_BYTES:
            segments[-1] = self._opener.open_segment(segments[-1].file, segments[-1].size_bytes)
        try:
            self._acquire_lock()
            publish_manifest(self._backend, manifest)
            self._newest_snapshot = Snapshot(manifest, tuple(segments))
        except BaseException:
            # It is unknown whether the manifest was published: the next change reads the newest.
            self._newest_snapshot = None
            raise
        return manifest


def apply_changes_to_segments(
    segments: Sequence[LiveSegment],
    added: SubscriptionBatch | None,
    removed_ids: Ids,
    merge_policy: TieredMergePolicy,
) -> tuple[list[LiveSegment], SubscriptionBatch | None]:
    """Return the remaining segments with new tombstones, and the subscriptions of a new segment.

    If nothing is added, there is no new segment, and the second result is None. The last segment is
    rewritten together with the added subscriptions if it is small (see
    `TieredMergePolicy.should_rewrite_last`) and belongs to no zone, so that not every batch adds a
    segment. Segments without live rows are left out unless they must not be merged. Segments that
    do not change are the same objects as before.

    Cost: a binary search per id and segment, and a copy of the tombstones of each changed segment.
    """
    changed_ids = removed_ids if added is None else Ids.concat([added.ids, removed_ids])
    remaining = [segment.without_ids(changed_ids) for segment in segments]
    remaining = [segment for segment in remaining if segment.live_count or segment.is_merge_exempt]
    last = remaining[-1] if remaining and remaining[-1].zone is None else None
    if (
        added is not None
        and last is not None
        and merge_policy.should_rewrite_last(last.size, len(added.regions))
    ):
        added = SubscriptionBatch.concat([remaining.pop().take_live(), added])
    return remaining, added
