"""Segments of zones: which subscriptions a zone stores, and to which zones it forwards events.

The space of events can be divided into zones (`covey.zones`), so that a worker opens only the
segments of the zone that it matches. A subscription is stored in every zone that it meets. The
first of these zones is its home zone; in the other zones it is a replica, so that it is counted and
found only once.

Modules, in the order in which subscriptions pass through them:

- `placement`: split a batch by zone; the file of the zone map.
- `smart_replication`: a covered subscription is stored only in its home zone, and the subscription
  that covers it forwards events there.
- `rebuild`: the subscriptions of a zone that changed in a rebalance.

The writer imports `placement`, and `smart_replication` imports the store. To avoid an import cycle,
the exports of this package are imported on first use.
"""

from typing import TYPE_CHECKING

from covey._lazy import lazy_exports

if TYPE_CHECKING:
    from covey.store.zones.rebuild import collect_zone_subscriptions
    from covey.store.zones.smart_replication import stage_zone

__all__ = [
    "collect_zone_subscriptions",
    "stage_zone",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "collect_zone_subscriptions": "rebuild",
        "stage_zone": "smart_replication",
    },
)
