"""What an event costs in its zone, with 100,000 subscriptions for each of 1, 4, 16 and 64 zones.

Uniform boxes of four dimensions, as many and so wide that an event has the same matches at all
numbers: sides shrink with the fourth root. The timer holds matching in the segment of the zone and
in the part that is everywhere, in batches as a worker takes them, by one process; cutting, building
and the shuffle are outside. A step is from one number of zones to the next.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from benchmarks.harness import Value, progress
from benchmarks.on_zones.here import Spread, cut, events_of, timed
from benchmarks.on_zones.sizes import Sizes
from covey.workload import UniformBoxes

__all__ = ["KEYS", "run"]

_ZONES = Sizes().growing
_WIDTH = 0.16  # of sides at 100,000: about four matches of an event

KEYS = (
    {f"us_per_event_{n}_zones": f"µs of an event after the shuffle, {n} zones" for n in _ZONES}
    | {f"matches_{n}_zones": f"matches of an event, {n} zones" for n in _ZONES}
    | {"zones_growth_max": "the largest step of the cost of an event, for four times the zones"}
)


def run(sizes: Sizes, only: frozenset[str]) -> dict[str, Value]:
    """By number of zones."""
    results: dict[str, Value] = {}
    costs = []
    for n, zones in enumerate(sizes.growing):
        progress(n, len(sizes.growing), "numbers of zones")
        count = zones * sizes.per_zone
        load = UniformBoxes(4, _WIDTH / zones**0.25)
        zoning = cut(load, count, zones, sizes.sampled)
        events = events_of(load, sizes.sampled, sizes.sampled + sizes.growing_events)
        owners, seconds, matches = zoning.tree.owners(events), 0.0, 0
        for zone, segments in Spread.of(load.regions(0, count), zoning).segments(len(zoning)):
            taken, found = timed(segments, events.take(np.flatnonzero(owners == zone)))
            seconds, matches = seconds + taken, matches + found
        costs.append(1e6 * seconds / len(events))
        results[f"us_per_event_{zones}_zones"] = round(costs[-1], 3)
        results[f"matches_{zones}_zones"] = round(matches / len(events), 3)
    progress(len(sizes.growing), len(sizes.growing), "numbers of zones")
    results["zones_growth_max"] = round(max(b / a for a, b in pairwise(costs)), 3)
    return results
