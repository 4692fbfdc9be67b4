"""Rebuild of a zone that a rebalance changed: collect its subscriptions from the old zones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.store.ids import Ids
from covey.store.segments.live_segment import LiveSegment
from covey.store.segments.segment import SubscriptionBatch
from covey.zones import RebalanceResult

__all__ = ["collect_zone_subscriptions"]

Bools = NDArray[np.bool_]
Rows = NDArray[np.int64]


def collect_zone_subscriptions(
    rebalance_plan: RebalanceResult, zone: int, segments: list[LiveSegment]
) -> SubscriptionBatch | None:
    """Return the subscriptions of a zone that a rebalance changed; None if there are none.

    If several new zones have the same source zone, the first of these zones that a subscription
    meets becomes its home zone; the subscription is a replica in the other ones. A subscription
    that was a replica in all source zones stays a replica.

    Args:
        rebalance_plan: the new zone map, and for each new zone its source zones: the old zones from
            which it is made.
        zone: number of the zone in the new zone map.
        segments: the segments of the source zones.
    """
    batch = _drop_duplicates([segment.take_live() for segment in segments if segment.live_count])
    if batch is None:
        return None
    region_zones = rebalance_plan.zone_map.tree.find_region_zones(batch.regions)
    is_in_zone = np.zeros((len(batch.ids), len(rebalance_plan.source_zones)), np.bool_)
    is_in_zone[batch.subscription_rows[region_zones.query_rows], region_zones.stored_rows] = True
    has_no_region = np.bincount(batch.subscription_rows, minlength=len(batch.ids)) == 0
    sibling_zones = [
        z
        for z, sources in enumerate(rebalance_plan.source_zones)
        if set(sources) & set(rebalance_plan.source_zones[zone])
    ]
    # A subscription without a region is put in the first of these zones.
    is_in_zone[has_no_region, sibling_zones[0]] = True
    home_zones = np.array(sibling_zones)[is_in_zone[:, sibling_zones].argmax(axis=1)]
    rows = np.flatnonzero(is_in_zone[:, zone])
    if not len(rows):
        return None
    return batch.take(rows).with_replicas(home_zones[rows] != zone)


def _drop_duplicates(batches: list[SubscriptionBatch]) -> SubscriptionBatch | None:
    """Return each subscription of the batches once; None if there are no batches.

    A subscription of several batches is a replica only if it is a replica in each of them.
    """
    if not batches:
        return None
    batch = SubscriptionBatch.concat(batches)
    order = np.lexsort((batch.is_replica, _number_ids(batch.ids)))
    numbers = _number_ids(batch.ids)[order]
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = numbers[1:] != numbers[:-1]
    return batch.take(np.sort(order[is_first]))


def _number_ids(ids: Ids) -> Rows:
    """Return a number for each id; equal ids have the same number."""
    if ids.texts is None:
        return ids.keys
    return np.asarray(ids.texts.dictionary_encode().indices, np.int64)
