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
from covey.index import Pairs, SegmentIndex
from covey.space.ragged_array import RaggedArray
from covey.store.ids import Ids
from covey.store.manifest.space_json import combine_spaces, space_from_json, space_to_json
from covey.store.storage.array_file import EncodedFile, MappedArrays, encode_arrays

__all__ = ["IndexedSubscriptions", "SubscriptionBatch"]

Rows = NDArray[np.int64]
Bools = NDArray[np.bool_]
AnyRows = NDArray[np.integer[Any]]  # of pairs, as an index numbers them

_KIND = "segment"


@dataclass(frozen=True, slots=True)
class SubscriptionBatch:
    """Subscriptions before they are indexed: region r belongs to id
    `subscription_rows[r]`, in any order.

    `revisions` has a number for each id, which is kept and means nothing here. `replica_mask`
    says of each whether it is one of what another zone has; without it, none is.
    """

    ids: Ids
    regions: Regions
    subscription_rows: Rows
    revisions: Rows
    replica_mask: Bools | None = None

    @classmethod
    def concat(cls, batches: Sequence[SubscriptionBatch]) -> SubscriptionBatch:
        """The subscriptions of all parts, one after another."""
        starts = np.cumsum([0, *(len(part.ids) for part in batches)])
        space = combine_spaces(batches[0].regions.space, (part.regions.space for part in batches))
        return cls(
            Ids.concat([part.ids for part in batches]),
            Regions.concat([Regions(space, 0, {}), *(part.regions for part in batches)]),
            np.concatenate(
                [
                    part.subscription_rows + start
                    for part, start in zip(batches, starts, strict=False)
                ]
            ),
            np.concatenate([part.revisions for part in batches]),
            np.concatenate([part.is_replica for part in batches])
            if any(part.replica_mask is not None for part in batches)
            else None,
        )

    @property
    def is_replica(self) -> Bools:
        """Of each id."""
        return np.zeros(len(self.ids), np.bool_) if self.replica_mask is None else self.replica_mask

    def with_replicas(self, replica_mask: Bools) -> SubscriptionBatch:
        """The same, of which some more are replicas."""
        return replace(self, replica_mask=self.is_replica | replica_mask)

    def take(self, rows: Rows) -> SubscriptionBatch:
        """The given subscriptions in the given order, each at most once."""
        number = np.full(len(self.ids), -1, np.int64)
        number[rows] = np.arange(len(rows))
        kept = np.flatnonzero(number[self.subscription_rows] >= 0)
        return SubscriptionBatch(
            self.ids.take(rows),
            self.regions.take(kept),
            number[self.subscription_rows[kept]],
            self.revisions[rows],
            None if self.replica_mask is None else self.replica_mask[rows],
        )


@dataclass(frozen=True, slots=True, weakref_slot=True)
class IndexedSubscriptions:
    """Indexed subscriptions. `subscription_rows` is None where subscription i has just region i.

    `revisions` is None where all of them are 0, and then is not in the file either; `replica_bits`,
    a bit each, is None where none is a replica of what another zone has; `forward_to` are the zones
    that events of each are forwarded to, None where there are none. `original_regions` are the
    regions that they were built from, while they are at hand: the index gives the same ones back,
    but slower.

    Cost: to build, what `SegmentIndex.build` costs and a sort of the ids.
    """

    ids: Ids
    index: SegmentIndex
    subscription_rows: Rows | None
    revisions: Rows | None = None
    replica_bits: NDArray[np.uint8] | None = None
    forward_to: RaggedArray | None = None
    original_regions: Regions | None = None
    _ordinal_keys_cache: list[Rows] = field(default_factory=list, repr=False, compare=False)

    @classmethod
    def build(
        cls, batch: SubscriptionBatch, forward_to: RaggedArray | None = None
    ) -> IndexedSubscriptions:
        """Indexes subscriptions; each id is there once, and row i of `forward_to` is of id i."""
        order = batch.ids.argsort_by_key()
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        owner = rank[batch.subscription_rows]
        by_owner = np.argsort(owner, kind="stable")
        of = owner[by_owner]
        is_one_each = len(of) == len(order) and bool((of == np.arange(len(order))).all())
        regions = _drop_unused_derived(batch.regions.take(by_owner))
        ids, index = batch.ids.take(order), SegmentIndex.build(regions)
        revisions = batch.revisions[order] if batch.revisions.any() else None
        copies = None
        if batch.replica_mask is not None and batch.replica_mask.any():
            copies = np.packbits(batch.replica_mask[order], bitorder="little")
        forward_to = None if forward_to is None else forward_to.take(order)
        of_each = None if is_one_each else of
        return cls(ids, index, of_each, revisions, copies, forward_to, regions)

    @classmethod
    def from_file(cls, file: MappedArrays) -> IndexedSubscriptions:
        """The subscriptions in a file; nothing big is copied."""
        if file.meta.get("kind") != _KIND:
            raise StoreError(f"{file.sha256} holds {file.meta.get('kind')}, not a segment")
        space = space_from_json(file.meta["space"])
        try:
            return cls(
                Ids.from_arrays(_arrays_with_prefix("ids.", file)),
                SegmentIndex.from_arrays(space, _arrays_with_prefix("index.", file)),
                file.arrays.get("subscription_rows"),
                file.arrays.get("revisions"),
                file.arrays.get("replica_bits"),
                RaggedArray(file.arrays["forward_to.offsets"], file.arrays["forward_to.values"])
                if "forward_to.offsets" in file.arrays
                else None,
            )
        except (KeyError, ValueError, TypeError, IndexError) as error:
            raise StoreError(f"the segment {file.sha256} cannot be read: {error!r}") from None

    def encode(self) -> EncodedFile:
        """The file of these subscriptions, which is like no other.

        A merge knows its inputs by their names. Were a segment of equal content made anew while one
        is merged, the merge would take the two for one.
        """
        arrays: dict[str, NDArray[Any]] = {f"ids.{k}": v for k, v in self.ids.to_arrays().items()}
        arrays |= {f"index.{name}": array for name, array in self.index.to_arrays().items()}
        if self.subscription_rows is not None:
            arrays["subscription_rows"] = self.subscription_rows
        if self.revisions is not None:
            arrays["revisions"] = self.revisions
        if self.replica_bits is not None:
            arrays["replica_bits"] = self.replica_bits
        if self.forward_to is not None:
            arrays |= {
                "forward_to.offsets": self.forward_to.offsets,
                "forward_to.values": self.forward_to.values,
            }
        space, unique = space_to_json(self.index.space), secrets.token_hex(8)
        return encode_arrays(arrays, {"kind": _KIND, "space": space, "unique": unique})

    def __len__(self) -> int:
        return len(self.ids)

    def keys_by_ordinal(self) -> Rows | None:
        """The keys of ids as an index can name them, if each subscription has one region.

        Made with the first call, and kept: 8 bytes a subscription.
        """
        if self.subscription_rows is None and not self._ordinal_keys_cache:
            self._ordinal_keys_cache.append(self.index.arrange_by_ordinal(self.ids.keys))
        return self._ordinal_keys_cache[0] if self._ordinal_keys_cache else None

    def to_subscription_rows(self, pairs: Pairs) -> AnyRows:
        """The subscription of each stored region: the same one several times, it may be."""
        return (
            pairs.stored_rows
            if self.subscription_rows is None
            else self.subscription_rows[pairs.stored_rows]
        )

    def count_regions(self, rows: AnyRows) -> Rows:
        """How many regions each of the given subscriptions has."""
        if self.subscription_rows is None:
            return np.ones(len(rows), np.int64)
        return np.searchsorted(self.subscription_rows, rows, "right") - np.searchsorted(
            self.subscription_rows, rows
        )

    def take_revisions(self, rows: AnyRows) -> Rows:
        """The revision of each of the given subscriptions."""
        return np.zeros(len(rows), np.int64) if self.revisions is None else self.revisions[rows]

    def take(self, rows: Rows) -> SubscriptionBatch:
        """The given subscriptions in the given order, exactly as they were given."""
        ids, revisions, copies = (
            self.ids.take(rows),
            self.take_revisions(rows),
            self._take_replica_mask(rows),
        )
        if self.subscription_rows is None:
            return SubscriptionBatch(
                ids, self._take_regions(rows), np.arange(len(rows)), revisions, copies
            )
        counts = self.count_regions(rows)
        of = np.repeat(np.arange(len(rows)), counts)
        first = np.searchsorted(self.subscription_rows, rows)
        places = np.arange(len(of)) - np.repeat(np.cumsum(counts) - counts, counts)
        return SubscriptionBatch(ids, self._take_regions(first[of] + places), of, revisions, copies)

    def _take_replica_mask(self, rows: Rows) -> Bools | None:
        if self.replica_bits is None:
            return None
        copies: Bools = (self.replica_bits[rows >> 3] >> (rows & 7).astype(np.uint8)) & 1 > 0
        return copies

    def _take_regions(self, rows: Rows) -> Regions:
        return (
            self.index.reconstruct_regions(rows)
            if self.original_regions is None
            else self.original_regions.take(rows)
        )


def _drop_unused_derived(regions: Regions) -> Regions:
    """Regions in a space without the derived attributes that none of them constrains."""
    space = regions.space
    derived = tuple(a for a in space.derived if a.name in regions.constraints)
    return replace(regions, space=replace(space, derived=derived))


def _arrays_with_prefix(prefix: str, file: MappedArrays) -> dict[str, NDArray[Any]]:
    return {k.removeprefix(prefix): v for k, v in file.arrays.items() if k.startswith(prefix)}
