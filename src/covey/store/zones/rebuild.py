"""A zone that is built anew from those before it that have all that it meets."""

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
    """The subscriptions of a zone that changed, from the parts of its sources; None if none.

    One that counted in a source counts in one of the zones that come of it: the first it meets.
    """
    owned = _drop_duplicates([part.take_live() for part in segments if part.live_count])
    if owned is None:
        return None
    met = rebalance_plan.zone_map.tree.find_region_zones(owned.regions)
    placed = np.zeros((len(owned.ids), len(rebalance_plan.source_zones)), np.bool_)
    placed[owned.subscription_rows[met.query_rows], met.stored_rows] = True
    without = np.bincount(owned.subscription_rows, minlength=len(owned.ids)) == 0
    of_it = [
        z
        for z, sources in enumerate(rebalance_plan.source_zones)
        if set(sources) & set(rebalance_plan.source_zones[zone])
    ]
    placed[without, of_it[0]] = True  # as long as it has no region, it is somewhere
    first = np.array(of_it)[placed[:, of_it].argmax(axis=1)]
    rows = np.flatnonzero(placed[:, zone])
    if not len(rows):
        return None
    return owned.take(rows).with_replicas(first[rows] != zone)


def _drop_duplicates(batches: list[SubscriptionBatch]) -> SubscriptionBatch | None:
    """All subscriptions of some parts, each once: a copy only if it is one in all of them."""
    if not batches:
        return None
    owned = SubscriptionBatch.concat(batches)
    order = np.lexsort((owned.is_replica, _number_ids(owned.ids)))
    numbers = _number_ids(owned.ids)[order]
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = numbers[1:] != numbers[:-1]
    return owned.take(np.sort(order[is_first]))


def _number_ids(ids: Ids) -> Rows:
    """A number for each id, the same for the same."""
    if ids.texts is None:
        return ids.keys
    return np.asarray(ids.texts.dictionary_encode().indices, np.int64)
