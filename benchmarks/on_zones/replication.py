"""Stored rows per subscription with PURE and SMART replication, on average.

There are 64 zones, built from 20,000 events and as many subscriptions. Boxes are uniform
(`UniformBoxes`: 2, 4 and 8 dimensions, 1M boxes) with uniform events, or `SkewedBoxes`, whose wide
boxes cover most others. Balls are `EmbeddingWatches` (384 dimensions, 100,000 balls). Subscriptions
that meet more than half of the zones are stored once, in the broadcast segment, if there are many
of them.
"""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Value, progress
from benchmarks.on_zones.here import cut
from benchmarks.on_zones.sizes import Sizes
from covey.geometry import Regions
from covey.store.ids import IdKind, Ids
from covey.store.segments.segment import SubscriptionBatch
from covey.store.zones.smart_replication import SmartPlacement
from covey.workload import EmbeddingWatches, SkewedBoxes, UniformBoxes, Workload
from covey.zones import EVERYWHERE, ZoneMap

__all__ = ["KEYS", "run"]

_LOADS: dict[str, Workload] = {
    "2": UniformBoxes(2, 0.002),
    "4": UniformBoxes(4, 0.1),
    "8": UniformBoxes(8, 0.3),
    "skewed": SkewedBoxes(),
    "384": EmbeddingWatches(),
}

KEYS = {
    f"{how}_replication_{name}": f"stored rows per subscription, {how.upper()}, workload {name}"
    for name in _LOADS
    for how in ("pure", "smart")
}
KEYS |= {f"everywhere_{n}": f"share in the broadcast segment, workload {n}" for n in _LOADS}
KEYS |= {f"zones_{n}": f"number of zones if 64 are requested, workload {n}" for n in _LOADS}


def run(sizes: Sizes, only: frozenset[str]) -> dict[str, Value]:
    """Return the results by workload; uniform boxes and balls are named by their dimensions."""
    results: dict[str, Value] = {}
    for n, (name, load) in enumerate(_LOADS.items()):
        progress(n, len(_LOADS), "workloads")
        if any(key.endswith(f"_{name}") for key in only):
            count = sizes.balls if name == "384" else sizes.spread
            zone_map = cut(load, count, sizes.spread_zones, sizes.sampled)
            pure, smart, everywhere = counted(load.generate_regions(0, count), zone_map)
            results |= {
                f"pure_replication_{name}": round(pure, 3),
                f"smart_replication_{name}": round(smart, 3),
                f"everywhere_{name}": round(everywhere, 4),
                f"zones_{name}": len(zone_map),
            }
    progress(len(_LOADS), len(_LOADS), "workloads")
    return results


def counted(regions: Regions, zoning: ZoneMap) -> tuple[float, float, float]:
    """Return rows per subscription with PURE and SMART, and the share in the broadcast segment."""
    count = len(regions)
    numbers = np.arange(count)
    pure = smart = everywhere = 0
    for members in zoning.iterate_members(regions, numbers, count):
        pure += len(members.rows)
        if members.zone == EVERYWHERE:
            everywhere = len(members.rows)
            smart += everywhere
            continue
        ids = Ids.from_values(members.rows, IdKind.NUMBER)
        rows = np.arange(len(members.rows))
        placement = SmartPlacement.from_members(
            SubscriptionBatch(ids, regions.take(members.rows), rows, np.zeros_like(rows)), members
        )
        smart += len(placement.local.ids) + len(placement.home_only.ids)
    return pure / count, smart / count, everywhere / count
