"""The subscriptions of one segment: their ids, the index of their regions, and which is whose.

Subscription rows are in the order of the ids' keys, region rows in the order of subscriptions. A
subscription has any number of regions; one that can never match has none.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.errors import StoreError
from covey.geometry import Regions
from covey.index import Pairs, Segment
from covey.space.ragged import Ragged
from covey.store.arrays import Arrays, Packed, pack
from covey.store.ids import Ids
from covey.store.spaces import space_from_json, space_of_all, space_to_json

__all__ = ["Owned", "Subscriptions"]

Rows = NDArray[np.int64]
Bools = NDArray[np.bool_]
AnyRows = NDArray[np.integer[Any]]  # of pairs, as an index numbers them

_KIND = "segment"


@dataclass(frozen=True, slots=True)
class Owned:
    """Subscriptions before they are indexed: region r belongs to id `of[r]`, in any order.

    `revisions` has a number for each id, which is kept and means nothing here. `copies` says of
    each whether it is one of what another zone has; without it, none is.
    """

    ids: Ids
    regions: Regions
    of: Rows
    revisions: Rows
    copies: Bools | None = None

    @classmethod
    def concat(cls, parts: Sequence[Owned]) -> Owned:
        """The subscriptions of all parts, one after another."""
        starts = np.cumsum([0, *(len(part.ids) for part in parts)])
        space = space_of_all(parts[0].regions.space, (part.regions.space for part in parts))
        return cls(
            Ids.concat([part.ids for part in parts]),
            Regions.concat([Regions(space, 0, {}), *(part.regions for part in parts)]),
            np.concatenate([part.of + start for part, start in zip(parts, starts, strict=False)]),
            np.concatenate([part.revisions for part in parts]),
            np.concatenate([part.is_copy for part in parts])
            if any(part.copies is not None for part in parts)
            else None,
        )

    @property
    def is_copy(self) -> Bools:
        """Of each id."""
        return np.zeros(len(self.ids), np.bool_) if self.copies is None else self.copies

    def as_copies(self, copies: Bools) -> Owned:
        """The same, of which some more are copies."""
        return replace(self, copies=self.is_copy | copies)

    def take(self, rows: Rows) -> Owned:
        """The given subscriptions in the given order, each at most once."""
        number = np.full(len(self.ids), -1, np.int64)
        number[rows] = np.arange(len(rows))
        kept = np.flatnonzero(number[self.of] >= 0)
        return Owned(
            self.ids.take(rows),
            self.regions.take(kept),
            number[self.of[kept]],
            self.revisions[rows],
            None if self.copies is None else self.copies[rows],
        )


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Subscriptions:
    """Indexed subscriptions. `of` is None where subscription i has just region i.

    `revisions` is None where all of them are 0, and then is not in the file either; `copies`, a
    bit each, is None where none is a copy of what another zone has; `onwards` are the zones that
    events of each go on to, None where there are none.
    `originals` are the regions that they were built from, while they are at hand: the index gives
    the same ones back, but slower.

    Cost: to build, what `Segment.build` costs and a sort of the ids.
    """

    ids: Ids
    index: Segment
    of: Rows | None
    revisions: Rows | None = None
    copies: NDArray[np.uint8] | None = None
    onwards: Ragged | None = None
    originals: Regions | None = None
    _by_place: list[Rows] = field(default_factory=list, repr=False, compare=False)

    @classmethod
    def build(cls, owned: Owned, onwards: Ragged | None = None) -> Subscriptions:
        """Indexes subscriptions; each id is there once, and row i of `onwards` is of id i."""
        order = owned.ids.order()
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        owner = rank[owned.of]
        by_owner = np.argsort(owner, kind="stable")
        of = owner[by_owner]
        is_one_each = len(of) == len(order) and bool((of == np.arange(len(order))).all())
        regions = _lean(owned.regions.take(by_owner))
        ids, index = owned.ids.take(order), Segment.build(regions)
        revisions = owned.revisions[order] if owned.revisions.any() else None
        copies = None
        if owned.copies is not None and owned.copies.any():
            copies = np.packbits(owned.copies[order], bitorder="little")
        onwards = None if onwards is None else onwards.take(order)
        of_each = None if is_one_each else of
        return cls(ids, index, of_each, revisions, copies, onwards, regions)

    @classmethod
    def read(cls, file: Arrays) -> Subscriptions:
        """The subscriptions in a file; nothing big is copied."""
        if file.meta.get("kind") != _KIND:
            raise StoreError(f"{file.sha256} holds {file.meta.get('kind')}, not a segment")
        space = space_from_json(file.meta["space"])
        try:
            return cls(
                Ids.from_arrays(_under("ids.", file)),
                Segment.from_arrays(space, _under("index.", file)),
                file.arrays.get("of"),
                file.arrays.get("revisions"),
                file.arrays.get("copies"),
                Ragged(file.arrays["onwards.offsets"], file.arrays["onwards.values"])
                if "onwards.offsets" in file.arrays
                else None,
            )
        except (KeyError, ValueError, TypeError, IndexError) as error:
            raise StoreError(f"the segment {file.sha256} cannot be read: {error!r}") from None

    def pack(self) -> Packed:
        """The file of these subscriptions, which is like no other.

        A merge knows its inputs by their names. Were a segment of equal content made anew while one
        is merged, the merge would take the two for one.
        """
        arrays: dict[str, NDArray[Any]] = {f"ids.{k}": v for k, v in self.ids.arrays().items()}
        arrays |= {f"index.{name}": array for name, array in self.index.arrays().items()}
        if self.of is not None:
            arrays["of"] = self.of
        if self.revisions is not None:
            arrays["revisions"] = self.revisions
        if self.copies is not None:
            arrays["copies"] = self.copies
        if self.onwards is not None:
            arrays |= {
                "onwards.offsets": self.onwards.offsets, "onwards.values": self.onwards.values,
            }  # fmt: skip
        space, unique = space_to_json(self.index.space), secrets.token_hex(8)
        return pack(arrays, {"kind": _KIND, "space": space, "unique": unique})

    def __len__(self) -> int:
        return len(self.ids)

    def keys_by_place(self) -> Rows | None:
        """The keys of ids as an index can name them, if each subscription has one region.

        Made with the first call, and kept: 8 bytes a subscription.
        """
        if self.of is None and not self._by_place:
            self._by_place.append(self.index.by_place(self.ids.keys))
        return self._by_place[0] if self._by_place else None

    def owners(self, pairs: Pairs) -> AnyRows:
        """The subscription of each stored region: the same one several times, it may be."""
        return pairs.stored if self.of is None else self.of[pairs.stored]

    def region_counts(self, rows: AnyRows) -> Rows:
        """How many regions each of the given subscriptions has."""
        if self.of is None:
            return np.ones(len(rows), np.int64)
        return np.searchsorted(self.of, rows, "right") - np.searchsorted(self.of, rows)

    def revisions_of(self, rows: AnyRows) -> Rows:
        """The revision of each of the given subscriptions."""
        return np.zeros(len(rows), np.int64) if self.revisions is None else self.revisions[rows]

    def take(self, rows: Rows) -> Owned:
        """The given subscriptions in the given order, exactly as they were given."""
        ids, revisions, copies = self.ids.take(rows), self.revisions_of(rows), self._copies(rows)
        if self.of is None:
            return Owned(ids, self._regions(rows), np.arange(len(rows)), revisions, copies)
        counts = self.region_counts(rows)
        of = np.repeat(np.arange(len(rows)), counts)
        first = np.searchsorted(self.of, rows)
        places = np.arange(len(of)) - np.repeat(np.cumsum(counts) - counts, counts)
        return Owned(ids, self._regions(first[of] + places), of, revisions, copies)

    def _copies(self, rows: Rows) -> Bools | None:
        if self.copies is None:
            return None
        copies: Bools = (self.copies[rows >> 3] >> (rows & 7).astype(np.uint8)) & 1 > 0
        return copies

    def _regions(self, rows: Rows) -> Regions:
        return self.index.regions(rows) if self.originals is None else self.originals.take(rows)


def _lean(regions: Regions) -> Regions:
    """Regions in a space without the derived attributes that none of them constrains."""
    space = regions.space
    derived = tuple(a for a in space.derived if a.name in regions.constraints)
    return replace(regions, space=replace(space, derived=derived))


def _under(prefix: str, file: Arrays) -> dict[str, NDArray[Any]]:
    return {k.removeprefix(prefix): v for k, v in file.arrays.items() if k.startswith(prefix)}
