"""Which strategy suits some regions: each is tried on a sample of them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.compact.filtering import wanted
from covey.geometry import Regions
from covey.index import Segment
from covey.space import Events
from covey.table.strategies import STRATEGIES
from covey.table.table import Table

__all__ = ["Chosen", "Tried", "choose"]

Rows = NDArray[np.int64]
_SAMPLE, _BATCH = 8192, 1024
_WARMING = 64  # regions that are added before any time is taken
_MUCH_SMALLER = 0.5
_FEW_IN_VAIN = 0.05
_SECONDS = 20.0  # of one strategy, which is given up then


@dataclass(frozen=True, slots=True)
class Tried:
    """What a strategy did on the sample.

    `add_us` are microseconds an add, `told` how many regions, or ranges of cells, were advertised
    at the end for each region, and `in_vain` the share of events which these let in and no region
    wants: None without events.
    """

    add_us: float
    told: float
    in_vain: float | None


@dataclass(frozen=True, slots=True)
class Chosen:
    """The name of a strategy, why it was chosen, and what each of them did."""

    strategy: str
    why: str
    tried: Mapping[str, Tried]


def choose(regions: Regions, sample: Events | None = None, seed: int = 0) -> Chosen:
    """The strategy for regions like these, tried on at most 8,192 of them, chosen at random.

    Of those that advertise regions, which all tell the same, the one with the cheapest adds is
    taken. "hilbert", which advertises cells, is taken instead if a sample of events was given, it
    tells at most half as much, and at most 5% of the events are let in in vain.

    Cost: some seconds. Adds of small tables cost less than those of large ones, of all strategies
    alike but not equally: try again when a table has grown a hundredfold.
    """
    if not len(regions):
        return Chosen("exact", "there were no regions to try: it suits most of them", {})
    random = np.random.default_rng(seed)
    count = min(len(regions), _SAMPLE)
    some = regions.take(np.sort(random.choice(len(regions), count, replace=False)))
    for name in STRATEGIES:  # loops are compiled, or what was is loaded
        _try(name, some.take(np.arange(min(count, _WARMING))), None)
    tried = {name: _try(name, some, sample) for name in STRATEGIES}
    exact = {name: found for name, found in tried.items() if name != "hilbert"}
    name = min(exact, key=lambda one: exact[one].add_us)
    best, cells = tried[name], tried["hilbert"]
    why = f"its adds are the cheapest of those that advertise regions: {best.add_us:.1f} µs"
    if cells.in_vain is None:
        why += "; hilbert was not judged, for that give a sample of events"
    elif cells.told > _MUCH_SMALLER * best.told:
        why += f"; hilbert would tell {cells.told / max(best.told, 1e-9):.2f} times as much"
    elif cells.in_vain > _FEW_IN_VAIN:
        why += f"; hilbert would let in {cells.in_vain:.1%} of the events in vain"
    else:
        less = f"{cells.told / max(best.told, 1e-9):.2f} of what regions would"
        why = f"cells tell {less}, and let in {cells.in_vain:.1%} of the events in vain"
        name = "hilbert"
    return Chosen(name, why, tried)


def _try(name: str, regions: Regions, sample: Events | None) -> Tried:
    table, seconds, begun = Table(regions.space, name), [], time.perf_counter()
    done = 0
    for start in range(0, len(regions), _BATCH):
        rows = np.arange(start, min(start + _BATCH, len(regions)))
        some, before = regions.take(rows), time.perf_counter()
        table.add(rows.tolist(), some, np.arange(len(rows)))
        seconds.append((time.perf_counter() - before) / len(rows))
        done = start + len(rows)
        if time.perf_counter() - begun > _SECONDS:
            break
    in_vain = None
    if sample is not None and len(sample):
        in_vain = 0.0
        if name == "hilbert":
            is_wanted = wanted(Segment.build(regions.take(np.arange(done))), sample)
            in_vain = float((table.admits(sample) & ~is_wanted).mean())
    return Tried(
        float(np.median(seconds or [0.0])) * 1e6, len(table.advertised) / max(1, done), in_vain
    )
