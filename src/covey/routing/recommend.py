"""Recommendation of a routing strategy: each strategy is tried on a sample of regions."""

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
_WARM_UP_REGIONS = 64  # added before times are measured
_MAX_SIZE_RATIO = 0.5
_MAX_FALSE_FORWARD_RATE = 0.05
_MAX_TRIAL_S = 20.0  # duration after which the trial of a strategy ends early


@dataclass(frozen=True, slots=True)
class StrategyTrial:
    """Result of the trial of one strategy on the sample of regions.

    Args:
        add_us: the duration of an add in microseconds per region, as the median of all batches.
        advertised_per_region: the number of advertised regions, or ranges of cells, at the end,
            divided by the number of regions.
        false_forward_rate: the share of events that are admitted although no region contains them;
            None without events.
    """

    add_us: float
    advertised_per_region: float
    false_forward_rate: float | None


@dataclass(frozen=True, slots=True)
class Recommendation:
    """Recommended strategy, the reason for it, and the trials of all strategies by name."""

    strategy: str
    reason: str
    trials: Mapping[str, StrategyTrial]


@check_arguments
def recommend_strategy(
    regions: Regions, event_sample: Events | None = None, *, seed: int = 0
) -> Recommendation:
    """Return the best routing strategy for regions like these.

    Each strategy is tried on a sample of at most 8,192 regions. The strategies that advertise
    regions all advertise about the same number of them, so the strategy with the fastest adds is
    chosen. "hilbert", which advertises ranges of cells, is chosen instead if a sample of events is
    passed, the number of ranges is at most half of the number of regions that the other strategy
    advertises, and at most 5% of the events are false forwards.

    Args:
        regions: the regions, from which a random sample is drawn.
        event_sample: events for measuring false forwards; without them, "hilbert" is never chosen.
        seed: the seed of the sample.

    Cost: some seconds. As a table grows, adds become slower, at a rate that depends on the
    strategy: repeat the recommendation when a table is a hundred times as large as before.
    """
    check_range("seed", seed, 0)
    if not len(regions):
        return Recommendation("exact", "there were no regions to try: exact suits most regions", {})
    random = np.random.default_rng(seed)
    count = min(len(regions), _MAX_SAMPLE)
    sample = regions.take(np.sort(random.choice(len(regions), count, replace=False)))
    for name in STRATEGIES:  # kernels are compiled, or loaded from the cache
        _run_trial(name, sample.take(np.arange(min(count, _WARM_UP_REGIONS))), None)
    trials = {name: _run_trial(name, sample, event_sample) for name in STRATEGIES}
    region_trials = {name: trial for name, trial in trials.items() if name != "hilbert"}
    name = min(region_trials, key=lambda strategy: region_trials[strategy].add_us)
    best, cells = trials[name], trials["hilbert"]
    size_ratio = cells.advertised_per_region / max(best.advertised_per_region, 1e-9)
    reason = (
        "of the strategies that advertise regions, it has the fastest adds: "
        f"{best.add_us:.1f} µs per region"
    )
    if cells.false_forward_rate is None:
        reason += "; hilbert was not considered, because that needs a sample of events"
    elif cells.advertised_per_region > _MAX_SIZE_RATIO * best.advertised_per_region:
        reason += (
            f"; hilbert would advertise {size_ratio:.2f} ranges of cells for each region that this "
            "strategy advertises"
        )
    elif cells.false_forward_rate > _MAX_FALSE_FORWARD_RATE:
        reason += (
            f"; with hilbert, {cells.false_forward_rate:.1%} of the events would be false forwards"
        )
    else:
        reason = (
            f"hilbert advertises {size_ratio:.2f} ranges of cells for each region that {name} "
            f"advertises, and {cells.false_forward_rate:.1%} of the events are false forwards"
        )
        name = "hilbert"
    return Recommendation(name, reason, trials)


def _run_trial(strategy: str, regions: Regions, event_sample: Events | None) -> StrategyTrial:
    """Return the result of a trial: regions are added in batches to a table with the strategy."""
    table, seconds, start_s = RoutingTable(regions.space, strategy), [], time.perf_counter()
    done = 0
    for start in range(0, len(regions), _BATCH_SIZE):
        rows = np.arange(start, min(start + _BATCH_SIZE, len(regions)))
        batch, batch_start_s = regions.take(rows), time.perf_counter()
        table.add(rows.tolist(), batch, np.arange(len(rows)))
        seconds.append((time.perf_counter() - batch_start_s) / len(rows))
        done = start + len(rows)
        if time.perf_counter() - start_s > _MAX_TRIAL_S:
            break
    false_forward_rate = None
    if event_sample is not None and len(event_sample):
        false_forward_rate = 0.0
        if strategy == "hilbert":
            is_matched = matches_any(
                SegmentIndex.build(regions.take(np.arange(done))), event_sample
            )
            false_forward_rate = float((table.admits(event_sample) & ~is_matched).mean())
    return StrategyTrial(
        float(np.median(seconds or [0.0])) * 1e6,
        len(table.advertised_set) / max(1, done),
        false_forward_rate,
    )
