"""Regions that ended: no value of an attribute is in them from some key on.

Where the attribute only grows, as time does, they match nothing that is still to come. A region
that admits null does not end, and neither does one that leaves the attribute free.
"""

from __future__ import annotations

from collections.abc import Mapping

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
"""By attribute the first key that still counts."""


def expiry_domain(space: Space, attribute: str) -> Domain:
    """The keys of an attribute that can have a horizon; any other is a `SchemaError`."""
    type_ = space[attribute].type
    keys = None if type_.is_vector or type_.is_tags else key_domain(type_)
    if keys is None or keys.dtype != np.int64:
        raise SchemaError(f"{attribute!r} is {type_}, whose values are no numbers of 64 bits")
    return keys


def region_expired_before(space: Space, attribute: str, before_key: int) -> Regions:
    """The one region that covers all that ended; none where nothing can have ended."""
    keys = expiry_domain(space, attribute)
    if before_key <= keys.low:
        return Regions(space, 0, {})
    upper = np.array([min(before_key - 1, keys.high)], np.int64)
    batch = Scalars.from_intervals(keys, np.array([keys.low], np.int64), upper)
    return Regions(space, 1, {attribute: Constraints(np.zeros(1, np.int64), batch)})


def drop_expired(batch: SubscriptionBatch, horizons: Horizons) -> SubscriptionBatch:
    """Subscriptions without the regions that ended, and without those that had no other.

    A subscription that had no region stays. Cost: one comparison a region and horizon; a copy of
    what stays if something goes.
    """
    has_ended = np.zeros(len(batch.regions), np.bool_)
    for name, before in horizons.items():
        given = batch.regions.constraints.get(name)
        if given is not None:
            assert isinstance(given.batch, Scalars)
            has_ended[given.rows] |= (given.batch.upper < before) & ~given.batch.nulls
    if not has_ended.any():
        return batch
    kept = np.flatnonzero(~has_ended)
    goes = np.zeros(len(batch.ids), np.bool_)
    goes[batch.subscription_rows] = True
    goes[batch.subscription_rows[kept]] = False
    number, stays = np.cumsum(~goes) - 1, np.flatnonzero(~goes)
    return SubscriptionBatch(
        batch.ids.take(stays),
        batch.regions.take(kept),
        number[batch.subscription_rows[kept]],
        batch.revisions[stays],
    )
