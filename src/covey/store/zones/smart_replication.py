"""SMART replication: a covered subscription is stored only in its home zone (papers: can).

The home zone is the first zone that a subscription meets. In each other zone that a covered
subscription meets, there is a subscription that covers it. An event of such a zone that matches the
covered subscription therefore matches the covering subscription, which forwards the event to the
home zone. So a zone has up to two segments. One contains local subscriptions, some of which forward
events. The other contains covered subscriptions that meet several zones and have this home zone; it
is also matched with events that other zones forward.

All zones determine the same covered subscriptions without communication, because a region meets
every zone that is met by a region that it covers. For balls this does not hold, because it is not
computed exactly on which sides of a split a ball lies. So subscriptions with a ball or with several
regions are stored in every zone that they meet.
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
    """Division of the subscriptions of a zone.

    `local` contains the subscriptions that are matched only with events of this zone. `forward_to`
    contains, for each of these, the zones to which matching events are forwarded. `home_only`
    contains covered subscriptions that meet several zones and have this home zone; they are matched
    with forwarded events as well.
    """

    local: SubscriptionBatch
    forward_to: RaggedArray
    home_only: SubscriptionBatch

    @classmethod
    def from_members(cls, batch: SubscriptionBatch, members: ZoneMembers) -> SmartPlacement:
        """Divide the subscriptions that meet a zone; row i of `batch` is row i of `members`.

        Of equal subscriptions, the first covers all later ones, so their order must be the same in
        all zones.
        """
        coverers = _find_coverers(batch)
        is_covered = coverers != np.arange(len(coverers))
        is_dropped = is_covered & members.is_copy
        is_home = is_covered & members.is_replicated & ~members.is_copy
        local_rows = np.flatnonzero(~is_dropped & ~is_home)
        new_rows = np.full(len(coverers), -1, np.int64)
        new_rows[local_rows] = np.arange(len(local_rows))
        # A coverer is not covered itself, so it is among the local subscriptions.
        forward_pairs = Pairs.from_unsorted(
            new_rows[coverers[is_dropped]], members.first_zones[is_dropped]
        ).drop_duplicates()
        lengths = np.bincount(forward_pairs.query_rows, minlength=len(local_rows))
        forward_to = RaggedArray.from_lengths(lengths, forward_pairs.stored_rows.astype(np.int32))
        return cls(batch.take(local_rows), forward_to, batch.take(np.flatnonzero(is_home)))


def stage_zone(
    store: Store, batch: SubscriptionBatch, members: ZoneMembers, *, is_smart: bool
) -> list[StagedSegment]:
    """Write the segments of one zone, and return them as staged segments.

    Args:
        store: the store in which the segments are staged.
        batch: the subscriptions that meet the zone.
        members: the number of the zone; for each of these subscriptions its home zone, and whether
            it is in several zones.
        is_smart: whether covered subscriptions are stored only in their home zone.
    """
    batch = batch.with_replicas(members.is_copy)
    if not is_smart or members.zone == EVERYWHERE:
        return [store.stage_zone_segment(members.zone, batch)]
    placement = SmartPlacement.from_members(batch, members)
    forward_to = placement.forward_to if len(placement.forward_to.values) else None
    staged = []
    if len(placement.local.ids):
        staged.append(
            store.stage_zone_segment(members.zone, placement.local, forward_to=forward_to)
        )
    if len(placement.home_only.ids):
        staged.append(store.stage_zone_segment(members.zone, placement.home_only, is_home=True))
    return staged


def _find_coverers(batch: SubscriptionBatch) -> Rows:
    """Return for each subscription the row of another subscription that covers it, or its own row.

    The covering subscription is not covered itself. Subscriptions with several regions or a ball
    are not compared, so they get their own row.
    """
    coverers, region_counts = (
        np.arange(len(batch.ids)),
        np.bincount(batch.subscription_rows, minlength=len(batch.ids)),
    )
    region_rows = np.flatnonzero(
        (region_counts[batch.subscription_rows] == 1) & ~_has_ball(batch.regions)
    )
    region_rows = region_rows[np.argsort(batch.subscription_rows[region_rows], kind="stable")]
    regions, subscription_rows = (
        batch.regions.take(region_rows),
        batch.subscription_rows[region_rows],
    )
    if len(subscription_rows):
        equal = find_equal_rows(RegionBoxes.from_regions(regions))
        coverers[subscription_rows] = subscription_rows[
            CoverForest.build(regions, equal, LocalExecutor().find_covering_rows).root_rows
        ]
    return coverers


def _has_ball(regions: Regions) -> Bools:
    """Return whether each region constrains an attribute by balls."""
    has_ball = np.zeros(len(regions), np.bool_)
    for constraints in regions.constraints.values():
        if isinstance(constraints.batch, Balls):
            has_ball[constraints.rows] = True
    return has_ball
