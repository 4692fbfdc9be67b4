"""Whether zones have equal work where events and subscriptions are skewed.

Boxes and events are Zipf in each of four dimensions (`ZipfBoxes`, exponent 1, boxes of 4 of 256
cells): 1M boxes, 64 zones, cut from 20,000 of each; then 400,000 other events are matched in their
zones. Work is one for an event, and one more for every sixteen matches, as zones are cut by; beside
it the seconds that the same took. Each owner of a zone has its share of the zone's
events. Uniform splits halve the space along its longest side until there are as many zones.
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
    "zone_imbalance": "the busiest owner of a zone against the mean, Zipf boxes and events",
    "zone_imbalance_seconds": "the same by the seconds that matching took",
    "zone_imbalance_no_owners": "the same if every zone has one owner",
    "zone_imbalance_uniform": "the same with zones of equal size",
    "zone_owners": "owners of 64 zones",
    "zone_memory_imbalance": "boxes of the largest zone against the mean",
}
_LOAD = ZipfBoxes(dimensions=4, cells_per_side=4, event_exponent=1.0)


def run(sizes: Sizes, only: frozenset[str]) -> dict[str, Value]:
    """Zones are built one after another."""
    regions = _LOAD.generate_regions(0, sizes.skewed)
    zoning = cut(_LOAD, sizes.skewed, sizes.skewed_zones, sizes.sampled)
    events = events_of(_LOAD, sizes.sampled, sizes.sampled + sizes.skewed_events)
    some = _LOAD.generate_regions(0, min(sizes.skewed, sizes.sampled))
    work = ZoneSample.from_events(events, some, represented_count=sizes.skewed).event_work
    owners, owned = zoning.tree.find_event_zones(events), zoning.partitions_per_zone
    spread = Spread.of(regions, zoning)
    seconds = np.zeros(len(zoning))
    for zone, segments in spread.segments(len(zoning)):
        progress(zone, len(zoning), "zones")
        mine = np.flatnonzero(owners == zone)
        if len(mine):
            seconds[zone] = timed(segments, events.take(mine))
    progress(len(zoning), len(zoning), "zones")
    by_work = np.bincount(owners, work, minlength=len(zoning))
    uniform = _uniform(sizes.skewed_zones).find_event_zones(events)
    held = np.array([len(spread.rows.get(zone, ())) for zone in range(len(zoning))])
    return {
        "zone_imbalance": _imbalance(by_work, owned),
        "zone_imbalance_seconds": _imbalance(seconds, owned),
        "zone_imbalance_no_owners": _imbalance(by_work, np.ones_like(owned)),
        "zone_imbalance_uniform": _imbalance(
            np.bincount(uniform, work, minlength=sizes.skewed_zones),
            np.ones(sizes.skewed_zones, np.int64),
        ),
        "zone_owners": int(owned.sum()),
        "zone_memory_imbalance": round(float(held.max() / held.mean()), 3),
    }


def _imbalance(work: NDArray[Any], owners: NDArray[np.int64]) -> float:
    """The most work of an owner against the mean of all."""
    return round(float((work / owners).max() * owners.sum() / work.sum()), 3)


def _uniform(zones: int) -> ZoneTree:
    """The grid of cells halved along its longest side, the largest part first."""
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
