"""SMART: of subscriptions that another one covers a zone keeps no copies.

One that is covered is at its home only, the first zone that it meets. An event of another zone that
it contains is in a region there that covers it: with that stands which homes the event goes on to.
So a zone has three kinds: what it keeps, of which some sends events on, and what is at home here,
which events of other zones are matched with too. (papers: can)

All zones find the same ones covered without asking each other: whatever covers a region meets every
zone that it meets. That holds for one region without a ball, for the sides of balls are not exact;
subscriptions of several regions, and with balls, are kept everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.covering.cover_pointers import CoverForest, find_equal_rows
from covey.covering.executor import LocalExecutor
from covey.covering.region_boxes import RegionBoxes
from covey.geometry import Regions
from covey.geometry.balls import Balls
from covey.index import Pairs
from covey.space.ragged_array import RaggedArray
from covey.store.segments.segment import SubscriptionBatch
from covey.store.store import StagedSegment, Store
from covey.zones import EVERYWHERE, ZoneMembers

__all__ = ["SmartPlacement", "stage_zone"]

Bools = NDArray[np.bool_]
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SmartPlacement:
    """What a zone keeps, to which zones the events of each go on, and what is at home here."""

    local: SubscriptionBatch
    forward_to: RaggedArray
    home_only: SubscriptionBatch

    @classmethod
    def from_members(cls, batch: SubscriptionBatch, members: ZoneMembers) -> SmartPlacement:
        """From all that meets the zone: row i of `owned` is row i of `some`.

        Equal ones are told apart by their order, which must be that of all zones.
        """
        by = _find_coverers(batch)
        is_covered = by != np.arange(len(by))
        is_gone = is_covered & members.is_copy
        is_home = is_covered & members.is_replicated & ~members.is_copy
        kept = np.flatnonzero(~is_gone & ~is_home)
        number = np.full(len(by), -1, np.int64)
        number[kept] = np.arange(len(kept))
        # What nothing covers is kept: it is neither gone nor at home.
        sent = Pairs.from_unsorted(
            number[by[is_gone]], members.first_zones[is_gone]
        ).drop_duplicates()
        lengths = np.bincount(sent.query_rows, minlength=len(kept))
        onwards = RaggedArray.from_lengths(lengths, sent.stored_rows.astype(np.int32))
        return cls(batch.take(kept), onwards, batch.take(np.flatnonzero(is_home)))


def stage_zone(
    store: Store, batch: SubscriptionBatch, members: ZoneMembers, *, is_smart: bool
) -> list[StagedSegment]:
    """Writes the segments of one zone, of all that meets it: row i of both is the same."""
    batch = batch.with_replicas(members.is_copy)
    if not is_smart or members.zone == EVERYWHERE:
        return [store.stage_zone_segment(members.zone, batch)]
    homes = SmartPlacement.from_members(batch, members)
    onwards = homes.forward_to if len(homes.forward_to.values) else None
    written = []
    if len(homes.local.ids):
        written.append(store.stage_zone_segment(members.zone, homes.local, forward_to=onwards))
    if len(homes.home_only.ids):
        written.append(store.stage_zone_segment(members.zone, homes.home_only, is_home=True))
    return written


def _find_coverers(batch: SubscriptionBatch) -> Rows:
    """For each subscription one that covers it and that nothing covers: itself, if it is that."""
    by, counts = (
        np.arange(len(batch.ids)),
        np.bincount(batch.subscription_rows, minlength=len(batch.ids)),
    )
    chosen = np.flatnonzero((counts[batch.subscription_rows] == 1) & ~_has_ball(batch.regions))
    chosen = chosen[np.argsort(batch.subscription_rows[chosen], kind="stable")]
    regions, of = batch.regions.take(chosen), batch.subscription_rows[chosen]
    if len(of):
        equal = find_equal_rows(RegionBoxes.from_regions(regions))
        by[of] = of[CoverForest.build(regions, equal, LocalExecutor().find_covering_rows).root_rows]
    return by


def _has_ball(regions: Regions) -> Bools:
    has = np.zeros(len(regions), np.bool_)
    for given in regions.constraints.values():
        if isinstance(given.batch, Balls):
            has[given.rows] = True
    return has
