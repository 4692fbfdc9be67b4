"""Zones: a partition of the event space, so that events of a zone need few regions.

A zone tree splits the space by keys, by null or by the direction of vectors. Every event is in one
zone; a subscription is in each zone that one of its regions meets, or in `EVERYWHERE` instead if
it meets too many. Trees are built from samples so that no zone has much more work or many more
regions than the others. The package is pure arrays, without Spark and without a store.

Modules, in the order in which data passes through them:

- `splits`: the `Split` protocol; splits by a key or by null.
- `direction_split`: splits of vectors by their projection on a direction, or their angle with it.
- `zone_tree`: `ZoneTree`, splits whose leaves are zones: zones of events and of regions.
- `split_candidates`: possible splits of a zone, with the work and regions on both sides.
- `build_tree`: `ZoneSample` and `build_zone_tree`: the best splits of a sample, largest zone first.
- `zone_map`: `ZoneMap`, a tree with work per zone; subscriptions assigned to zones; serialization.
- `rebalance`: `rebalance_zones`, which splits zones with too much work and joins those with little.
- `zone_regions`: each zone as a region, to be shown to users.

A zone with much work that no split divides gets several partitions (`partitions_per_zone`); its
subscriptions are the same in each.
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
