"""What an event costs in its zone, with 100,000 subscriptions for each of 1, 4, 16 and 64 zones.

Uniform boxes of four dimensions, as many and so wide that an event has the same matches at all
numbers: sides shrink with the fourth root. There are 100,000 events for a zone too; with fewer
zones they are matched as often as it takes for all numbers to have equally many in a turn. The
timer holds matching in the segment of the zone and in the part that is everywhere, in batches as a
worker takes them, by one process; cutting, building and the shuffle are outside. Medians of turns
that numbers take; a step is from one number of zones to the next.
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
_WIDTH = 0.16  # of sides at 100,000: about four matches of an event

KEYS = (
    {f"us_per_event_{n}_zones": f"µs of an event after the shuffle, {n} zones" for n in _ZONES}
    | {f"matches_{n}_zones": f"matches of an event, {n} zones" for n in _ZONES}
    | {"zones_growth_max": "the largest step of the cost of an event, for four times the zones"}
)


def run(sizes: Sizes, only: frozenset[str]) -> dict[str, Value]:
    """By number of zones."""
    results: dict[str, Value] = {}
    spread = {}
    for n, zones in enumerate(sizes.growing):
        progress(n, len(sizes.growing), "numbers of zones")
        spread[zones] = _spread(zones, sizes)
        found = sum(matches(*one) for one in spread[zones])
        results[f"matches_{zones}_zones"] = round(found / (zones * sizes.growing_events), 3)
    progress(len(sizes.growing), len(sizes.growing), "numbers of zones")
    most = max(sizes.growing)
    runs = {f"of_{n}": partial(_matched, some, most // n) for n, some in spread.items()}
    seconds = interleaved(_TURNS, **runs)
    costs = [1e6 * seconds[f"of_{n}"] / (most * sizes.growing_events) for n in sizes.growing]
    for zones, cost in zip(sizes.growing, costs, strict=True):
        results[f"us_per_event_{zones}_zones"] = round(cost, 3)
    results["zones_growth_max"] = round(max(b / a for a, b in pairwise(costs)), 3)
    return results


def _spread(zones: int, sizes: Sizes) -> list[InZone]:
    """Each zone's segments, and its events."""
    count = zones * sizes.per_zone
    load = UniformBoxes(4, _WIDTH / zones**0.25)
    zoning = cut(load, count, zones, sizes.sampled)
    events = events_of(load, sizes.sampled, sizes.sampled + zones * sizes.growing_events)
    owners = zoning.tree.find_event_zones(events)
    found = Spread.of(load.generate_regions(0, count), zoning).segments(len(zoning))
    return [
        (segments, batched(events.take(np.flatnonzero(owners == zone)))) for zone, segments in found
    ]


def _matched(zones: list[InZone], times: int) -> None:
    for segments, batches in zones:
        for _ in range(times):
            matches(segments, batches)
