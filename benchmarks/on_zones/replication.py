"""How often a subscription is stored, in the mean: in every zone it meets, or less where covered.

64 zones, cut from 20,000 events and as many subscriptions. Boxes are uniform (`UniformBoxes`: 2, 4
and 8 dimensions, 1M of them) with uniform events, or `SkewedBoxes` with wide ones that cover most
others; balls are `EmbeddingWatches` (384 dimensions, 100,000). What meets more than half of the
zones is stored once, for all, if there is much of it.
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
    f"{how}_replication_{name}": f"how often a subscription is stored, {how.upper()}, {name}"
    for name in _LOADS
    for how in ("pure", "smart")
}
KEYS |= {f"everywhere_{n}": f"the share that is in all zones, {n}" for n in _LOADS}
KEYS |= {f"zones_{n}": f"zones where 64 were asked for, {n}" for n in _LOADS}


def run(sizes: Sizes, only: frozenset[str]) -> dict[str, Value]:
    """By workload; boxes and balls have the names of their dimensions."""
    results: dict[str, Value] = {}
    for n, (name, load) in enumerate(_LOADS.items()):
        progress(n, len(_LOADS), "workloads")
        if any(key.endswith(f"_{name}") for key in only):
            count = sizes.balls if name == "384" else sizes.spread
            zoning = cut(load, count, sizes.spread_zones, sizes.sampled)
            pure, smart, everywhere = counted(load.generate_regions(0, count), zoning)
            results |= {
                f"pure_replication_{name}": round(pure, 3),
                f"smart_replication_{name}": round(smart, 3),
                f"everywhere_{name}": round(everywhere, 4),
                f"zones_{name}": len(zoning),
            }
    progress(len(_LOADS), len(_LOADS), "workloads")
    return results


def counted(regions: Regions, zoning: ZoneMap) -> tuple[float, float, float]:
    """Stored by PURE and by SMART, and everywhere, for each subscription."""
    count = len(regions)
    numbers = np.arange(count)
    pure = smart = everywhere = 0
    for some in zoning.iterate_members(regions, numbers, count):
        pure += len(some.rows)
        if some.zone == EVERYWHERE:
            everywhere = len(some.rows)
            smart += everywhere
            continue
        ids = Ids.from_values(some.rows, IdKind.NUMBER)
        here = np.arange(len(some.rows))
        homes = SmartPlacement.from_members(
            SubscriptionBatch(ids, regions.take(some.rows), here, np.zeros_like(here)), some
        )
        smart += len(homes.local.ids) + len(homes.home_only.ids)
    return pure / count, smart / count, everywhere / count
