"""The index: events per second beside other matchers, memory, build, single events, covers, growth.

A million subscriptions and batches of 20,000 events, one core. Events are made outside of the
timer; a ratio is of medians of runs that take turns, so that covey finds its caches taken. `u2`,
`u4` and `u8` are uniform boxes in so many dimensions, beside an R-tree; the others are beside a
matcher written by hand for just that workload: a hash, a grid or an inverted list, then a scan.
`sorted` and `windows` are the same lists of which only a part is scanned, indexes made for the
workload. Peers get their events ready outside of the timer, and a slow one only a part of the batch
(covey always gets all of it). All answers of a peer are compared with covey's, some with
`BruteForceIndex`'s. `benchmarks.balls` and `benchmarks.changes` are parts of it.
"""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import balls, changes
from benchmarks.harness import Value, interleaved, progress
from benchmarks.peers.alerts import AlertsByHand
from benchmarks.peers.classifieds import ClassifiedsByHand
from benchmarks.peers.contract import Look, Peer
from benchmarks.peers.rtree import Rtree
from benchmarks.peers.skewed import SkewedByHand
from covey.geometry import Regions
from covey.index import BruteForceIndex, Pairs, SegmentIndex
from covey.space import Events
from covey.workload import Alerts, Classifieds, SkewedBoxes, UniformBoxes, Workload

_STORED = 1_000_000
_EVENTS = 20_000
_SAMPLE = range(1_000_000, 1_004_000)  # events that a segment is built with
_SINGLES = 2_000
_CHECKED = 20  # events that `BruteForceIndex` answers too
_REPEATS = 5
_BATCHES = 15  # one after another, without a peer in between


@dataclass(frozen=True, slots=True)
class _Case:
    """A workload, what it is measured beside, and how much of the batch that gets."""

    workload: Workload
    peers: Mapping[str, Callable[[Regions], Peer[Any]]]
    peer_events: int = _EVENTS


def _ways(build: Callable[..., Peer[Any]]) -> dict[str, Callable[[Regions], Peer[Any]]]:
    """A matcher by hand that scans all of its lists, and the same that scans less of them."""
    looks: dict[str, Look] = {"hand": "all", "sorted": "sorted", "windows": "windows"}
    return {kind: partial(build, look=look) for kind, look in looks.items()}


_CASES = {
    "u2": _Case(UniformBoxes(2, 0.002), {"rtree": Rtree.build}),
    "u4": _Case(UniformBoxes(4, 0.1), {"rtree": Rtree.build}, 5_000),
    "u8": _Case(UniformBoxes(8, 0.3), {"rtree": Rtree.build}, 2_000),
    "alerts": _Case(
        Alerts(),
        _ways(AlertsByHand.build),
        5_000,
    ),
    "skewed": _Case(SkewedBoxes(), {"hand": SkewedByHand.build}),
    "classifieds": _Case(
        Classifieds(),
        _ways(ClassifiedsByHand.build),
        5_000,
    ),
}
_SIZES = (10_000, 100_000, 1_000_000)

KEYS = {
    **{
        f"{name}_vs_{kind}": f"events/s on {case.workload.name} against the peer's"
        for name, case in _CASES.items()
        for kind in case.peers
    },
    **{f"{name}_events_per_s": "events per second, batch after batch" for name in _CASES},
    **{f"{name}_matches_per_event": "subscriptions that an event matches" for name in _CASES},
    **{f"{name}_bytes": "bytes per subscription" for name in ("u4", "alerts")},
    **{f"{name}_build_s": "seconds to build" for name in ("u4", "alerts")},
    **{f"{name}_single_us": "microseconds of one event alone, p50" for name in ("u4", "alerts")},
    "cover_any_per_s": "skewed boxes per second, for each of them one that covers it",
    "cover_all_per_s": "skewed boxes per second, for each of them all that cover it",
    **{
        f"growth_{name}": "g where seconds ~ n^g, n from 10^4 to 10^6; matches grow with n"
        for name in _CASES
    },
    "u4_growth": "the same, n to 10^7, with boxes so small that matches do not grow",
    "u4_10m_vs_1m": "events/s at 10^7 of these against 10^6",
    "u4_10m_build_s": "seconds to build 10^7 of them",
    "u4_10m_build_gib": "the most memory that the process which did it ever had, regions included",
    **balls.KEYS,
    **changes.KEYS,
}


def run(only: frozenset[str], full: bool) -> dict[str, Value]:
    """Sizes are the published ones, `full` or not."""
    results: dict[str, Value] = {}
    for n, (name, case) in enumerate(_CASES.items()):
        progress(n, len(_CASES), "workloads")
        asked = {key.removeprefix(f"{name}_") for key in only if key.startswith(f"{name}_")}
        if asked - {"growth", "10m_vs_1m", "10m_build_s", "10m_build_gib"}:
            measured = _measured(case, asked)
            results |= {f"{name}_{key}": value for key, value in measured.items()}
        if f"growth_{name}" in only:
            results[f"growth_{name}"] = _growth(_seconds(dict.fromkeys(_SIZES, case.workload)))
    progress(len(_CASES), len(_CASES), "workloads")
    if only & {"u4_growth", "u4_10m_vs_1m"}:
        sizes = (*_SIZES, 10_000_000)
        seconds = _seconds({n: UniformBoxes(4, 0.1 * (1e6 / n) ** 0.25) for n in sizes})
        results["u4_growth"] = _growth(seconds)
        results["u4_10m_vs_1m"] = round(seconds[1_000_000] / seconds[10_000_000], 3)
    if only & {"u4_10m_build_s", "u4_10m_build_gib"}:
        with get_context("spawn").Pool(1) as pool:
            results |= pool.apply(_build_alone, (10_000_000,))
    if only & {"cover_any_per_s", "cover_all_per_s"}:
        results |= _covering()
    for part in (balls, changes):
        if asked_of_part := only & part.KEYS.keys():
            results |= part.run(asked_of_part, full)
    return {key: value for key, value in results.items() if key in only}


def _measured(case: _Case, asked: set[str]) -> dict[str, Value]:
    """What is asked of one workload, from one segment."""
    workload = case.workload
    regions, sample = workload.generate_regions(0, _STORED), _events(workload, _SAMPLE)
    segment, events = SegmentIndex.build(regions, sample), _events(workload, range(_EVENTS))
    pairs = segment.match(events)
    _check(pairs, BruteForceIndex(regions).match(_events(workload, range(_CHECKED))), _CHECKED)

    match = partial(segment.match, events)
    measured: dict[str, Value] = {
        "events_per_s": round(_EVENTS / interleaved(_BATCHES, alone=match)["alone"]),
        "matches_per_event": round(len(pairs) / _EVENTS, 2),
    }
    for kind, peer_of in case.peers.items():
        if f"vs_{kind}" in asked:
            peer = peer_of(regions)
            ready = peer.ready(_events(workload, range(case.peer_events)))
            _check(pairs, Pairs(*peer.matching(ready)), case.peer_events)
            seconds = interleaved(_REPEATS, covey=match, peer=partial(peer.matching, ready))
            peer_rate = case.peer_events / seconds["peer"]
            measured[f"vs_{kind}"] = round(_EVENTS / seconds["covey"] / peer_rate, 2)
    if "bytes" in asked:
        size_bytes = sum(array.nbytes for array in segment.to_arrays().values())
        measured["bytes"] = round(size_bytes / _STORED, 1)
    if "build_s" in asked:
        build = partial(SegmentIndex.build, regions, sample)
        measured["build_s"] = round(interleaved(3, build=build)["build"], 2)
    if "single_us" in asked:
        measured["single_us"] = _single_us(segment, workload)
    return measured


def _events(workload: Workload, rows: range) -> Events:
    return Events.from_arrow(workload.generate_events(rows.start, rows.stop), workload.space)


def _check(pairs: Pairs, expected: Pairs, asked: int) -> None:
    """Raises where the pairs of the first `asked` rows are others than expected."""
    given = pairs.query_rows < asked
    given_numbers = _numbers(Pairs(pairs.query_rows[given], pairs.stored_rows[given]))
    if not np.array_equal(np.sort(given_numbers), np.sort(_numbers(expected))):
        raise RuntimeError(f"{len(given_numbers)} pairs differ from the {len(expected)} expected")


def _numbers(pairs: Pairs) -> NDArray[np.int64]:
    """A number of its own for each pair."""
    return pairs.query_rows.astype(np.int64) * _STORED + pairs.stored_rows


def _single_us(segment: SegmentIndex, workload: Workload) -> float:
    batch = workload.generate_events(0, _SINGLES)
    alone = [Events.from_arrow(batch.slice(i, 1), segment.space) for i in range(_SINGLES)]
    taken = []
    for event in alone:
        start = time.perf_counter()
        segment.match(event)
        taken.append(time.perf_counter() - start)
    return round(statistics.median(taken) * 1e6, 1)


def _seconds(by_size: Mapping[int, Workload]) -> dict[int, float]:
    """Seconds of a batch at each number of subscriptions."""
    runs: dict[str, Callable[[], object]] = {}
    for n, workload in by_size.items():
        segment = SegmentIndex.build(workload.generate_regions(0, n), _events(workload, _SAMPLE))
        runs[str(n)] = partial(segment.match, _events(workload, range(_EVENTS)))
        runs[str(n)]()  # compiled, and its pages in memory
    return {int(n): taken for n, taken in interleaved(_REPEATS, **runs).items()}


def _growth(seconds: Mapping[int, float]) -> float:
    """The slope of the line through the logarithms."""
    slope, _ = np.polyfit(np.log(list(seconds)), np.log(list(seconds.values())), 1)
    return round(float(slope), 3)


def _build_alone(n: int) -> dict[str, Value]:
    """Seconds to build, and the peak memory of this process, which should do nothing else."""
    workload = UniformBoxes(4, 0.1 * (1e6 / n) ** 0.25)
    sample = _events(workload, _SAMPLE)
    SegmentIndex.build(workload.generate_regions(0, 1_000), sample)  # compiled
    regions = workload.generate_regions(0, n)
    start = time.perf_counter()
    SegmentIndex.build(regions, sample)
    taken = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"u4_10m_build_s": round(taken, 1), "u4_10m_build_gib": round(peak, 2)}


def _covering() -> dict[str, Value]:
    workload = SkewedBoxes()
    stored, asked = (
        workload.generate_regions(0, _STORED),
        workload.generate_regions(_STORED, _STORED + _EVENTS),
    )
    segment = SegmentIndex.build(stored, _events(workload, _SAMPLE))
    every, some = segment.find_covering(asked), segment.find_covering(asked, limit=1)
    _check(every, BruteForceIndex(stored).find_covering(asked.take(np.arange(_CHECKED))), _CHECKED)
    one_each = np.array_equal(some.query_rows, np.unique(every.query_rows))
    if not one_each or not np.isin(_numbers(some), _numbers(every)).all():
        raise RuntimeError("with a limit of one, other covers are found than without")
    seconds = interleaved(
        _REPEATS,
        cover_any_per_s=partial(segment.find_covering, asked, limit=1),
        cover_all_per_s=partial(segment.find_covering, asked),
    )
    return {key: round(_EVENTS / taken) for key, taken in seconds.items()}
