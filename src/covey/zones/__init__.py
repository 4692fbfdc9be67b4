"""Zones: a partition of the event space, so that events of a zone are matched with few regions.

A zone tree splits the space by keys, by null or by the direction of vectors. Every event is in one
zone. A subscription is in each zone that one of its regions meets; if it meets too many zones, it
is in `EVERYWHERE` instead. Trees are built from samples, and divide work and regions about evenly
among the zones. The package works on arrays and uses neither Spark nor a store.

Modules, in the order in which data passes through them:

- `splits`: the `Split` protocol; splits by a key or by null.
- `direction_split`: splits of vectors by their projection on a direction, or their angle with it.
- `zone_tree`: `ZoneTree`, a tree of splits, which finds the zones of events and of regions.
- `split_candidates`: possible splits of a zone, with the work and the regions on both sides.
- `build_tree`: `ZoneSample`, and `build_zone_tree`, which splits the zone with the largest load
  repeatedly.
- `zone_map`: `ZoneMap`, a tree with the work of each zone, which finds the zones of subscriptions
  and is saved in a store.
- `rebalance`: `rebalance_zones`, which splits zones with too much work and joins zones with little
  work.
- `zone_regions`: each zone as a region, for display.

A zone with much work that cannot be split gets several partitions (`partitions_per_zone`). Each
partition has all subscriptions of the zone and a part of its events.
"""

from covey.zones.build_tree import ZoneSample, build_zone_tree
from covey.zones.rebalance import RebalanceResult, rebalance_zones
from covey.zones.zone_map import EVERYWHERE, ZoneMap, ZoneMembers
from covey.zones.zone_tree import ZoneTree

__all__ = [
    "EVERYWHERE",
    "RebalanceResult",
    "ZoneMap",
    "ZoneMembers",
    "ZoneSample",
    "ZoneTree",
    "build_zone_tree",
    "rebalance_zones",
]
