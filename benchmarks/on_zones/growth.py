"""Cost of an event in its zone, with 1, 4, 16 and 64 zones of 100,000 subscriptions each.

Subscriptions are uniform boxes in four dimensions. Their sides shrink with the fourth root of the
number of zones, so that an event has the same number of matches for every number of zones. There
are also 100,000 events per zone. If there are fewer zones, the events are matched several times, so
that every turn matches the same number of events. The time is that of matching, in one process,
with the segment of the zone and the broadcast segment, in batches of the size that a worker gets.
It excludes splitting the space, building the segments, and the shuffle. The numbers of zones are
measured in turns, and results are medians. Growth is measured from one number of zones to the next.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np

from benchmarks.harness import Value, interleaved, progress
from benchmarks.on_zones.here import Spread, batched, cut, events_of, matches
from benchmarks.on_zones.sizes import Sizes
from covey.index import SegmentIndex
from covey.space import Events
from covey.workload import UniformBoxes

__all__ = ["KEYS", "run"]

InZone = tuple[list[SegmentIndex], list[Events]]

_ZONES = Sizes().growing
_TURNS = 5
_WIDTH = 0.16  # of a side with 100,000 subscriptions: an event has about four matches

KEYS = (
    {f"us_per_event_{n}_zones": f"µs per event after the shuffle, {n} zones" for n in _ZONES}
    | {f"matches_{n}_zones": f"matches per event, {n} zones" for n in _ZONES}
    | {"zones_growth_max": "largest growth factor of µs per event for four times the zones"}
)


def run(sizes: Sizes, only: frozenset[str]) -> dict[str, Value]:
    """Return the results for each number of zones."""
    results: dict[str, Value] = {}
    zones_by_count = {}
    for n, zones in enumerate(sizes.growing):
        progress(n, len(sizes.growing), "numbers of zones")
        zones_by_count[zones] = _spread(zones, sizes)
        match_count = sum(matches(*in_zone) for in_zone in zones_by_count[zones])
        results[f"matches_{zones}_zones"] = round(match_count / (zones * sizes.growing_events), 3)
    progress(len(sizes.growing), len(sizes.growing), "numbers of zones")
    max_zones = max(sizes.growing)
    runs = {
        f"of_{n}": partial(_matched, in_zones, max_zones // n)
        for n, in_zones in zones_by_count.items()
    }
    seconds = interleaved(_TURNS, **runs)
    costs = [1e6 * seconds[f"of_{n}"] / (max_zones * sizes.growing_events) for n in sizes.growing]
    for zones, cost in zip(sizes.growing, costs, strict=True):
        results[f"us_per_event_{zones}_zones"] = round(cost, 3)
    results["zones_growth_max"] = round(max(b / a for a, b in pairwise(costs)), 3)
    return results


def _spread(zones: int, sizes: Sizes) -> list[InZone]:
    """Return the segments and the events of each zone."""
    count = zones * sizes.per_zone
    load = UniformBoxes(4, _WIDTH / zones**0.25)
    zone_map = cut(load, count, zones, sizes.sampled)
    events = events_of(load, sizes.sampled, sizes.sampled + zones * sizes.growing_events)
    event_zones = zone_map.tree.find_event_zones(events)
    spread = Spread.of(load.generate_regions(0, count), zone_map)
    return [
        (segments, batched(events.take(np.flatnonzero(event_zones == zone))))
        for zone, segments in spread.segments(len(zone_map))
    ]


def _matched(zones: list[InZone], times: int) -> None:
    for segments, batches in zones:
        for _ in range(times):
            matches(segments, batches)
