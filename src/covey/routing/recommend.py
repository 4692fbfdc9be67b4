"""Which strategy suits some regions: each is tried on a sample of them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey._argument_checks import check_arguments, check_range
from covey.covering.filters import matches_any
from covey.geometry import Regions
from covey.index import SegmentIndex
from covey.routing.routing_table import RoutingTable
from covey.routing.strategies import STRATEGIES
from covey.space import Events

__all__ = ["Recommendation", "StrategyTrial", "recommend_strategy"]

Rows = NDArray[np.int64]
_MAX_SAMPLE, _BATCH_SIZE = 8192, 1024
_WARM_UP_REGIONS = 64  # regions that are added before any time is taken
_MAX_SIZE_RATIO = 0.5
_MAX_FALSE_FORWARD_RATE = 0.05
_MAX_TRIAL_S = 20.0  # of one strategy, which is given up then


@dataclass(frozen=True, slots=True)
class StrategyTrial:
    """What a strategy did on the sample.

    `add_us` are microseconds an add, `advertised_per_region` how many regions, or ranges of cells,
    were advertised at the end for each region, and `false_forward_rate` the share of events which
    these let in and no region matches: None without events.
    """

    add_us: float
    advertised_per_region: float
    false_forward_rate: float | None


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The name of a strategy, why it was chosen, and what each of them did."""

    strategy: str
    reason: str
    trials: Mapping[str, StrategyTrial]


@check_arguments
def recommend_strategy(
    regions: Regions, event_sample: Events | None = None, *, seed: int = 0
) -> Recommendation:
    """The strategy for regions like these, tried on at most 8,192 of them, chosen at random.

    Of those that advertise regions, which all tell the same, the one with the cheapest adds is
    taken. "hilbert", which advertises cells, is taken instead if a sample of events was given, it
    tells at most half as much, and at most 5% of the events are let in in vain.

    Cost: some seconds. Adds of small tables cost less than those of large ones, of all strategies
    alike but not equally: try again when a table has grown a hundredfold.
    """
    check_range("seed", seed, 0)
    if not len(regions):
        return Recommendation("exact", "there were no regions to try: it suits most of them", {})
    random = np.random.default_rng(seed)
    count = min(len(regions), _MAX_SAMPLE)
    some = regions.take(np.sort(random.choice(len(regions), count, replace=False)))
    for name in STRATEGIES:  # loops are compiled, or what was is loaded
        _run_trial(name, some.take(np.arange(min(count, _WARM_UP_REGIONS))), None)
    tried = {name: _run_trial(name, some, event_sample) for name in STRATEGIES}
    exact = {name: found for name, found in tried.items() if name != "hilbert"}
    name = min(exact, key=lambda one: exact[one].add_us)
    best, cells = tried[name], tried["hilbert"]
    size_ratio = cells.advertised_per_region / max(best.advertised_per_region, 1e-9)
    why = f"its adds are the cheapest of those that advertise regions: {best.add_us:.1f} µs"
    if cells.false_forward_rate is None:
        why += "; hilbert was not judged, for that give a sample of events"
    elif cells.advertised_per_region > _MAX_SIZE_RATIO * best.advertised_per_region:
        why += f"; hilbert would tell {size_ratio:.2f} times as much"
    elif cells.false_forward_rate > _MAX_FALSE_FORWARD_RATE:
        why += f"; hilbert would let in {cells.false_forward_rate:.1%} of the events in vain"
    else:
        less = f"{size_ratio:.2f} of what regions would"
        why = f"cells tell {less}, and let in {cells.false_forward_rate:.1%} of the events in vain"
        name = "hilbert"
    return Recommendation(name, why, tried)


def _run_trial(strategy: str, regions: Regions, event_sample: Events | None) -> StrategyTrial:
    table, seconds, begun = RoutingTable(regions.space, strategy), [], time.perf_counter()
    done = 0
    for start in range(0, len(regions), _BATCH_SIZE):
        rows = np.arange(start, min(start + _BATCH_SIZE, len(regions)))
        some, before = regions.take(rows), time.perf_counter()
        table.add(rows.tolist(), some, np.arange(len(rows)))
        seconds.append((time.perf_counter() - before) / len(rows))
        done = start + len(rows)
        if time.perf_counter() - begun > _MAX_TRIAL_S:
            break
    in_vain = None
    if event_sample is not None and len(event_sample):
        in_vain = 0.0
        if strategy == "hilbert":
            is_wanted = matches_any(SegmentIndex.build(regions.take(np.arange(done))), event_sample)
            in_vain = float((table.admits(event_sample) & ~is_wanted).mean())
    return StrategyTrial(
        float(np.median(seconds or [0.0])) * 1e6, len(table.advertised_set) / max(1, done), in_vain
    )
