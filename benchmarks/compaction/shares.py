"""Share of subscriptions that each step of a reduction removes, by workload, and matching speed.

Each workload has 100,000 subscriptions and 40,000 events; merging uses every second event as its
sample. False forwards may be at most one percent of the events of the sample. The three strategies
that advertise regions must advertise the same number of regions. Two of them compare many regions
one by one if these leave most attributes unconstrained, and for the fourth strategy, `hilbert`,
wide regions have many ranges; therefore only the exact table gets all subscriptions, and the others
get the first 20,000. `hilbert` advertises ranges of cells on the
three most selective attributes. To compare matching, the reduced store and the full store match
20,000 events at once, in turns.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.harness import Value, interleaved, progress
from covey.covering import Reduction, ReductionLimits, RegionStatus, reduce_regions
from covey.covering.filters import matches_any
from covey.geometry import Regions
from covey.index import SegmentIndex
from covey.routing import AnyRoutingTable, RoutingTable
from covey.space import Events
from covey.store import Changes, Store
from covey.workload import Alerts, Classifieds, SkewedBoxes, UniformBoxes, Workload

__all__ = ["KEYS", "run"]

_WORKLOADS: dict[str, Workload] = {
    "uniform": UniformBoxes(4, 0.1),
    "pareto": SkewedBoxes(),
    "alerts": Alerts(),
    "classifieds": Classifieds(),
}
_STORED, _EVENTS, _MATCHED, _BATCH = 100_000, 40_000, 20_000, 1_000
_COMPARED = 20_000
_ADDED = 0.01
_REGIONAL = ("exact", "projection", "hybrid")


def _keys(name: str) -> dict[str, str]:
    return {
        f"{name}_covered": f"{name}: share of 100,000 that another one equals or covers",
        f"{name}_subsumed": f"{name}: share that only several others together contain",
        f"{name}_perfect": f"{name}: share that perfect merging removes after that",
        f"{name}_imperfect": f"{name}: share that merging with 1% false forwards removes then",
        f"{name}_filters": f"{name}: filters per subscription after all steps",
        f"{name}_false_forwards": f"{name}: false share of forwarded events that are not sampled",
        f"{name}_budget_ends": f"{name}: share undecided after 32 subtractions, so active",
        f"{name}_online_differs": f"{name}: difference in advertised regions of methods: 0",
        f"{name}_cells_passive": f"{name}: share of 20,000 that hilbert finds redundant",
        f"{name}_cells_told": f"{name}: ranges of cells that hilbert advertises, each",
        f"{name}_cells_in_vain": f"{name}: false share of events that these cells admit",
        f"{name}_matching": f"{name}: events/s of the reduced store, relative to the full one",
        f"{name}_matches": f"{name}: matches per event",
    }


KEYS = {key: line for name in _WORKLOADS for key, line in _keys(name).items()}


def run(only: frozenset[str]) -> dict[str, Value]:
    """Return the results of all workloads that have a key in `only`."""
    results: dict[str, Value] = {}
    names = [name for name in _WORKLOADS if only & _keys(name).keys()]
    for n, name in enumerate(names):
        progress(n, len(names), "workloads reduced")
        results |= {f"{name}_{key}": value for key, value in _workload(_WORKLOADS[name]).items()}
    progress(len(names), len(names), "workloads reduced")
    return results


def _workload(workload: Workload) -> dict[str, Value]:
    regions = workload.generate_regions(0, _STORED)
    events = Events.from_arrow(workload.generate_events(0, _EVENTS), workload.space)
    subscription_rows = np.arange(_STORED)
    compacted = reduce_regions(
        regions,
        subscription_rows,
        sample=events,
        limits=ReductionLimits(max_false_positive_rate=_ADDED),
    )
    s = compacted.summary
    return {
        "covered": _share(s.equal + s.covered),
        "subsumed": _share(s.subsumed),
        "perfect": _share(s.perfectly_merged),
        "imperfect": _share(s.imperfectly_merged),
        "filters": _share(s.filters),
        "false_forwards": round(s.false_share_of_forwarded, 4),
        "budget_ends": _share(s.undecided),
        "online_differs": _online_differs(workload, regions, s.equal + s.covered),
        **_cells(workload, regions.take(np.arange(_COMPARED)), events),
        **_matching(workload, regions, compacted),
    }


def _share(count: int) -> float:
    return round(count / _STORED, 4)


def _online_differs(workload: Workload, regions: Regions, covered: int) -> int:
    """Return the larger of two differences in numbers of advertised regions.

    One is between the exact routing table and the reduction, the other between the strategies.
    """
    online = _advertised(_table(workload, regions, "exact"))
    fewer_regions = regions.take(np.arange(_COMPARED))
    counts = {_advertised(_table(workload, fewer_regions, strategy)) for strategy in _REGIONAL}
    return max(abs(online - (_STORED - covered)), max(counts) - min(counts))


def _advertised(table: AnyRoutingTable) -> int:
    table.prune()
    return len(table.advertised_set)


def _cells(workload: Workload, regions: Regions, events: Events) -> dict[str, Value]:
    table = _table(workload, regions, "hilbert")
    is_wanted, admitted = matches_any(SegmentIndex.build(regions), events), table.admits(events)
    if (is_wanted & ~admitted).any():
        lost_count = int((is_wanted & ~admitted).sum())
        raise RuntimeError(f"the cells do not admit {lost_count} events that match a subscription")
    return {
        "cells_passive": round(len(table.find_redundant()) / len(regions), 4),
        "cells_told": round(len(table.advertised_set) / len(regions), 4),
        "cells_in_vain": round(float((admitted & ~is_wanted).sum() / max(1, admitted.sum())), 4),
    }


def _table(workload: Workload, regions: Regions, strategy: str) -> AnyRoutingTable:
    table = RoutingTable(workload.space, strategy)
    for start in range(0, len(regions), _BATCH):
        rows = np.arange(start, start + _BATCH)
        table.add(rows.tolist(), regions.take(rows), np.arange(_BATCH))
    return table


def _matching(workload: Workload, regions: Regions, reduction: Reduction) -> dict[str, Value]:
    events = Events.from_arrow(
        workload.generate_events(_EVENTS, _EVENTS + _MATCHED), workload.space
    )
    is_active = reduction.statuses == RegionStatus.ACTIVE
    with (
        tempfile.TemporaryDirectory(prefix="covey-") as folder,
        Store.create(Path(folder, "store"), workload.space) as store,
    ):
        base = store.apply(_put(regions, np.arange(_STORED))).version
        over = store.stage(_put(regions, np.flatnonzero(is_active)))
        under = store.stage(_put(regions, np.flatnonzero(~is_active)))
        if over is None or under is None:
            return {"matching": 1.0, "matches": 0.0}
        version = store.commit_gated(over, under, "compacted", base).version
        full, compacted = store.snapshot(base), store.snapshot(version)
        pairs = [len(snapshot.match(events)) for snapshot in (full, compacted)]
        if pairs[0] != pairs[1]:
            raise RuntimeError(
                f"the full store has {pairs[0]} matches, the reduced store {pairs[1]}"
            )
        seconds = interleaved(
            7, full=partial(full.match, events), compacted=partial(compacted.match, events)
        )
    ratio = seconds["full"] / seconds["compacted"]
    return {"matching": round(ratio, 3), "matches": round(pairs[0] / _MATCHED, 1)}


def _put(regions: Regions, rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Changes:
    return Changes(rows, regions.take(rows), np.arange(len(rows)))
