"""Expiry: regions that end before a horizon, which is a key of a scalar attribute.

A region ends before a key if it contains no event with this key or a later one. If the attribute
only grows, as time does, such a region matches no future event. A region that admits null, or that
leaves the attribute free, does not end.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from covey.errors import SchemaError
from covey.geometry import Regions
from covey.geometry.regions import Constraints
from covey.geometry.scalars import Scalars
from covey.space import Space
from covey.space.keys import Domain, key_domain
from covey.store.segments.segment import SubscriptionBatch

__all__ = ["Horizons", "drop_expired", "expiry_domain", "region_expired_before"]

Horizons = Mapping[str, int]
"""For each attribute name the horizon: regions that end before this key have expired."""


@lru_cache(maxsize=64)
def expiry_domain(space: Space, attribute: str) -> Domain:
    """Return the key domain of an attribute; raise SchemaError if its keys are not int64."""
    type_ = space[attribute].type
    domain = None if type_.is_vector or type_.is_tags else key_domain(type_)
    if domain is None or domain.dtype != np.int64:
        raise SchemaError(
            f"attribute {attribute!r} has type {type_}, whose keys are not integers of 64 bits: "
            "regions can expire by an integer, a float, a decimal of at most 18 digits, a date or "
            "a timestamp"
        )
    return domain


def region_expired_before(space: Space, attribute: str, before_key: int) -> Regions:
    """Return a batch of one region, which covers exactly the regions that end before a key.

    The batch is empty if no region can end before the key.
    """
    domain = expiry_domain(space, attribute)
    if before_key <= domain.low:
        return Regions(space, 0, {})
    upper = np.array([min(before_key - 1, domain.high)], np.int64)
    interval = Scalars.from_intervals(domain, np.array([domain.low], np.int64), upper)
    return Regions(space, 1, {attribute: Constraints(np.zeros(1, np.int64), interval)})


def drop_expired(batch: SubscriptionBatch, horizons: Horizons) -> SubscriptionBatch:
    """Return the batch without expired regions, and without subscriptions that have only these.

    A subscription that has no region in `batch` stays.

    Cost: one comparison per region and horizon, and a copy of the remaining regions if any region
    is dropped.
    """
    has_ended = np.zeros(len(batch.regions), np.bool_)
    for name, before_key in horizons.items():
        constraints = batch.regions.constraints.get(name)
        if constraints is not None:
            assert isinstance(constraints.batch, Scalars)
            has_ended[constraints.rows] |= (
                constraints.batch.upper < before_key
            ) & ~constraints.batch.nulls
    if not has_ended.any():
        return batch
    live_regions = np.flatnonzero(~has_ended)
    is_dropped = np.zeros(len(batch.ids), np.bool_)
    is_dropped[batch.subscription_rows] = True
    is_dropped[batch.subscription_rows[live_regions]] = False
    new_rows, remaining_rows = np.cumsum(~is_dropped) - 1, np.flatnonzero(~is_dropped)
    return SubscriptionBatch(
        batch.ids.take(remaining_rows),
        batch.regions.take(live_regions),
        new_rows[batch.subscription_rows[live_regions]],
        batch.revisions[remaining_rows],
    )
