"""What each step removes, by workload, and what matching with the compacted set costs.

100,000 subscriptions of each workload and 40,000 events, of which merging sees every other one.
Filters may let in one percent of events that nobody wants. The three strategies that advertise
regions must tell the same; two of them compare many regions one by one where these leave most
attributes free, and wide regions are many ranges, so that tables other than the exact one have the
first 20,000. "hilbert" tells ranges of cells on its three most selective attributes.
Matching is of 20,000 events at once on a store, compacted against as it was, in turns.
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
        f"{name}_covered": f"share of 100,000 {name} that one other covers or equals",
        f"{name}_subsumed": "share that several together subsume, beyond that",
        f"{name}_perfect": "share that perfect merging removes then",
        f"{name}_imperfect": "share that merging within 1% of events in vain removes then",
        f"{name}_filters": "share that is left: filters for each subscription",
        f"{name}_false_forwards": "of other events that filters forward, those nobody wants",
        f"{name}_budget_ends": "share kept because 32 subtractions did not decide",
        f"{name}_online_differs": "advertised by which exact tables, or 20,000 of others, differ",
        f"{name}_cells_passive": "share of 20,000 redundant with hilbert, subsumption included",
        f"{name}_cells_told": "ranges of cells that hilbert tells for each subscription",
        f"{name}_cells_in_vain": "of events that these cells forward, those nobody wants",
        f"{name}_matching": "events/s of the compacted store, of those of the full one",
        f"{name}_matches": "matches per event",
    }


KEYS = {key: line for name in _WORKLOADS for key, line in _keys(name).items()}


def run(only: frozenset[str]) -> dict[str, Value]:
    """All that is asked for, workload by workload."""
    found: dict[str, Value] = {}
    asked = [name for name in _WORKLOADS if only & _keys(name).keys()]
    for n, name in enumerate(asked):
        progress(n, len(asked), "workloads compacted")
        found |= {f"{name}_{key}": value for key, value in _workload(_WORKLOADS[name]).items()}
    progress(len(asked), len(asked), "workloads compacted")
    return found


def _workload(workload: Workload) -> dict[str, Value]:
    regions = workload.generate_regions(0, _STORED)
    events = Events.from_arrow(workload.generate_events(0, _EVENTS), workload.space)
    every = np.arange(_STORED)
    compacted = reduce_regions(
        regions, every, sample=events, limits=ReductionLimits(max_false_positive_rate=_ADDED)
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
    """How far the exact table is from what was found offline, and others from it."""
    online = _advertised(_table(workload, regions, "exact"))
    some = regions.take(np.arange(_COMPARED))
    all_told = {_advertised(_table(workload, some, strategy)) for strategy in _REGIONAL}
    return max(abs(online - (_STORED - covered)), max(all_told) - min(all_told))


def _advertised(table: AnyRoutingTable) -> int:
    table.prune()
    return len(table.advertised_set)


def _cells(workload: Workload, regions: Regions, events: Events) -> dict[str, Value]:
    table = _table(workload, regions, "hilbert")
    is_wanted, admitted = matches_any(SegmentIndex.build(regions), events), table.admits(events)
    if (is_wanted & ~admitted).any():
        raise RuntimeError("cells lose events")
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


def _matching(workload: Workload, regions: Regions, found: Reduction) -> dict[str, Value]:
    events = Events.from_arrow(
        workload.generate_events(_EVENTS, _EVENTS + _MATCHED), workload.space
    )
    is_active = found.statuses == RegionStatus.ACTIVE
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
        pairs = [len(one.match(events)) for one in (full, compacted)]
        if pairs[0] != pairs[1]:
            raise RuntimeError(f"{pairs[0]} matches, but {pairs[1]} when compacted")
        seconds = interleaved(
            7, full=partial(full.match, events), compacted=partial(compacted.match, events)
        )
    ratio = seconds["full"] / seconds["compacted"]
    return {"matching": round(ratio, 3), "matches": round(pairs[0] / _MATCHED, 1)}


def _put(regions: Regions, rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Changes:
    return Changes(rows, regions.take(rows), np.arange(len(rows)))
