"""Tables that change: what adds and cancels cost at a million subscriptions, on one core.

Uniform boxes in four dimensions. A timer holds the call of `add` or `cancel`, indexing and merging
included; regions are drawn before. `adds_per_s` is over 200 batches of 1,000, of which some wait
for large merges, and `load_us` is over all of the million before, in the same batches. Single adds
follow a `tidy`, as they would where there is time for one. All of it is done three times, the two
strategies in turns, and medians are told; the hybrid, which is slow, has one turn.
"""

from __future__ import annotations

import time
from collections import defaultdict
from statistics import median

import numpy as np

from benchmarks.harness import Value, progress
from covey.geometry import Regions
from covey.index import SegmentIndex
from covey.routing import AnyRoutingTable, RoutingTable
from covey.space import Events
from covey.workload import UniformBoxes

__all__ = ["KEYS", "run"]

STRATEGIES = {"exact": 1_000_000, "projection": 1_000_000, "hybrid": 100_000}
"""How many are stored; the hybrid, which compares many one by one, gets fewer."""
_WORKLOAD = UniformBoxes(4, 0.1)
_DRAWN, _BATCH = 100_000, 1_000
_BATCHES, _SINGLES = 200, 2_000
_ROUNDS = {"exact": 3, "projection": 3, "hybrid": 1}
_POPULAR = 100_000
_SETTLED = 10_000

KEYS = {
    "adds_per_s": "adds a second in batches of 1,000 at 1M stored, exact strategy",
    "adds_per_s_projection": "the same with projections",
    "adds_per_s_hybrid": "the same with the hybrid, at 100,000 stored",
    "add_us_p50": "microseconds of a single add at 1M after a tidy, median, exact strategy",
    "add_us_p99": "the same, of a hundred the second slowest",
    "add_us_p50_projection": "the median with projections",
    "add_us_p50_untidied": "the median, exact, right after the batches: more indexes to ask",
    "load_us": "microseconds an add while the 1M were loaded in batches of 1,000, exact",
    "load_us_projection": "the same with projections",
    "cancel_popular_ms": "milliseconds of cancelling a cover that absorbs 100,000 others",
    "settle_popular_ms": "the longest of the calls that then find places for 10,000 at a time",
    "popular_missed": "of 20,000 events that live ones want, not admitted at some step: none",
}


def run(only: frozenset[str]) -> dict[str, Value]:
    """All that is asked for, strategy by strategy."""
    wanted = [s for s in STRATEGIES if f"adds_per_s_{s}" in only or _wants(only, s)]
    seen = defaultdict[str, list[float]](list)
    for turn in range(max(_ROUNDS.values())):
        for strategy in (s for s in wanted if turn < _ROUNDS[s]):
            for key, value in _adds(strategy).items():
                seen[key].append(value)
    found: dict[str, Value] = {key: median(values) for key, values in seen.items()}
    if any("popular" in key for key in only):
        found |= _popular()
    return found


def _wants(only: frozenset[str], strategy: str) -> bool:
    of_exact = {"adds_per_s", "add_us_p50", "add_us_p99", "add_us_p50_untidied", "load_us"}
    wanted = of_exact if strategy == "exact" else {f"add_us_p50_{strategy}"}
    return bool(only & wanted)


def _adds(strategy: str) -> dict[str, float]:
    table, stored = RoutingTable(_WORKLOAD.space, strategy), STRATEGIES[strategy]
    label, loading = f"{strategy}: subscriptions added", list[float]()
    for start in range(0, stored, _DRAWN):
        progress(start, stored, label)
        loading += _add(table, start, _DRAWN, _BATCH)
    progress(stored, stored, label)
    batches = _add(table, stored, _BATCHES * _BATCH, _BATCH)
    first = stored + _BATCHES * _BATCH
    untidied = _add(table, first, _SINGLES // 10, 1)
    table.prune()
    singles = _add(table, first + _SINGLES, _SINGLES, 1)
    suffix = "" if strategy == "exact" else f"_{strategy}"
    found = {
        f"adds_per_s{suffix}": round(_BATCHES * _BATCH / sum(batches)),
        f"add_us_p50{suffix}": round(float(np.median(singles)) * 1e6, 1),
        f"add_us_p50_untidied{suffix}": round(float(np.median(untidied)) * 1e6, 1),
        f"add_us_p99{suffix}": round(float(np.quantile(singles, 0.99)) * 1e6, 1),
        f"load_us{suffix}": round(sum(loading) / stored * 1e6, 1),
    }
    return {key: value for key, value in found.items() if key in KEYS}


def _add(table: AnyRoutingTable, first: int, count: int, batch: int) -> list[float]:
    """The seconds of adding so many boxes of the workload, batch by batch."""
    regions, seconds, of = _WORKLOAD.generate_regions(first, first + count), [], np.arange(batch)
    for start in range(0, count, batch):
        some = regions.take(np.arange(start, start + batch))
        ids = list(range(first + start, first + start + batch))
        begun = time.perf_counter()
        table.add(ids, some, of)
        seconds.append(time.perf_counter() - begun)
    return seconds


def _popular() -> dict[str, Value]:
    """One that covers all is cancelled, and the others find their places step by step."""
    table, regions = RoutingTable(_WORKLOAD.space), _WORKLOAD.generate_regions(0, _POPULAR)
    everything = Regions(_WORKLOAD.space, 1, {})
    table.add(["popular"], everything, np.zeros(1, np.int64))
    table.add(list(range(_POPULAR)), regions, np.arange(_POPULAR))
    if len(table.advertised_set) != 1:
        raise RuntimeError("the popular one does not absorb all others")
    events = Events.from_arrow(_WORKLOAD.generate_events(0, 20_000), _WORKLOAD.space)
    wanted = np.unique(SegmentIndex.build(regions).match(events).query_rows)
    missed = 0
    start = time.perf_counter()
    table.cancel(["popular"])
    cancelled, settled = time.perf_counter() - start, [0.0]
    while not table.is_fully_withdrawn:
        admitted = (
            SegmentIndex.build(table.take_regions(table.advertised_set)).match(events).query_rows
        )
        missed = max(missed, len(np.setdiff1d(wanted, admitted)))
        start = time.perf_counter()
        table.reassign_orphans(_SETTLED)
        settled.append(time.perf_counter() - start)
    admitted = SegmentIndex.build(table.take_regions(table.advertised_set)).match(events).query_rows
    return {
        "cancel_popular_ms": round(cancelled * 1e3, 1),
        "settle_popular_ms": round(max(settled) * 1e3, 1),
        "popular_missed": max(missed, len(np.setdiff1d(wanted, admitted))),
    }
