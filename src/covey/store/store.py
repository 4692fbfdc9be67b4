"""A store: a set of subscriptions that changes in batches and is never lost.

Every batch makes a version. A version is complete or not there at all, whatever dies and whenever;
readers open one and keep it. There is one writer at a time, and any number of readers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from operator import index
from types import TracebackType

from pyarrow import fs

from covey._argument_checks import check_arguments
from covey.errors import StoreError
from covey.space import Space
from covey.space.ragged_array import RaggedArray
from covey.store.changes import Changes
from covey.store.ids import IdKind, Ids
from covey.store.manifest.leases import Lease
from covey.store.manifest.manifest import (
    Manifest,
    SegmentEntry,
    find_labelled_manifest,
    list_versions,
    manifest_name,
    now_ms,
    read_manifest,
    read_newest_manifest,
)
from covey.store.manifest.vacuum import ReferencedFiles, VacuumResult, vacuum
from covey.store.merge.operation import write_merged
from covey.store.merge.policy import TieredMergePolicy
from covey.store.segments.expiry import expiry_domain
from covey.store.segments.live_segment import LiveSegment, SegmentOpener
from covey.store.segments.segment import IndexedSubscriptions, SubscriptionBatch
from covey.store.snapshot import Snapshot
from covey.store.storage.backend import StorageBackend
from covey.store.storage.cache import Cache
from covey.store.storage.content_store import ContentStore
from covey.store.storage.location import Location, open_storage
from covey.store.writer import Writer
from covey.zones import EVERYWHERE, RebalanceResult, ZoneMap

__all__ = ["StagedSegment", "Store"]


@dataclass(frozen=True, slots=True)
class StagedSegment:
    """A segment that was written for `commit_staged` or `commit_zones`, and that no manifest names.

    One of a zone has so many replicas of what another zone has.
    """

    file: str
    size_bytes: int
    subscriptions: int
    regions: int = 0
    zone: int | None = None
    replicas: int = 0
    is_home: bool = False

    @property
    def entry(self) -> SegmentEntry:
        """How a version names it."""
        return SegmentEntry(
            self.file, self.size_bytes, self.regions, self.subscriptions, 0, None, self.zone,
            self.replicas, self.is_home,
        )  # fmt: skip


class Store:
    """Subscriptions on a local path, or on any file system that pyarrow reaches.

    The first change takes the writer's lock, which `close` or the end of the process gives back. On
    file systems that are not local nothing but you holds off a second writer; it would be noticed
    only when both make the same version. For any number of threads.

    Wrong choice for a set that is built once and not kept: `covey.index.SegmentIndex` is that.

    >>> import tempfile
    >>> import pyarrow as pa
    >>> from covey import Events, parse
    >>> space = Space.from_types({"price": pa.float64()})
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = Store.create(folder.name + "/alerts", space)
    >>> version = store.apply(Changes.upsert([7, 8], parse(space, ["price > 5", "price > 9"])))
    >>> version = store.apply(Changes.remove([8]))
    >>> events = Events.from_arrow(pa.table({"price": [6.0, 10.0]}), space)
    >>> list(store.snapshot().match_ids(events))
    [(0, 7), (1, 7)]
    >>> store.close()
    """

    def __init__(
        self, backend: StorageBackend, cache: Cache | None, merge_policy: TieredMergePolicy | None
    ) -> None:
        first = read_newest_manifest(backend)
        self.space = first.space.without_derived
        """The columns and settings that predicates are parsed in."""
        self._backend = backend
        self._opener = SegmentOpener(ContentStore(backend, cache or Cache()))
        self._referenced_files = ReferencedFiles()
        self._writer = Writer(
            backend, self._opener, merge_policy or TieredMergePolicy(), self.space, first.id_kind
        )
        """Who makes its versions; for `BackgroundMerger`."""

    @classmethod
    @check_arguments
    def create(
        cls,
        location: Location,
        space: Space,
        *,
        id_kind: IdKind = IdKind.NUMBER,
        filesystem: fs.FileSystem | None = None,
        cache: Cache | None = None,
        merge_policy: TieredMergePolicy | None = None,
    ) -> Store:
        """A new store without subscriptions, version 0; where one is already, a `StoreError`."""
        directory = open_storage(location, filesystem)
        if list_versions(directory):
            raise StoreError(
                f"there is a store at {directory.location} already: Store.open opens it"
            )
        first = Manifest(0, now_ms(), space.without_derived, id_kind)
        directory.put_if_absent(manifest_name(0), first.to_bytes())
        return cls(directory, cache, merge_policy)

    @classmethod
    @check_arguments
    def open(
        cls,
        location: Location,
        *,
        filesystem: fs.FileSystem | None = None,
        cache: Cache | None = None,
        merge_policy: TieredMergePolicy | None = None,
    ) -> Store:
        """The store at a place, for reading and, with its first change, for writing."""
        return cls(open_storage(location, filesystem), cache, merge_policy)

    @property
    def versions(self) -> list[int]:
        """The numbers of all versions that are kept, ascending."""
        return list(list_versions(self._backend))

    @check_arguments
    def snapshot(self, version: int | None = None) -> Snapshot:
        """A version opened for reading: the newest, or the one with this number.

        Cost: a listing, and a checksum of every file that no other snapshot of this store has open.
        """
        newest = self._writer.newest_snapshot if version is None else None
        if newest is not None:
            return newest
        found = read_newest_manifest(self._backend) if version is None else self.manifest(version)
        return Snapshot(
            found, tuple(part.without_replicas() for part in self._opener.open_segments(found))
        )

    @check_arguments
    def zone_snapshot(self, version: int, zone: int, *, is_home: bool = False) -> Snapshot:
        """What events of one zone can match, and no more is opened.

        With `is_home`, what events are sent there for from other zones.
        """
        found = self.manifest(version)

        def is_needed(entry: SegmentEntry) -> bool:
            if is_home:
                return entry.is_home and entry.zone == zone
            return entry.zone in (None, EVERYWHERE, zone)

        return Snapshot(found, self._opener.open_segments(found, is_needed))

    @check_arguments
    def manifest(self, version: int) -> Manifest:
        """A version as it is named, of which nothing is opened."""
        return read_manifest(self._backend, version)

    @check_arguments
    def zone_map(self, version: int) -> ZoneMap | None:
        """Where the zones of a version are, if it has any."""
        return self._writer.open_zone_map(self.manifest(version))

    @check_arguments
    def apply(self, changes: Changes, label: str | None = None) -> Manifest:
        """Makes the version with these changes; when it returns, they are kept whatever happens.

        If nothing is different with them, no version is made. Large merges are left to `merge`,
        which must be called now and then, or to a `BackgroundMerger`: without, there are ever more
        segments to ask.

        Cost: a binary search per change and segment, an index of at most
        `TieredMergePolicy.min_level_regions` regions besides those of the batch, and on a local
        file system five waits for the disk. So give many changes at once.
        """
        return self._writer.apply(changes, label)

    @check_arguments
    def stage(self, changes: Changes, base_version: int | None = None) -> StagedSegment | None:
        """Indexes what is put and writes its segment, without making a version of it.

        It must fit the newest version, or that with the number `base_version`.

        For many processes at once: none needs the writer's lock. `commit_staged` then takes all of
        their segments; what is never taken is deleted by `vacuum`. None if nothing is put. What the
        changes remove is not looked at.
        """
        added, _ = changes.validate(*self._space_and_id_kind(base_version))
        if added is None:
            return None
        return self._write_segment(added)

    def restage_all(self) -> list[StagedSegment]:
        """All that the newest version has, each segment anew, for `commit_zones` or `overwrite`.

        Cost: that of indexing it.
        """
        return [
            self._write_segment(part.take_live())
            for part in self.snapshot().live_segments
            if part.live_count
        ]

    @check_arguments
    def open_staged(self, staged: StagedSegment) -> LiveSegment:
        """What was staged, opened."""
        return self._opener.open_segment(staged.file, staged.size_bytes)

    @check_arguments
    def stage_zone_segment(
        self,
        zone: int,
        batch: SubscriptionBatch,
        *,
        forward_to: RaggedArray | None = None,
        is_home: bool = False,
    ) -> StagedSegment:
        """The same of what is of one zone, for `commit_zones`."""
        staged = self._write_segment(batch, forward_to)
        replicas = int(batch.is_replica.sum())
        return replace(staged, zone=zone, replicas=replicas, is_home=is_home)

    @check_arguments
    def discard_staged(self, staged: Iterable[StagedSegment]) -> None:
        """Deletes segments that were staged and that no manifest names, nor will name."""
        for one in staged:
            self._writer.content_store.delete(one.file)

    @check_arguments
    def commit_staged(
        self,
        staged: Sequence[StagedSegment],
        staged_removals: Sequence[StagedSegment] = (),
        *,
        label: str | None = None,
        base_version: int | None = None,
    ) -> Manifest:
        """Makes the version with all that was staged, in one segment.

        It is made from the newest version, or from that with the number `base_version`; either way
        it is the newest then.

        Of `staged_removals` the ids count, which are removed. No id may be in two of all of these.
        If a version has the label already, it is returned and nothing is made: so a repeated
        attempt does no harm.

        Cost: that of a merge of what was staged, as `merge`.
        """
        try:
            if (known := self._find_labelled(label)) is not None:
                return known
            added, gone = self._open_all_staged(staged), self._open_all_staged(staged_removals)
            none = Ids.from_values([], self._space_and_id_kind(base_version)[1])
            version = self._writer.commit_changes(
                SubscriptionBatch.concat([part.take_live() for part in added]) if added else None,
                Ids.concat([none, *(part.subscriptions.ids for part in gone)]),
                label=label,
                base_version=base_version,
            )
        except StoreError:  # another attempt may have been faster
            if (known := self._find_labelled(label)) is not None:
                return known
            raise
        self.discard_staged([*staged, *staged_removals])
        return version

    @check_arguments
    def overwrite(self, staged: Sequence[StagedSegment], label: str | None = None) -> Manifest:
        """Makes the version that has what was staged and nothing else, segments as they are.

        It is for whoever has the whole set, and need not find out what is gone; versions before it
        stay as they are. No id may be in two of them. To merge them is left to `merge` or a
        `BackgroundMerger`. If a version has the label already, it is returned and nothing is made.

        Cost: a checksum of every segment.
        """
        if (known := self._find_labelled(label)) is not None:
            return known
        return self._writer.overwrite(self._open_all_staged(staged), label)

    @check_arguments
    def commit_zones(
        self,
        zone_map: ZoneMap,
        staged: Sequence[StagedSegment],
        space: Space,
        label: str,
        base_version: int,
    ) -> Manifest:
        """Makes the version of segments that were staged for zones, and of nothing else.

        They have all that is to count, each subscription in all of its zones; `space` has what is
        derived in any of them. The version is like `base_version`, else. Changes to it are of no
        zone at first, and so is asked by every event; large merges spread them. If a version has
        the label already, it is returned and nothing is made.

        Cost: a small file; no segment is opened.
        """
        if (known := self._find_labelled(label)) is not None:
            return known
        entries = [one.entry for one in staged]
        return self._writer.commit_zones(zone_map, entries, space, label, base_version)

    @check_arguments
    def commit_rezoned(
        self,
        rebalance_plan: RebalanceResult,
        staged: Sequence[StagedSegment],
        label: str,
        base_version: int,
    ) -> Manifest:
        """Makes the version after `base_version`, the newest, with other zones, the changed staged.

        Cost: that of `commit_zones`; of the other zones only the numbers change.
        """
        if (known := self._find_labelled(label)) is not None:
            return known
        before, changed = self.manifest(base_version), set(rebalance_plan.changed_zones)
        if base_version != self.versions[-1]:
            raise StoreError(f"version {base_version} is not the newest any more: balance that one")
        numbers = {
            sources[0]: zone
            for zone, sources in enumerate(rebalance_plan.source_zones)
            if zone not in changed
        }
        kept = [
            entry if entry.zone in (None, EVERYWHERE) else replace(entry, zone=numbers[entry.zone])
            for entry in before.segments
            if entry.zone in (None, EVERYWHERE) or entry.zone in numbers
        ]
        entries = [*(one.entry for one in staged), *kept]
        return self._writer.commit_zones(
            rebalance_plan.zone_map,
            entries,
            before.space,
            label,
            base_version,
            tombstones_file=before.tombstones_file,
        )

    @check_arguments
    def commit_gated(
        self, gate: StagedSegment, gated: StagedSegment, label: str, base_version: int
    ) -> Manifest:
        """Makes the version of two segments that were staged, all of it that `base_version` has.

        Whatever the second matches must be in some region of the first: it is asked only for
        events that the first contains. Changes and merges then go on as ever. If a version has
        the label already, it is returned and nothing is made.
        """
        if (known := self._find_labelled(label)) is not None:
            return known
        first, second = self._open_all_staged([gate, gated])
        return self._writer.commit_gated(
            [first, replace(second, gated_by=first.file)], label, base_version
        )

    def merge(self) -> Manifest | None:
        """Merges some segments, if `TieredMergePolicy` finds that they should be; None if not.

        `while store.merge(): pass` merges all there is to merge. Other threads can apply changes
        meanwhile. Use a `BackgroundMerger` to have it done by another process.

        Cost: that of building the merged index, which grows with the store every now and then.
        """
        merge = self._writer.claim_merge()
        if merge is None:
            return None
        try:
            return self._writer.finish_merge(merge, write_merged(merge, self._writer.content_store))
        finally:
            self._writer.release_merge(merge)

    @check_arguments
    def expire_before(self, attribute: str, before_key: int) -> None:
        """From now on merges leave out regions that end before a key of a scalar attribute.

        It is for validity intervals that are over, of which nothing that is still to come can
        match. A subscription goes with the last of its regions; one that had none before stays, and
        so does a region that admits null. `before_key` is a key as in `covey.space.keys`: of a
        timestamp the microseconds since 1970, of a date the days. What goes is gone in the version
        that the merge makes; versions before it keep it.

        It holds for merges that begin after it, by this store or a `BackgroundMerger` of it, until
        it is given another key of the attribute; a store that is opened again is to be told again.
        No merge is done because of it: what ended long ago can stay in a segment that is not
        merged. For what must go now there is `Snapshot.find_expired`.

        Cost: none here; a comparison for each region that is merged.
        """
        expiry_domain(self.space, attribute)
        self._writer.expire_before(attribute, index(before_key))

    @check_arguments
    def lease(self, version: int, seconds: float) -> Lease:
        """Keeps a version from `vacuum` for some time, for someone who will open it later."""
        return Lease(self._backend, version, seconds)

    @check_arguments
    def vacuum(
        self,
        retain_seconds: float,
        grace_seconds: float = 3600,
        *,
        keep_versions: Iterable[int] = (),
    ) -> VacuumResult:
        """Deletes old versions and then the files that none of the others needs.

        Kept are the newest version, those that were the newest less than `retain_seconds` ago,
        those under a lease, and those with a number in `keep_versions`, if they are there. Files
        that no version names are kept for `grace_seconds`, since a merge may be about to name them:
        none is for stores to which nothing else is done meanwhile.

        Cost: a listing of all files; each version that is kept is read once.
        """
        in_use = self._writer.files_in_use()
        return vacuum(
            self._backend,
            retain_seconds,
            grace_seconds,
            in_use,
            frozenset(keep_versions),
            self._referenced_files,
        )

    def _space_and_id_kind(self, base_version: int | None) -> tuple[Space, IdKind]:
        """What changes to a version must fit: to that with the number, or to the newest."""
        if base_version is None:
            return self.space, self._writer.id_kind
        version = self.manifest(base_version)
        return version.space.without_derived, version.id_kind

    def _write_segment(
        self, batch: SubscriptionBatch, forward_to: RaggedArray | None = None
    ) -> StagedSegment:
        packed = IndexedSubscriptions.build(batch, forward_to).encode()
        self._writer.content_store.put(packed)
        return StagedSegment(packed.sha256, packed.size_bytes, len(batch.ids), len(batch.regions))

    def _find_labelled(self, label: str | None) -> Manifest | None:
        return None if label is None else find_labelled_manifest(self._backend, label)

    def _open_all_staged(self, staged: Sequence[StagedSegment]) -> list[LiveSegment]:
        return [self.open_staged(one) for one in staged]

    def close(self) -> None:
        """Gives the writer's lock back; snapshots stay open."""
        self._writer.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:  # fmt: skip
        self.close()
