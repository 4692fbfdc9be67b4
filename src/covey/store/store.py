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

from covey.errors import StoreError
from covey.space import Space
from covey.space.ragged import Ragged
from covey.store.cache import Cache
from covey.store.changes import Changes
from covey.store.directory import Directory
from covey.store.ended import keys_of
from covey.store.files import Files
from covey.store.ids import IdKind, Ids
from covey.store.leases import Lease
from covey.store.merge import written
from covey.store.parts import Opener, Part
from covey.store.places import Place, directory_at
from covey.store.retention import Collected, Named, collect
from covey.store.snapshot import Snapshot
from covey.store.subscriptions import Owned, Subscriptions
from covey.store.tiers import Tiers
from covey.store.versions import (
    Entry,
    Version,
    labelled_version,
    listed_versions,
    newest_version,
    read_version,
    version_name,
)
from covey.store.writer import Writer, now_ms
from covey.zones import EVERYWHERE, Rebalanced, Zoning

__all__ = ["Prepared", "Store"]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A segment that was written for `Store.load` or `Store.zone`, and that no version names yet.

    One of a zone has so many copies of what another zone has.
    """

    file: str
    size_bytes: int
    subscriptions: int
    regions: int = 0
    zone: int | None = None
    copies: int = 0
    is_home: bool = False

    @property
    def entry(self) -> Entry:
        """How a version names it."""
        return Entry(
            self.file, self.size_bytes, self.regions, self.subscriptions, 0, None, self.zone,
            self.copies, self.is_home,
        )  # fmt: skip


class Store:
    """Subscriptions on a local path, or on any file system that pyarrow reaches.

    The first change takes the writer's lock, which `close` or the end of the process gives back. On
    file systems that are not local nothing but you holds off a second writer; it would be noticed
    only when both make the same version. For any number of threads.

    Wrong choice for a set that is built once and not kept: `covey.index.Segment` is that.

    >>> import tempfile
    >>> import pyarrow as pa
    >>> from covey import Events, parse
    >>> space = Space.of({"price": pa.float64()})
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = Store.create(folder.name + "/alerts", space)
    >>> version = store.apply(Changes.put([7, 8], parse(space, ["price > 5", "price > 9"])))
    >>> version = store.apply(Changes.remove([8]))
    >>> events = Events.from_arrow(pa.table({"price": [6.0, 10.0]}), space)
    >>> rows, ids = store.snapshot().notifications(events)
    >>> rows.tolist(), ids.to_pylist()
    ([0, 1], [7, 7])
    >>> store.close()
    """

    def __init__(self, directory: Directory, cache: Cache | None, tiers: Tiers | None) -> None:
        first = newest_version(directory)
        self.space = first.space.without_derived
        """The columns and settings that predicates are parsed in."""
        self._directory = directory
        self._opener = Opener(Files(directory, cache or Cache()))
        self._named = Named()
        self.writer = Writer(directory, self._opener, tiers or Tiers(), self.space, first.id_kind)
        """Who makes its versions; for `Merger`."""

    @classmethod
    def create(
        cls,
        place: Place,
        space: Space,
        *,
        ids: IdKind = IdKind.NUMBER,
        filesystem: fs.FileSystem | None = None,
        cache: Cache | None = None,
        tiers: Tiers | None = None,
    ) -> Store:
        """A new store without subscriptions, version 0; where one is already, a `StoreError`."""
        directory = directory_at(place, filesystem)
        if listed_versions(directory):
            raise StoreError(f"there is a store at {directory.place} already: Store.open opens it")
        first = Version(0, now_ms(), space.without_derived, ids)
        directory.publish(version_name(0), first.to_bytes())
        return cls(directory, cache, tiers)

    @classmethod
    def open(
        cls,
        place: Place,
        *,
        filesystem: fs.FileSystem | None = None,
        cache: Cache | None = None,
        tiers: Tiers | None = None,
    ) -> Store:
        """The store at a place, for reading and, with its first change, for writing."""
        return cls(directory_at(place, filesystem), cache, tiers)

    @property
    def versions(self) -> list[int]:
        """The numbers of all versions that are kept, ascending."""
        return list(listed_versions(self._directory))

    def snapshot(self, version: int | None = None) -> Snapshot:
        """A version opened for reading: the newest, or the one with this number.

        Cost: a listing, and a checksum of every file that no other snapshot of this store has open.
        """
        newest = self.writer.newest if version is None else None
        if newest is not None:
            return newest
        found = newest_version(self._directory) if version is None else self.version(version)
        return Snapshot(found, tuple(part.once() for part in self._opener.parts(found)))

    def zone_snapshot(self, version: int, zone: int, is_home: bool = False) -> Snapshot:
        """What events of one zone can match, and no more is opened.

        With `is_home`, what events are sent there for from other zones.
        """
        found = self.version(version)

        def wanted(entry: Entry) -> bool:
            if is_home:
                return entry.is_home and entry.zone == zone
            return entry.zone in (None, EVERYWHERE, zone)

        return Snapshot(found, self._opener.parts(found, wanted))

    def version(self, number: int) -> Version:
        """A version as it is named, of which nothing is opened."""
        return read_version(self._directory, number)

    def zoning(self, version: int) -> Zoning | None:
        """Where the zones of a version are, if it has any."""
        return self.writer.zoning(self.version(version))

    def apply(self, changes: Changes, label: str | None = None) -> Version:
        """Makes the version with these changes; when it returns, they are kept whatever happens.

        If nothing is different with them, no version is made. Large merges are left to `merge`,
        which must be called now and then, or to a `Merger`: without, there are ever more segments
        to ask.

        Cost: a binary search per change and segment, an index of at most `Tiers.smallest` regions
        besides those of the batch, and on a local file system five waits for the disk. So give
        many changes at once.
        """
        return self.writer.apply(changes, label)

    def prepare(self, changes: Changes, base: int | None = None) -> Prepared | None:
        """Indexes what is put and writes its segment, without making a version of it.

        It must fit the newest version, or that with the number `base`.

        For many processes at once: none needs the writer's lock. `load` then takes all of their
        segments; what is never taken is deleted by `collect`. None if nothing is put. What the
        changes remove is not looked at.
        """
        added, _ = changes.checked(*self._fitting(base))
        if added is None:
            return None
        return self._write(added)

    def prepare_all(self) -> list[Prepared]:
        """All that the newest version has, a segment of each of its own, for `zone` or `replace`.

        Cost: that of indexing it.
        """
        return [self._write(part.live()) for part in self.snapshot().parts if part.live_count]

    def prepared(self, one: Prepared) -> Part:
        """What was prepared, opened."""
        return self._opener.part(one.file, one.size_bytes)

    def prepare_zone(
        self, zone: int, owned: Owned, onwards: Ragged | None = None, is_home: bool = False
    ) -> Prepared:
        """The same of what is of one zone, for `zone`."""
        prepared = self._write(owned, onwards)
        copies = int(owned.is_copy.sum())
        return replace(prepared, zone=zone, copies=copies, is_home=is_home)

    def load(
        self,
        put: Sequence[Prepared],
        removed: Sequence[Prepared] = (),
        label: str | None = None,
        base: int | None = None,
    ) -> Version:
        """Makes the version with all that was prepared, in one segment.

        It is made from the newest version, or from that with the number `base`; either way it is
        the newest then.

        Of `removed` the ids count, which are removed. No id may be in two of all of these. If a
        version has the label already, it is returned and nothing is made: so a repeated attempt
        does no harm.

        Cost: that of a merge of what was prepared, as `merge`.
        """
        try:
            if (known := self._labelled(label)) is not None:
                return known
            added, gone = self._prepared(put), self._prepared(removed)
            none = Ids.of([], self._fitting(base)[1])
            version = self.writer.put(
                Owned.concat([part.live() for part in added]) if added else None,
                Ids.concat([none, *(part.subscriptions.ids for part in gone)]),
                label,
                base,
            )
        except StoreError:  # another attempt may have been faster
            if (known := self._labelled(label)) is not None:
                return known
            raise
        for one in (*put, *removed):
            self.writer.files.delete(one.file)
        return version

    def replace(self, put: Sequence[Prepared], label: str | None = None) -> Version:
        """Makes the version that has what was prepared and nothing else, segments as they are.

        It is for whoever has the whole set, and need not find out what is gone; versions before it
        stay as they are. No id may be in two of them. To merge them is left to `merge` or a
        `Merger`. If a version has the label already, it is returned and nothing is made.

        Cost: a checksum of every segment.
        """
        if (known := self._labelled(label)) is not None:
            return known
        return self.writer.replace(self._prepared(put), label)

    def zone(
        self, zoning: Zoning, put: Sequence[Prepared], space: Space, label: str, base: int
    ) -> Version:
        """Makes the version of segments that were prepared for zones, and of nothing else.

        They have all that is to count, each subscription in all of its zones; `space` has what is
        derived in any of them. The version is like `base`, else. Changes to it are of no zone at
        first, and so is asked by every event; large merges spread them. If a version has the label
        already, it is returned and nothing is made.

        Cost: a small file; no segment is opened.
        """
        if (known := self._labelled(label)) is not None:
            return known
        entries = [one.entry for one in put]
        return self.writer.publish_zones(zoning, entries, space, label, base)

    def rezone(self, to: Rebalanced, put: Sequence[Prepared], label: str, base: int) -> Version:
        """Makes the version of `base`, the newest, with other zones: those that changed prepared.

        Cost: that of `zone`; of the other zones only the numbers change.
        """
        if (known := self._labelled(label)) is not None:
            return known
        before, changed = self.version(base), set(to.changed)
        if base != self.versions[-1]:
            raise StoreError(f"version {base} is not the newest any more: balance that one")
        numbers = {
            sources[0]: zone for zone, sources in enumerate(to.sources) if zone not in changed
        }
        kept = [
            entry if entry.zone in (None, EVERYWHERE) else replace(entry, zone=numbers[entry.zone])
            for entry in before.segments
            if entry.zone in (None, EVERYWHERE) or entry.zone in numbers
        ]
        entries = [*(one.entry for one in put), *kept]
        return self.writer.publish_zones(
            to.zoning, entries, before.space, label, base, before.tombstones
        )

    def arrange(self, over: Prepared, under: Prepared, label: str, base: int) -> Version:
        """Makes the version of two segments that were prepared, all of it that version `base` has.

        Whatever the second matches must be in some region of the first: it is asked only for
        events that the first contains. Changes and merges then go on as ever. If a version has
        the label already, it is returned and nothing is made.
        """
        if (known := self._labelled(label)) is not None:
            return known
        first, second = self._prepared([over, under])
        return self.writer.arrange([first, replace(second, under=first.file)], label, base)

    def merge(self) -> Version | None:
        """Merges some segments, if `Tiers` finds that they should be; None if not.

        `while store.merge(): pass` merges all there is to merge. Other threads can apply changes
        meanwhile. Use a `Merger` to have it done by another process.

        Cost: that of building the merged index, which grows with the store every now and then.
        """
        merge = self.writer.claim_merge()
        if merge is None:
            return None
        try:
            return self.writer.finish_merge(merge, written(merge, self.writer.files))
        finally:
            self.writer.release_merge(merge)

    def forget(self, attribute: str, before: int) -> None:
        """From now on merges leave out regions that end before a key of a scalar attribute.

        It is for lifetimes that are over, of which nothing that is still to come can match. A
        subscription goes with the last of its regions; one that had none before stays, and so does
        a region that admits null. `before` is a key as in `covey.space.keys`: of a timestamp the
        microseconds since 1970, of a date the days. What goes is gone in the version that the merge
        makes; versions before it keep it.

        It holds for merges that begin after it, by this store or a `Merger` of it, until it is
        given another key of the attribute; a store that is opened again is to be told again. No
        merge is done because of it: what ended long ago can stay in a segment that rests. For what
        must go now there is `Snapshot.ended`.

        Cost: none here; a comparison for each region that is merged.
        """
        keys_of(self.space, attribute)
        self.writer.forget(attribute, index(before))

    def lease(self, version: int, seconds: float) -> Lease:
        """Keeps a version from `collect` for some time, for someone who will open it later."""
        return Lease(self._directory, version, seconds)

    def collect(
        self, keep_seconds: float, grace_seconds: float = 3600, spare: Iterable[int] = ()
    ) -> Collected:
        """Deletes old versions and then the files that none of the others needs.

        Kept are the newest version, those that were the newest less than `keep_seconds` ago, those
        under a lease, and those with a number in `spare`, if they are there. Files that
        no version names are kept for `grace_seconds`, since a merge may be about to name them: none
        is for stores to which nothing else is done meanwhile.

        Cost: a listing of all files; each version that is kept is read once.
        """
        in_use = self.writer.files_in_use()
        return collect(
            self._directory, keep_seconds, grace_seconds, in_use, frozenset(spare), self._named
        )

    def _fitting(self, base: int | None) -> tuple[Space, IdKind]:
        """What changes to a version must fit: to that with the number, or to the newest."""
        if base is None:
            return self.space, self.writer.id_kind
        version = self.version(base)
        return version.space.without_derived, version.id_kind

    def _write(self, owned: Owned, onwards: Ragged | None = None) -> Prepared:
        packed = Subscriptions.build(owned, onwards).pack()
        self.writer.files.put(packed)
        return Prepared(packed.sha256, packed.size_bytes, len(owned.ids), len(owned.regions))

    def _labelled(self, label: str | None) -> Version | None:
        return None if label is None else labelled_version(self._directory, label)

    def _prepared(self, given: Sequence[Prepared]) -> list[Part]:
        return [self.prepared(one) for one in given]

    def close(self) -> None:
        """Gives the writer's lock back; snapshots stay open."""
        self.writer.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:  # fmt: skip
        self.close()
