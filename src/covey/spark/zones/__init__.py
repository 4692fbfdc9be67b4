"""Zones on Spark: a task matches the events of one zone with the subscriptions of this zone.

`covey.zones` computes zones from samples. This package reads the samples, builds one segment for
each zone in workers, and shuffles events to the partitions of their zones. With replication "pure"
a subscription is stored in every zone that it meets. With "smart" a covered subscription is stored
in its home zone only, and events are forwarded there by a second shuffle.

Modules, in the order in which data passes through them:

    loader       `ZoneLoader`: choose the number of zones, profile staged segments, build a zone map
    builder      place staged subscriptions in zones, build and commit the segments of zones
    partitioner  `ZonePartitioner`: Spark expressions for the zone and the partition of an event
    smart_tasks  `ZoneMatchTask` and `HomeMatchTask`: match events in their zone, then in others
    rebalance    split and join zones so that they have about equal work again

Cost: `transform` shuffles events once, or twice with "smart". Each task that builds a zone opens
every staged segment that has rows for this zone.
"""

from typing import TYPE_CHECKING

from covey._lazy import lazy_exports

if TYPE_CHECKING:
    from covey.spark.zones.builder import build_zone_segments
    from covey.spark.zones.loader import ZONE_SAMPLE_SIZE, make_zone_map, profile_staged
    from covey.spark.zones.partitioner import ZonePartitioner

__all__ = [
    "ZONE_SAMPLE_SIZE",
    "ZonePartitioner",
    "build_zone_segments",
    "make_zone_map",
    "profile_staged",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "ZONE_SAMPLE_SIZE": "loader",
        "ZonePartitioner": "partitioner",
        "build_zone_segments": "builder",
        "make_zone_map": "loader",
        "profile_staged": "loader",
    },
)
