"""The store: a durable set of subscriptions that changes in batches.

Every batch makes a version. A version is published in one step, so that a crash never leaves a
partial version. A reader opens one version and is not affected by later ones. There is one writer
at a time, and any number of readers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
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
    now_ms,
    publish_manifest,
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
    """Staged segment: a segment that was written and that no manifest names yet.

    `commit_staged`, `commit_zones`, `commit_rezoned`, `commit_gated` and `overwrite` of `Store`
    make versions from staged segments. `file` is the SHA-256 of the segment file; `subscriptions`
    and `regions` are the numbers of subscriptions and regions in it. `zone` is the zone of the
    segment, or None; `replicas` is the number of its subscriptions whose home zone is another zone.
    If `is_home` is true, events of other zones are forwarded to the segment.
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
        """Entry that describes the segment in a manifest."""
        return SegmentEntry(
            self.file, self.size_bytes, self.regions, self.subscriptions, 0, None, self.zone,
            self.replicas, self.is_home,
        )  # fmt: skip


class Store:
    """Versioned store of subscriptions on a local path, in an object store, or on HDFS.

    In an object store and on WebHDFS, several processes may change a store at the same time: a
    change applies to the newest version, also if another process has made it. On other file
    systems, the first change, merge or vacuum takes the writer's lock, and `close` or the end of
    the process releases it. Any number of threads may use a store at the same time.

    If a set of subscriptions is built once and not stored, use `covey.index.SegmentIndex` instead.

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
        """Space in which predicates are parsed: columns and settings, no derived attributes."""
        self._backend = backend
        self._opener = SegmentOpener(ContentStore(backend, cache or Cache()))
        self._referenced_files = ReferencedFiles()
        self._writer = Writer(
            backend, self._opener, merge_policy or TieredMergePolicy(), self.space, first.id_kind
        )
        """Writer of this store; `BackgroundMerger` uses it as well."""

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
        """Create a store without subscriptions, which is version 0, and open it.

        Args:
            location: a local path, a URI such as `s3://bucket/alerts`, or a path in `filesystem`.
            space: the columns and settings of predicates; derived attributes are left out.
            id_kind: type of the ids.
            filesystem: file system of `location`; None for a local path or a URI.
            cache: local cache of remote files; None for the default folder.
            merge_policy: when to merge segments; None for the default policy.

        Raises:
            StoreError: if the location has a store already.
            InvalidArgumentError: if the location cannot be used.
        """
        directory = open_storage(location, filesystem)
        if list_versions(directory):
            raise StoreError(
                f"there is a store at {directory.location} already: open it with Store.open"
            )
        first = Manifest(0, now_ms(), space.without_derived, id_kind)
        publish_manifest(directory, first)
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
        """Open an existing store, without taking the writer's lock.

        The arguments are those of `create`.

        Raises:
            StoreError: if there is no store at the location, or its newest manifest is damaged.
            InvalidArgumentError: if the location cannot be used.
        """
        return cls(open_storage(location, filesystem), cache, merge_policy)

    @check_arguments
    def lock(self, timeout_s: float = 0) -> None:
        """Take the writer's lock now; wait for another writer up to a number of seconds.

        Other methods take the lock when they need it, and do not wait. Where a store may have
        several writers, there is no lock, and this method returns at once.

        Raises:
            StoreError: if another writer still has the store open after this time.
        """
        self._writer.lock(timeout_s)

    @property
    def versions(self) -> list[int]:
        """Numbers of all existing versions, ascending."""
        return list(list_versions(self._backend))

    @check_arguments
    def snapshot(self, version: int | None = None) -> Snapshot:
        """Open a version for reading: the newest version, or the version with this number.

        Raises:
            StoreError: if the version does not exist, or one of its files is damaged.

        Cost: at most a listing of the versions, and a checksum of the file of tombstones and of
        every segment file that no other snapshot of this store has open.
        """
        newest = self._writer.newest_snapshot if version is None else None
        if newest is not None:
            return newest
        manifest = (
            read_newest_manifest(self._backend) if version is None else self.manifest(version)
        )
        return Snapshot(
            manifest,
            tuple(segment.without_replicas() for segment in self._opener.open_segments(manifest)),
        )

    @check_arguments
    def zone_snapshot(self, version: int, zone: int, *, is_home: bool = False) -> Snapshot:
        """Open only the segments of a version that the events of one zone can match.

        By default, these are the segments of the zone, the broadcast segment and segments without
        a zone. If `is_home` is true, open only the segment of the zone to which events of other
        zones are forwarded.

        Raises:
            StoreError: if the version does not exist, or one of its files is damaged.
        """
        manifest = self.manifest(version)

        def is_needed(entry: SegmentEntry) -> bool:
            if is_home:
                return entry.is_home and entry.zone == zone
            return entry.zone in (None, EVERYWHERE, zone)

        return Snapshot(manifest, self._opener.open_segments(manifest, is_needed))

    @check_arguments
    def manifest(self, version: int) -> Manifest:
        """Return the manifest of a version without opening any segment."""
        return read_manifest(self._backend, version)

    @check_arguments
    def zone_map(self, version: int) -> ZoneMap | None:
        """Return the zone map of a version, or None if the version has no zones."""
        return self._writer.open_zone_map(self.manifest(version))

    @check_arguments
    def apply(self, changes: Changes, label: str | None = None) -> Manifest:
        """Commit the next version with these changes, which are durable when the method returns.

        If the batch adds nothing and removes no id that is in the store, no version is made. This
        method does no large merges: call `merge` from time to time, or use a `BackgroundMerger`.
        Otherwise the number of segments grows, and queries become slower.

        Args:
            changes: a batch of changes.
            label: a text by which the version can be found; see `Manifest.label`.

        Returns:
            The manifest of the version, or of the newest version if none was made.

        Raises:
            InvalidArgumentError: if an id occurs twice, or the arrays do not fit together.
            SchemaError: if the columns or settings of the regions' space differ from the store's.
            StoreError: if another writer has the store open, or a file cannot be read.

        Cost: a binary search per change and segment; an index of the regions of the batch and of at
        most `TieredMergePolicy.min_level_regions` regions of the last segment; on a local file
        system, five calls of fsync. Prefer few large batches to many small ones.
        """
        return self._writer.apply(changes, label)

    @check_arguments
    def stage(self, changes: Changes, base_version: int | None = None) -> StagedSegment | None:
        """Index added subscriptions and write their segment, without making a version.

        Many processes can do this at the same time, because staging does not take the writer's
        lock. `commit_staged` then commits all their segments; `vacuum` deletes segments that are
        never committed. Removed ids are ignored.

        Args:
            changes: a batch of changes.
            base_version: the version whose space and type of ids the changes must fit; None for
                the newest.

        Returns:
            The staged segment, or None if the changes add nothing.
        """
        added, _ = changes.validate(*self._space_and_id_kind(base_version))
        if added is None:
            return None
        return self._write_segment(added)

    def restage_all(self) -> list[StagedSegment]:
        """Write the live rows of each segment of the newest version to a new staged segment.

        Pass the result to `commit_zones` or `overwrite`. Segments without live rows are left out.

        Cost: an index of every live subscription is built.
        """
        return [
            self._write_segment(segment.take_live())
            for segment in self.snapshot().live_segments
            if segment.live_count
        ]

    @check_arguments
    def open_staged(self, staged: StagedSegment) -> LiveSegment:
        """Open a staged segment, with all rows live."""
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
        """Index the subscriptions of one zone and write their segment, for `commit_zones`.

        Args:
            zone: the zone number, or `EVERYWHERE` for the broadcast segment.
            batch: the subscriptions; its `replica_mask` says which of them are replicas.
            forward_to: for each id of `batch` the zones to which matching events are forwarded.
            is_home: whether events of other zones are forwarded to this segment.
        """
        staged = self._write_segment(batch, forward_to)
        replicas = int(batch.is_replica.sum())
        return replace(staged, zone=zone, replicas=replicas, is_home=is_home)

    @check_arguments
    def discard_staged(self, staged: Iterable[StagedSegment]) -> None:
        """Delete the files of staged segments, which no manifest may name, now or later."""
        for segment in staged:
            self._writer.content_store.delete(segment.file)

    @check_arguments
    def commit_staged(
        self,
        staged: Sequence[StagedSegment],
        staged_removals: Sequence[StagedSegment] = (),
        *,
        label: str | None = None,
        base_version: int | None = None,
    ) -> Manifest:
        """Commit a version with the subscriptions of all staged segments, as one new segment.

        If a version has the label already, its manifest is returned and no version is made, so that
        an attempt can be repeated safely. After the commit, the staged segments are deleted.

        Args:
            staged: segments with the subscriptions to add or replace.
            staged_removals: segments whose ids are removed. No id may occur in two segments of
                `staged` and `staged_removals`.
            label: a text by which the version can be found.
            base_version: the version to which the changes are applied; None for the newest. The
                new version is the newest one in both cases.

        Returns:
            The manifest of the new version, of the version that has the label, or of the base
            version if nothing is added and the base version has none of the removed ids.

        Cost: a merge of the staged segments; see `merge`.
        """

        def commit() -> Manifest:
            added, removed = self._open_all_staged(staged), self._open_all_staged(staged_removals)
            no_ids = Ids.from_values([], self._space_and_id_kind(base_version)[1])
            return self._writer.commit_changes(
                SubscriptionBatch.concat([segment.take_live() for segment in added])
                if added
                else None,
                Ids.concat([no_ids, *(segment.subscriptions.ids for segment in removed)]),
                label=label,
                base_version=base_version,
            )

        manifest = self._commit_once(label, commit)
        self.discard_staged([*staged, *staged_removals])
        return manifest

    @check_arguments
    def overwrite(self, staged: Sequence[StagedSegment], label: str | None = None) -> Manifest:
        """Commit a version that consists only of the staged segments.

        Use this method if all subscriptions are available; removed ids then need not be determined.
        Earlier versions do not change. No id may occur in two segments. The segments are merged
        later, by `merge` or a `BackgroundMerger`. If a version has the label already, its manifest
        is returned and no version is made.

        Cost: a checksum of every segment.
        """
        return self._commit_once(
            label, lambda: self._writer.overwrite(self._open_all_staged(staged), label)
        )

    @check_arguments
    def commit_zones(
        self,
        zone_map: ZoneMap,
        staged: Sequence[StagedSegment],
        space: Space,
        label: str,
        base_version: int,
    ) -> Manifest:
        """Commit a version with zones that consists only of the segments in `staged`.

        The segments must contain each subscription of the version in every zone in which it must be
        stored. Later changes belong to no zone at first, so they are matched with every event;
        large merges spread them over the zones. If a version has the label already, its manifest is
        returned and no version is made.

        Args:
            zone_map: the zones of the version.
            staged: segments from `stage_zone_segment`, and segments without a zone.
            space: the space of the version, with the derived attributes of all segments.
            label: a text by which the version can be found.
            base_version: the version from which the type of ids is taken.

        Cost: two small files are written; no segment is opened.
        """
        entries = [segment.entry for segment in staged]
        return self._commit_once(
            label,
            lambda: self._writer.commit_zones(zone_map, entries, space, label, base_version),
        )

    @check_arguments
    def commit_rezoned(
        self,
        rebalance_plan: RebalanceResult,
        staged: Sequence[StagedSegment],
        label: str,
        base_version: int,
    ) -> Manifest:
        """Commit a version with the zones of a rebalance; only changed zones are staged again.

        Segments of unchanged zones are reused under their new zone numbers. If a version has the
        label already, its manifest is returned and no version is made.

        Args:
            rebalance_plan: the new zone map, and for each new zone the old zones from which it is
                made.
            staged: the segments of the changed zones.
            label: a text by which the version can be found.
            base_version: the version that was rebalanced; it must be the newest.

        Raises:
            StoreError: if `base_version` is not the newest version.

        Cost: two small files are written; no segment is opened.
        """
        base_manifest, changed_zones = (
            self.manifest(base_version),
            set(rebalance_plan.changed_zones),
        )
        new_numbers = {
            sources[0]: zone
            for zone, sources in enumerate(rebalance_plan.source_zones)
            if zone not in changed_zones
        }
        unchanged_entries = [
            entry
            if entry.zone in (None, EVERYWHERE)
            else replace(entry, zone=new_numbers[entry.zone])
            for entry in base_manifest.segments
            if entry.zone in (None, EVERYWHERE) or entry.zone in new_numbers
        ]
        entries = [*(segment.entry for segment in staged), *unchanged_entries]
        return self._commit_once(
            label,
            lambda: self._writer.commit_zones(
                rebalance_plan.zone_map,
                entries,
                base_manifest.space,
                label,
                base_version,
                tombstones_file=base_manifest.tombstones_file,
                must_be_newest=True,
            ),
        )

    @check_arguments
    def commit_gated(
        self, gate: StagedSegment, gated: StagedSegment, label: str, base_version: int
    ) -> Manifest:
        """Commit a version of two staged segments: a gate, and a segment that it gates.

        The gated segment is matched only with events that a region of the gate contains. So every
        event that matches a subscription of the gated segment must be in a region of the gate.
        Together the segments must contain each subscription of `base_version` once. Later changes
        and merges work as in any other version. If a version has the label already, its manifest is
        returned and no version is made.

        Raises:
            StoreError: if the number of subscriptions in the segments differs from that of
                `base_version`.
        """

        def commit() -> Manifest:
            first, second = self._open_all_staged([gate, gated])
            return self._writer.commit_gated(
                [first, replace(second, gated_by=first.file)], label, base_version
            )

        return self._commit_once(label, commit)

    def merge(self) -> Manifest | None:
        """Do the next merge that the merge policy proposes; return None if it proposes none.

        `while store.merge(): pass` does all merges. Other threads can apply changes meanwhile. Use
        a `BackgroundMerger` to merge in another process.

        Returns:
            The manifest of the version that has the merged segment, or None.

        Cost: an index of the merged regions is built; from time to time these are all regions of
        the store.
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
        """Let later merges drop regions that end before a key of a scalar attribute.

        Use this method for validity intervals that are over, so that no future event can match. A
        subscription is dropped with its last region. A subscription that was stored without a
        region stays, and so does a region that admits null. The version that the merge makes lacks
        the dropped regions; earlier versions still have them.

        The horizon applies to merges that begin after this call, by this store or its
        `BackgroundMerger`, until another key is set for the attribute. It is not stored: set it
        again when the store is opened again. The call itself starts no merge: a region that ended
        long ago stays as long as its segment is not merged. To remove expired subscriptions at
        once, find them with `Snapshot.find_expired`.

        Args:
            attribute: name of a scalar attribute of the store's space, with keys of 64 bits.
            before_key: a key of the attribute, as in `covey.space.keys`; for a timestamp, the
                microseconds since 1970, and for a date, the days since 1970.

        Raises:
            SchemaError: if the attribute is unknown, or its keys are not integers of 64 bits.

        Cost: none here; one comparison for each region that is merged.
        """
        expiry_domain(self.space, attribute)
        self._writer.expire_before(attribute, index(before_key))

    @check_arguments
    def lease(self, version: int, seconds: float) -> Lease:
        """Return a lease that keeps a version from `vacuum` for the given time.

        Take a lease for a version that will be opened later.

        Raises:
            StoreError: if the version does not exist.
            InvalidArgumentError: if `seconds` is not positive or exceeds 300 years.
        """
        return Lease(self._backend, version, seconds)

    @check_arguments
    def vacuum(
        self,
        retain_seconds: float,
        grace_seconds: float = 3600,
        *,
        keep_versions: Iterable[int] = (),
    ) -> VacuumResult:
        """Delete old versions, then the files that no remaining version names.

        The newest version and versions under a lease are never deleted.

        Args:
            retain_seconds: a version is not deleted if it was the newest at any moment of the last
                `retain_seconds` seconds.
            grace_seconds: a file that no version names is not deleted before it has this age,
                because it may be a staged segment or the result of a merge that is not committed
                yet. Use 0 only if nothing else uses the store meanwhile.
            keep_versions: other versions that are not deleted; unknown numbers are ignored.

        Returns:
            The numbers of versions, files and bytes that were deleted.

        Raises:
            InvalidArgumentError: if a time is negative.
            StoreError: if another writer has the store open, or a remaining version is damaged. In
                the second case no version and no file of a version is deleted.

        Cost: a listing of all files, and a read of each remaining manifest that this object has not
        read in an earlier vacuum.
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
        """Return the space and the type of ids of a version; None means the newest version."""
        if base_version is None:
            return self.space, self._writer.id_kind
        manifest = self.manifest(base_version)
        return manifest.space.without_derived, manifest.id_kind

    def _write_segment(
        self, batch: SubscriptionBatch, forward_to: RaggedArray | None = None
    ) -> StagedSegment:
        """Index subscriptions, write their segment file and return it as a staged segment."""
        packed = IndexedSubscriptions.build(batch, forward_to).encode()
        self._writer.content_store.put(packed)
        return StagedSegment(packed.sha256, packed.size_bytes, len(batch.ids), len(batch.regions))

    def _commit_once(self, label: str | None, commit: Callable[[], Manifest]) -> Manifest:
        """Commit a version, unless there is one with the label; return its manifest.

        Several attempts may be under way at the same time. If one fails because another has made
        the version, or has deleted its staged segments, the version of the other is returned.
        """
        try:
            return self._find_labelled(label) or commit()
        except StoreError as error:
            if (labelled := self._find_labelled(label)) is not None:
                return labelled
            raise StoreError(str(error)) from None

    def _find_labelled(self, label: str | None) -> Manifest | None:
        """Return the newest manifest with a label; None if there is none, or `label` is None."""
        return None if label is None else find_labelled_manifest(self._backend, label)

    def _open_all_staged(self, staged: Sequence[StagedSegment]) -> list[LiveSegment]:
        """Open staged segments, with all rows live."""
        return [self.open_staged(segment) for segment in staged]

    def close(self) -> None:
        """Release the writer's lock; open snapshots stay usable."""
        self._writer.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:  # fmt: skip
        self.close()
