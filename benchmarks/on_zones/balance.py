"""Balance of the work of zones, for skewed events and subscriptions.

Boxes and events are Zipf distributed in each of four dimensions (`ZipfBoxes`, exponent 1, boxes of
4 of 256 cells). There are 1M boxes and 64 zones, which are built from 20,000 boxes and as many
events. Then 400,000 other events are matched in their zones. The work of an event is 1 plus one for
every sixteen matches, as for the split of zones; the seconds of the same matches are measured too.
The events of a zone are divided equally among its partitions. Uniform splits halve the space along
its longest side until there are as many zones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Value, progress
from benchmarks.on_zones.here import Spread, cut, events_of, timed
from benchmarks.on_zones.sizes import Sizes
from covey.space.types import INT
from covey.workload import ZipfBoxes
from covey.zones import ZoneSample, ZoneTree
from covey.zones.splits import KeySplit

__all__ = ["KEYS", "run"]

KEYS = {
    "zone_imbalance": "work of the busiest partition over the mean, Zipf boxes and events",
    "zone_imbalance_seconds": "seconds of the busiest partition over the mean",
    "zone_imbalance_no_owners": "work of the busiest zone over the mean, one partition per zone",
    "zone_imbalance_uniform": "work of the busiest zone over the mean, zones of equal size",
    "zone_owners": "partitions of all 64 zones",
    "zone_memory_imbalance": "boxes of the largest zone over the mean",
}
_LOAD = ZipfBoxes(dimensions=4, cells_per_side=4, event_exponent=1.0)


def run(sizes: Sizes, only: frozenset[str]) -> dict[str, Value]:
    """Return the results, with the zones measured one after another."""
    regions = _LOAD.generate_regions(0, sizes.skewed)
    zone_map = cut(_LOAD, sizes.skewed, sizes.skewed_zones, sizes.sampled)
    events = events_of(_LOAD, sizes.sampled, sizes.sampled + sizes.skewed_events)
    sampled_regions = _LOAD.generate_regions(0, min(sizes.skewed, sizes.sampled))
    work = ZoneSample.from_events(
        events, sampled_regions, represented_count=sizes.skewed
    ).event_work
    event_zones, partitions = zone_map.tree.find_event_zones(events), zone_map.partitions_per_zone
    spread = Spread.of(regions, zone_map)
    seconds = np.zeros(len(zone_map))
    for zone, segments in spread.segments(len(zone_map)):
        progress(zone, len(zone_map), "zones")
        event_rows = np.flatnonzero(event_zones == zone)
        if len(event_rows):
            seconds[zone] = timed(segments, events.take(event_rows))
    progress(len(zone_map), len(zone_map), "zones")
    zone_work = np.bincount(event_zones, work, minlength=len(zone_map))
    uniform = _uniform(sizes.skewed_zones).find_event_zones(events)
    region_counts = np.array([len(spread.rows.get(zone, ())) for zone in range(len(zone_map))])
    return {
        "zone_imbalance": _imbalance(zone_work, partitions),
        "zone_imbalance_seconds": _imbalance(seconds, partitions),
        "zone_imbalance_no_owners": _imbalance(zone_work, np.ones_like(partitions)),
        "zone_imbalance_uniform": _imbalance(
            np.bincount(uniform, work, minlength=sizes.skewed_zones),
            np.ones(sizes.skewed_zones, np.int64),
        ),
        "zone_owners": int(partitions.sum()),
        "zone_memory_imbalance": round(float(region_counts.max() / region_counts.mean()), 3),
    }


def _imbalance(work: NDArray[Any], owners: NDArray[np.int64]) -> float:
    """Return the largest work of a partition over the mean; `owners` is the number per zone."""
    return round(float((work / owners).max() * owners.sum() / work.sum()), 3)


def _uniform(zones: int) -> ZoneTree:
    """Return a zone tree of equal zones: the largest one is halved along its longest side."""
    tree = ZoneTree()
    boxes = {0: [(0, _LOAD.cells_per_dimension)] * _LOAD.dimensions}
    while len(tree) < zones:
        zone = max(boxes, key=lambda z: np.prod([high - low for low, high in boxes[z]]))
        box = boxes[zone]
        axis = max(range(_LOAD.dimensions), key=lambda k: box[k][1] - box[k][0])
        middle = sum(box[axis]) // 2
        boxes[len(tree)] = [(middle, e[1]) if k == axis else e for k, e in enumerate(box)]
        boxes[zone] = [(e[0], middle) if k == axis else e for k, e in enumerate(box)]
        tree = tree.with_split(zone, KeySplit(f"x{axis + 1}", INT, middle))
    return tree
