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
from covey.store.answers import Answer
from covey.store.arrays import Arrays
from covey.store.files import Files
from covey.store.ids import Ids
from covey.store.subscriptions import Owned, Subscriptions
from covey.store.tiers import Size
from covey.store.tombstones import Tombstones, read_tombstones
from covey.store.versions import Entry, Version

__all__ = ["Opener", "Part"]

Rows = NDArray[np.int64]
AnyRows = NDArray[np.integer[Any]]  # of pairs, as an index numbers them


@dataclass(frozen=True, slots=True)
class Part:
    """The subscriptions of one file, of which some no longer count.

    If it is `under` the file of another part, an event that no region there contains, dead ones
    included, matches nothing here. If it is of a `zone`, some of it may be copies of what another
    zone has; if it `is_home`, events of other zones are sent to it.
    """

    file: str
    size_bytes: int
    subscriptions: Subscriptions
    tombstones: Tombstones
    under: str | None = None
    zone: int | None = None
    is_home: bool = False

    @classmethod
    def read(cls, file: Arrays) -> Part:
        """The part in a file, all of which counts."""
        subscriptions = Subscriptions.read(file)
        stones = Tombstones.none(len(subscriptions))
        return cls(file.sha256, file.size_bytes, subscriptions, stones)

    def with_tombstones(self, file: Arrays) -> Part:
        """This part with its tombstones out of the file of a version."""
        stones = read_tombstones(file, self.file, len(self.subscriptions))
        return replace(self, tombstones=stones)

    @property
    def entry(self) -> Entry:
        """How a version names this part."""
        stored, dead = len(self.subscriptions), self.tombstones.dead
        regions = len(self.subscriptions.index)
        copies = self.live_count - self.once().live_count
        return Entry(
            self.file, self.size_bytes, regions, stored, dead, self.under, self.zone, copies,
            self.is_home,
        )  # fmt: skip

    @property
    def rests(self) -> bool:
        """Whether it is not to be merged: even the dead in it say where events go on to, or it is
        where they come to.
        """
        return self.is_home or self.subscriptions.onwards is not None

    @property
    def size(self) -> Size:
        """How large it is for `Tiers`."""
        share = self.tombstones.dead / max(1, len(self.subscriptions))
        return Size(len(self.subscriptions.index), share)

    def once(self) -> Part:
        """This part without what is a copy: then a subscription is in one part only."""
        copies = self.subscriptions.copies
        if copies is None:
            return self
        return replace(self, tombstones=self.tombstones.with_bits(copies))

    @property
    def live_count(self) -> int:
        return len(self.subscriptions) - self.tombstones.dead

    def live(self) -> Owned:
        """The subscriptions that count."""
        return self.subscriptions.take(self.tombstones.live_rows)

    def find(self, ids: Ids) -> Rows:
        """The row of each id, -1 where it is not here or no longer counts."""
        rows = self.subscriptions.ids.find(ids)
        rows[self.tombstones.holds(np.maximum(rows, 0))] = -1
        return rows

    def without(self, ids: Ids) -> Part:
        """This part with the given ids dead; those that are not here change nothing."""
        rows = self.find(ids)
        rows = rows[rows >= 0]
        return replace(self, tombstones=self.tombstones.with_rows(rows)) if len(rows) else self

    def answer(self, pairs: Pairs, start: int) -> Answer:
        """Pairs with regions as pairs with their subscriptions, whose rows begin at `start`."""
        return pairs.asked, self.subscriptions.owners(pairs), self.tombstones.bits, start


class Opener:
    """Opens the parts of versions; a segment that some snapshot has open is not opened again.

    For any number of threads.
    """

    def __init__(self, files: Files) -> None:
        self.files = files
        self._open: WeakValueDictionary[str, Subscriptions] = WeakValueDictionary()
        self._lock = threading.Lock()

    def parts(
        self, version: Version, wanted: Callable[[Entry], bool] = lambda _: True
    ) -> tuple[Part, ...]:
        """All parts of a version that are wanted, verified."""
        stones = None if version.tombstones is None else self.files.open(version.tombstones)
        opened = []
        for entry in version.segments:
            if not wanted(entry):
                continue
            part = self.part(entry.file, entry.size_bytes)
            part = replace(part, under=entry.under, zone=entry.zone, is_home=entry.is_home)
            opened.append(part if stones is None else part.with_tombstones(stones))
        return tuple(opened)

    def part(self, file: str, size_bytes: int) -> Part:
        """One segment without tombstones."""
        with self._lock:
            subscriptions = self._open.get(file)
        if subscriptions is None:  # without the lock: a large file must not hold up a small one
            subscriptions = Subscriptions.read(self.files.open(file))
            with self._lock:
                subscriptions = self._open.setdefault(file, subscriptions)
        return Part(file, size_bytes, subscriptions, Tombstones.none(len(subscriptions)))
