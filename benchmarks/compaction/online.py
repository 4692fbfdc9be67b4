"""Routing tables that change: the cost of adds and cancels at 1M subscriptions, on one core.

Subscriptions are uniform boxes in four dimensions. A time is that of a call of `add` or `cancel`,
with indexing and merges; regions are drawn before. `adds_per_s` is the mean of 200 batches of
1,000, some of which wait for large merges. `load_us` is the mean over the million adds before, in
batches of the same size. Single adds are measured after a `prune`, which a system can call when it
has time. Everything is measured three times, with the strategies in turns, and medians are
returned. The hybrid, which is slow, has one turn.
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
"""Numbers of stored subscriptions; hybrid has fewer, because it compares many one by one."""
_WORKLOAD = UniformBoxes(4, 0.1)
_DRAWN, _BATCH = 100_000, 1_000
_BATCHES, _SINGLES = 200, 2_000
_ROUNDS = {"exact": 3, "projection": 3, "hybrid": 1}
_POPULAR = 100_000
_SETTLED = 10_000

KEYS = {
    "adds_per_s": "adds/s in batches of 1,000 at 1M stored, strategy exact",
    "adds_per_s_projection": "adds/s in batches of 1,000 at 1M stored, strategy projection",
    "adds_per_s_hybrid": "adds/s in batches of 1,000 at 100,000 stored, strategy hybrid",
    "add_us_p50": "µs of a single add at 1M after a prune, median, strategy exact",
    "add_us_p99": "µs of a single add at 1M after a prune, 99th percentile, strategy exact",
    "add_us_p50_projection": "µs of a single add at 1M after a prune, median, strategy projection",
    "add_us_p50_untidied": "µs of a single add without a prune: more indexes are searched, exact",
    "load_us": "µs per add while 1M are loaded in batches of 1,000, strategy exact",
    "load_us_projection": "µs per add while 1M are loaded in batches, strategy projection",
    "cancel_popular_ms": "ms to cancel a region that absorbs 100,000 others",
    "settle_popular_ms": "ms of the longest of the calls that then reassign 10,000 orphans each",
    "popular_missed": "events lost at any step of that cancellation, of 20,000: should be 0",
}


def run(only: frozenset[str]) -> dict[str, Value]:
    """Return the results for the keys in `only`, measured strategy by strategy."""
    strategies = [s for s in STRATEGIES if f"adds_per_s_{s}" in only or _wants(only, s)]
    values_by_key = defaultdict[str, list[float]](list)
    for turn in range(max(_ROUNDS.values())):
        for strategy in (s for s in strategies if turn < _ROUNDS[s]):
            for key, value in _adds(strategy).items():
                values_by_key[key].append(value)
    results: dict[str, Value] = {key: median(values) for key, values in values_by_key.items()}
    if any("popular" in key for key in only):
        results |= _popular()
    return results


def _wants(only: frozenset[str], strategy: str) -> bool:
    exact_keys = {"adds_per_s", "add_us_p50", "add_us_p99", "add_us_p50_untidied", "load_us"}
    strategy_keys = exact_keys if strategy == "exact" else {f"add_us_p50_{strategy}"}
    return bool(only & strategy_keys)


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
    results = {
        f"adds_per_s{suffix}": round(_BATCHES * _BATCH / sum(batches)),
        f"add_us_p50{suffix}": round(float(np.median(singles)) * 1e6, 1),
        f"add_us_p50_untidied{suffix}": round(float(np.median(untidied)) * 1e6, 1),
        f"add_us_p99{suffix}": round(float(np.quantile(singles, 0.99)) * 1e6, 1),
        f"load_us{suffix}": round(sum(loading) / stored * 1e6, 1),
    }
    return {key: value for key, value in results.items() if key in KEYS}


def _add(table: AnyRoutingTable, first: int, count: int, batch: int) -> list[float]:
    """Add `count` boxes of the workload to a table, and return the seconds of each batch."""
    regions, seconds = _WORKLOAD.generate_regions(first, first + count), []
    id_rows = np.arange(batch)
    for start in range(0, count, batch):
        batch_regions = regions.take(np.arange(start, start + batch))
        ids = list(range(first + start, first + start + batch))
        start_s = time.perf_counter()
        table.add(ids, batch_regions, id_rows)
        seconds.append(time.perf_counter() - start_s)
    return seconds


def _popular() -> dict[str, Value]:
    """Cancel a region that covers 100,000 others, and reassign these in portions."""
    table, regions = RoutingTable(_WORKLOAD.space), _WORKLOAD.generate_regions(0, _POPULAR)
    everything = Regions(_WORKLOAD.space, 1, {})
    table.add(["popular"], everything, np.zeros(1, np.int64))
    table.add(list(range(_POPULAR)), regions, np.arange(_POPULAR))
    if len(table.advertised_set) != 1:
        raise RuntimeError("the unbounded region does not absorb all others")
    events = Events.from_arrow(_WORKLOAD.generate_events(0, 20_000), _WORKLOAD.space)
    required_rows = np.unique(SegmentIndex.build(regions).match(events).query_rows)
    missed = 0
    start = time.perf_counter()
    table.cancel(["popular"])
    cancel_s, reassign_s = time.perf_counter() - start, [0.0]
    while not table.is_fully_withdrawn:
        admitted = (
            SegmentIndex.build(table.take_regions(table.advertised_set)).match(events).query_rows
        )
        missed = max(missed, len(np.setdiff1d(required_rows, admitted)))
        start = time.perf_counter()
        table.reassign_orphans(_SETTLED)
        reassign_s.append(time.perf_counter() - start)
    admitted = SegmentIndex.build(table.take_regions(table.advertised_set)).match(events).query_rows
    return {
        "cancel_popular_ms": round(cancel_s * 1e3, 1),
        "settle_popular_ms": round(max(reassign_s) * 1e3, 1),
        "popular_missed": max(missed, len(np.setdiff1d(required_rows, admitted))),
    }
