"""The subscriptions of a segment: ids, the index of regions, and the subscription of each region.

Subscription rows are in the order of the keys of ids; region rows are in the order of
subscriptions. A subscription has any number of regions; one that can never match has none.
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
from covey.geometry.tags import Tags
from covey.index import Pairs, SegmentIndex
from covey.language.late_conditions import LateCondition
from covey.space.ragged_array import RaggedArray
from covey.space.space import LATE
from covey.store.ids import Ids
from covey.store.manifest.space_json import combine_spaces, space_from_json, space_to_json
from covey.store.storage.array_file import EncodedFile, MappedArrays, encode_arrays

__all__ = ["IndexedSubscriptions", "SubscriptionBatch"]

Rows = NDArray[np.int64]
Bools = NDArray[np.bool_]
AnyRows = NDArray[np.integer[Any]]  # row numbers in pairs; their dtype is chosen by the index

_KIND = "segment"


@dataclass(frozen=True, slots=True)
class SubscriptionBatch:
    """Batch of subscriptions that are not indexed yet.

    Region r belongs to the subscription in row `subscription_rows[r]` of `ids`; these rows are in
    any order. `revisions` contains the revision of each subscription, which is stored and not
    interpreted. `replica_mask` is true for replicas, which are subscriptions whose home zone is
    another zone; it is None if there are none.
    """

    ids: Ids
    regions: Regions
    subscription_rows: Rows
    revisions: Rows
    replica_mask: Bools | None = None

    @classmethod
    def concat(cls, batches: Sequence[SubscriptionBatch]) -> SubscriptionBatch:
        """Return the subscriptions of all batches, one batch after another."""
        starts = np.cumsum([0, *(len(batch.ids) for batch in batches)])
        space = combine_spaces(batches[0].regions.space, (batch.regions.space for batch in batches))
        return cls(
            Ids.concat([batch.ids for batch in batches]),
            Regions.concat([Regions(space, 0, {}), *(batch.regions for batch in batches)]),
            np.concatenate(
                [
                    batch.subscription_rows + start
                    for batch, start in zip(batches, starts, strict=False)
                ]
            ),
            np.concatenate([batch.revisions for batch in batches]),
            np.concatenate([batch.is_replica for batch in batches])
            if any(batch.replica_mask is not None for batch in batches)
            else None,
        )

    @property
    def is_replica(self) -> Bools:
        """For each subscription whether it is a replica."""
        return np.zeros(len(self.ids), np.bool_) if self.replica_mask is None else self.replica_mask

    def with_replicas(self, replica_mask: Bools) -> SubscriptionBatch:
        """Return the batch with more replicas: the subscriptions at which the mask is true."""
        return replace(self, replica_mask=self.is_replica | replica_mask)

    def take(self, rows: Rows) -> SubscriptionBatch:
        """Return the subscriptions at `rows` in that order; each row must occur at most once."""
        new_rows = np.full(len(self.ids), -1, np.int64)
        new_rows[rows] = np.arange(len(rows))
        region_rows = np.flatnonzero(new_rows[self.subscription_rows] >= 0)
        return SubscriptionBatch(
            self.ids.take(rows),
            self.regions.take(region_rows),
            new_rows[self.subscription_rows[region_rows]],
            self.revisions[rows],
            None if self.replica_mask is None else self.replica_mask[rows],
        )


@dataclass(frozen=True, slots=True, weakref_slot=True)
class IndexedSubscriptions:
    """Indexed subscriptions: the content of a segment file.

    Args:
        ids: the ids, in the order of their keys.
        index: the index of the regions.
        subscription_rows: for each region the row of its subscription, ascending; None if each
            subscription i has exactly one region, which is region i.
        revisions: the revision of each subscription; None if all are 0. In that case the file does
            not contain them.
        replica_bits: one bit per subscription, set for replicas; None if there are none.
        forward_to: for each subscription the zones to which matching events are forwarded; None if
            no event is forwarded.
        original_regions: the regions from which the index was built; None if the segment was
            opened from a file. The index can reconstruct the same regions, but more slowly.

    Cost: building costs `SegmentIndex.build` and a sort of the ids.
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
        """Build the index of a batch, in which each id occurs once.

        Row i of `forward_to` contains the zones to which events that match subscription i are
        forwarded.
        """
        order = batch.ids.argsort_by_key()
        new_rows = np.empty_like(order)
        new_rows[order] = np.arange(len(order))
        new_subscription_rows = new_rows[batch.subscription_rows]
        region_order = np.argsort(new_subscription_rows, kind="stable")
        subscription_rows = new_subscription_rows[region_order]
        is_one_each = len(subscription_rows) == len(order) and bool(
            (subscription_rows == np.arange(len(order))).all()
        )
        regions = _drop_unused_derived(batch.regions.take(region_order))
        ids, index = batch.ids.take(order), SegmentIndex.build(regions)
        revisions = batch.revisions[order] if batch.revisions.any() else None
        replica_bits = None
        if batch.replica_mask is not None and batch.replica_mask.any():
            replica_bits = np.packbits(batch.replica_mask[order], bitorder="little")
        forward_to = None if forward_to is None else forward_to.take(order)
        stored_subscription_rows = None if is_one_each else subscription_rows
        return cls(
            ids, index, stored_subscription_rows, revisions, replica_bits, forward_to, regions
        )

    @classmethod
    def from_file(cls, file: MappedArrays) -> IndexedSubscriptions:
        """Return the subscriptions in a file, whose arrays are not copied.

        Raises:
            StoreError: if the file does not contain a segment, or it cannot be read.
        """
        if file.meta.get("kind") != _KIND:
            raise StoreError(
                f"file {file.sha256} contains {file.meta.get('kind')}, not a segment: create the "
                "store again"
            )
        space = space_from_json(file.meta["space"], f"segment {file.sha256}")
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
            raise StoreError(
                f"segment {file.sha256} cannot be read ({error!r}): create the store again"
            ) from None

    def encode(self) -> EncodedFile:
        """Return the segment as a file that differs from every other file.

        The file contains a random number, so that even two segments with the same content get
        different files. A merge identifies its inputs by file name; with equal names, it could not
        distinguish an input from a later segment.
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
        return len(self.ids.keys)

    def keys_by_ordinal(self) -> Rows | None:
        """Return the keys of ids in the order of ordinals, or None.

        The result is None unless each subscription i has exactly one region, which is region i. The
        array is computed by the first call and cached; it has 8 bytes per subscription.
        """
        if self.subscription_rows is None and not self._ordinal_keys_cache:
            self._ordinal_keys_cache.append(self.index.arrange_by_ordinal(self.ids.keys))
        return self._ordinal_keys_cache[0] if self._ordinal_keys_cache else None

    @property
    def has_several_conditions(self) -> bool:
        """Whether a subscription has several late conditions, in one region or in several."""
        rows, counts = self.index.count_late_conditions()
        subscription_rows = self.to_subscription_rows(Pairs(rows, rows))
        return bool((np.bincount(subscription_rows, counts) > 1).any())

    def to_subscription_rows(self, pairs: Pairs) -> AnyRows:
        """Return for each pair the row of the subscription to which its stored region belongs."""
        return (
            pairs.stored_rows
            if self.subscription_rows is None
            else self.subscription_rows[pairs.stored_rows]
        )

    def count_regions(self, rows: AnyRows) -> Rows:
        """Return the number of regions of the subscription at each row."""
        if self.subscription_rows is None:
            return np.ones(len(rows), np.int64)
        return np.searchsorted(self.subscription_rows, rows, "right") - np.searchsorted(
            self.subscription_rows, rows
        )

    def take_revisions(self, rows: AnyRows) -> Rows:
        """Return the revision of the subscription at each row."""
        return np.zeros(len(rows), np.int64) if self.revisions is None else self.revisions[rows]

    def take(self, rows: Rows) -> SubscriptionBatch:
        """Return the subscriptions at `rows` in that order, with exactly their original regions."""
        ids, revisions, replica_mask = (
            self.ids.take(rows),
            self.take_revisions(rows),
            self._take_replica_mask(rows),
        )
        if self.subscription_rows is None:
            return SubscriptionBatch(
                ids, self._take_regions(rows), np.arange(len(rows)), revisions, replica_mask
            )
        counts = self.count_regions(rows)
        subscription_rows = np.repeat(np.arange(len(rows)), counts)
        first_regions = np.searchsorted(self.subscription_rows, rows)
        region_offsets = np.arange(len(subscription_rows)) - np.repeat(
            np.cumsum(counts) - counts, counts
        )
        return SubscriptionBatch(
            ids,
            self._take_regions(first_regions[subscription_rows] + region_offsets),
            subscription_rows,
            revisions,
            replica_mask,
        )

    def _take_replica_mask(self, rows: Rows) -> Bools | None:
        """Return for each row whether it is a replica; None if the segment has no replicas."""
        if self.replica_bits is None:
            return None
        replica_mask: Bools = (self.replica_bits[rows >> 3] >> (rows & 7).astype(np.uint8)) & 1 > 0
        return replica_mask

    def _take_regions(self, rows: Rows) -> Regions:
        """Return the regions at `rows`, which are region rows."""
        return (
            self.index.reconstruct_regions(rows)
            if self.original_regions is None
            else self.original_regions.take(rows)
        )


def _drop_unused_derived(regions: Regions) -> Regions:
    """Remove derived attributes and templates that no region needs from the space of regions."""
    space, templates = regions.space, set[str]()
    if LATE in regions.constraints:
        rules = regions.constraints[LATE].batch
        assert isinstance(rules, Tags)
        tokens = set(rules.tokens.values.tolist())
        templates = {LateCondition.from_token(token).template for token in tokens}
    derived = tuple(
        attribute
        for attribute in space.derived
        if attribute.name in (templates if attribute.is_late else regions.constraints)
    )
    return replace(regions, space=replace(space, derived=derived))


def _arrays_with_prefix(prefix: str, file: MappedArrays) -> dict[str, NDArray[Any]]:
    """Return the arrays whose names start with a prefix; the keys are names without it."""
    return {k.removeprefix(prefix): v for k, v in file.arrays.items() if k.startswith(prefix)}
