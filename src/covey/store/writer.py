"""The writer of a store: makes its versions, one after another.

It holds the writer's lock, the newest version, and which segments are being merged.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from covey.errors import StoreError
from covey.space import Space
from covey.store.batch import after
from covey.store.changes import Changes
from covey.store.directory import Directory
from covey.store.ended import Horizons
from covey.store.files import Files
from covey.store.ids import IdKind, Ids
from covey.store.lock import WriterLock
from covey.store.merge import Merge, Placed, finished
from covey.store.parts import Opener, Part
from covey.store.snapshot import Snapshot
from covey.store.spaces import space_of_all
from covey.store.subscriptions import Owned, Subscriptions
from covey.store.tiers import Tiers
from covey.store.tombstones import Tombstones, pack_tombstones
from covey.store.versions import Entry, Version, newest_version, read_version, version_name
from covey.store.zoned import pack_zoning, read_zoning
from covey.zones import Zoning

__all__ = ["Writer", "now_ms"]

_SPREAD_LEVEL = 2  # of tiers, from which on what is of no zone is spread over zones
_WORTH_MAPPING_BYTES = 1 << 24  # smaller new segments stay in memory: they are rewritten soon


class Writer:
    """Makes versions. Takes the lock with the first of them; for any number of threads."""

    def __init__(
        self, directory: Directory, opener: Opener, tiers: Tiers, space: Space, ids: IdKind
    ) -> None:
        self._directory, self._opener, self._tiers = directory, opener, tiers
        self._space, self.id_kind = space, ids
        self._changing = threading.RLock()
        self._lock: WriterLock | None = None
        self._newest: Snapshot | None = None
        self._merging: set[str] = set()
        self._horizons: Horizons = {}

    @property
    def files(self) -> Files:
        """Where segments are kept."""
        return self._opener.files

    @property
    def newest(self) -> Snapshot | None:
        """The newest version, if this is the writer, because then nobody else makes one."""
        now = self._newest
        return None if now is None else Snapshot(now.version, tuple(p.once() for p in now.parts))

    def apply(self, changes: Changes, label: str | None = None) -> Version:
        """See `Store.apply`."""
        return self.put(*changes.checked(self._space, self.id_kind), label)

    def put(
        self,
        added: Owned | None,
        removed: Ids,
        label: str | None = None,
        base: int | None = None,
    ) -> Version:
        """The version with what is added and without what is removed; no id is in both.

        It is made from the newest version, or from that with the number `base`.
        """
        with self._writing() as now:
            if base is not None and base != now.version.number:
                version = read_version(self._directory, base)
                now = Snapshot(version, self._opener.parts(version))
            parts, added = after(now.parts, added, removed, self._tiers)
            if added is None and list(map(id, parts)) == list(map(id, now.parts)):
                return now.version
            built = None if added is None else Subscriptions.build(added)
            return self._commit(parts, built, label, now.version)

    def replace(self, parts: list[Part], label: str | None) -> Version:
        """See `Store.replace`."""
        with self._writing() as now:
            return self._commit(parts, None, label) if parts or now.parts else now.version

    def arrange(self, parts: list[Part], label: str, base: int) -> Version:
        """See `Store.arrange`."""
        with self._writing():
            before = read_version(self._directory, base)
            if before.subscriptions != sum(part.live_count for part in parts):
                raise StoreError(f"what was prepared is not all that version {base} has")
            return self._commit(parts, None, label, before)

    def forget(self, attribute: str, before: int) -> None:
        """See `Store.forget`."""
        with self._changing:
            self._horizons = {**self._horizons, attribute: before}

    def claim_merge(self) -> Merge | None:
        """The next merge to be done, of segments that no other merge has claimed."""
        with self._writing() as now:
            free = [p for p in now.parts if p.file not in self._merging and not p.rests]
            by_zone: dict[int | None, list[Part]] = {}
            for part in free:
                by_zone.setdefault(part.zone, []).append(part)
            for zone, parts in by_zone.items():
                if chosen := self._tiers.plan([part.size for part in parts]):
                    some = tuple(parts[i] for i in chosen)
                    merge = Merge(some, self._horizons, self._spreading(zone, some, now.version))
                    self._merging |= merge.files
                    return merge
            return None

    def zoning(self, version: Version) -> Zoning | None:
        """Where the zones of a version are, if it has any."""
        if version.zoning is None:
            return None
        return read_zoning(self.files.open(version.zoning), version.space)

    def finish_merge(self, merge: Merge, built: Sequence[Placed]) -> Version:
        """The version in which a merge is done, whatever changed meanwhile."""
        parts = [replace(self._opener.part(b.file, b.size_bytes), zone=b.zone) for b in built]
        with self._writing() as now:
            return self._commit(finished(merge, now.parts, parts), None, now.version.label)

    def publish_zones(
        self,
        zoning: Zoning,
        entries: Sequence[Entry],
        space: Space,
        label: str,
        base: int,
        tombstones: str | None = None,
    ) -> Version:
        """See `Store.zone` and `Store.rezone`."""
        packed = pack_zoning(zoning)
        self.files.put(packed)
        with self._changing:
            self._take_lock()
            self._newest = None  # the parts of the next one are not opened for it
            number = newest_version(self._directory).number + 1
            kind = read_version(self._directory, base).id_kind
            version = Version(
                number, now_ms(), space, kind, tuple(entries), tombstones, label, packed.sha256
            )
            self._directory.publish(version_name(number), version.to_bytes())
            return version

    def release_merge(self, merge: Merge) -> None:
        """Lets others claim what this merge had, done or not."""
        with self._changing:
            self._merging -= merge.files

    def files_in_use(self) -> set[str]:
        """Files that merges read; makes sure that this is the writer."""
        with self._writing():
            return set(self._merging)

    def close(self) -> None:
        """Gives the lock back."""
        with self._changing:
            self._newest = None
            if self._lock is not None:
                self._lock.release()
                self._lock = None

    def _spreading(
        self, zone: int | None, parts: Sequence[Part], version: Version
    ) -> Zoning | None:
        """The zones that parts are to be spread over instead of merged: if they are of none, and
        large together.
        """
        if zone is not None or version.zoning is None:
            return None
        if self._tiers.level(sum(part.size.live for part in parts)) < _SPREAD_LEVEL:
            return None
        return self.zoning(version)

    @contextmanager
    def _writing(self) -> Iterator[Snapshot]:
        """The newest version, while no other thread or process can make the next."""
        with self._changing:
            self._take_lock()
            if self._newest is None:
                version = newest_version(self._directory)
                self._newest = Snapshot(version, self._opener.parts(version))
            yield self._newest

    def _take_lock(self) -> None:
        path = self._directory.local_path("writer.lock")
        if self._lock is None and path is not None:
            self._lock = WriterLock(path)

    def _commit(
        self,
        parts: list[Part],
        built: Subscriptions | None,
        label: str | None = None,
        base: Version | None = None,
    ) -> Version:
        """Makes the next version, of these parts and one that is new, in the space of the base."""
        assert self._newest is not None
        before, files = self._newest.version, []
        base = before if base is None else base
        if built is not None:
            packed = built.pack()
            files.append(packed)
            none = Tombstones.none(len(built))
            parts = [*parts, Part(packed.sha256, packed.size_bytes, built, none)]
        stones = pack_tombstones({part.file: part.tombstones for part in parts})
        if stones is not None and stones.sha256 != before.tombstones:
            files.append(stones)
        version = Version(
            before.number + 1,
            now_ms(),
            space_of_all(
                base.space.without_derived, (part.subscriptions.index.space for part in parts)
            ),
            base.id_kind,
            tuple(part.entry for part in parts),
            None if stones is None else stones.sha256,
            label,
            base.zoning,
        )
        self.files.put(*files)
        if built is not None and parts[-1].size_bytes > _WORTH_MAPPING_BYTES:
            parts[-1] = self._opener.part(parts[-1].file, parts[-1].size_bytes)
        try:
            self._directory.publish(version_name(version.number), version.to_bytes())
            self._newest = Snapshot(version, tuple(parts))
        except BaseException:
            self._newest = None  # nobody knows whether it took effect: the next change looks
            raise
        return version


def now_ms() -> int:
    """The time, as versions record it."""
    return time.time_ns() // 1_000_000
