"""The index: events/s relative to other matchers, memory, build, single events, covers, growth.

There are a million subscriptions and batches of 20,000 events, on one core. Events are generated
before the timer starts. A ratio is of medians of runs that take turns, so that the processor caches
hold the peer's data when a run of covey starts. `u2`, `u4` and `u8` are uniform boxes in 2, 4 and 8
dimensions, compared with an R-tree. The other workloads are compared with a matcher that was
written for that workload only: a hash, a grid or an inverted list, then a scan. `sorted` and
`windows` use the same lists but scan a part of them, as an index made for the workload would. Peers
prepare their events before the timer starts. A slow peer gets only a part of the batch; covey
always gets the whole batch. All pairs of a peer are compared with covey's, and some pairs with
those of `BruteForceIndex`. The keys of `benchmarks.balls` and `benchmarks.changes` are included.
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
_SAMPLE = range(1_000_000, 1_004_000)  # numbers of the events with which a segment is built
_SINGLES = 2_000
_CHECKED = 20  # events that `BruteForceIndex` matches too
_REPEATS = 5
_BATCHES = 15  # batches in a row, without a run of a peer in between


@dataclass(frozen=True, slots=True)
class _Case:
    """A workload, its peers by name, and the number of events that a peer gets."""

    workload: Workload
    peers: Mapping[str, Callable[[Regions], Peer[Any]]]
    peer_events: int = _EVENTS


def _ways(build: Callable[..., Peer[Any]]) -> dict[str, Callable[[Regions], Peer[Any]]]:
    """Return three variants of a peer: one scans whole lists, the others scan parts of them."""
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
        f"{name}_vs_{kind}": f"events/s on {case.workload.name}, relative to the peer {kind}"
        for name, case in _CASES.items()
        for kind in case.peers
    },
    **{f"{name}_events_per_s": "events/s, batch after batch" for name in _CASES},
    **{f"{name}_matches_per_event": "subscriptions that an event matches, mean" for name in _CASES},
    **{f"{name}_bytes": "bytes of the index per subscription" for name in ("u4", "alerts")},
    **{f"{name}_build_s": "seconds to build the index of 1M" for name in ("u4", "alerts")},
    **{f"{name}_single_us": "µs of a batch of one event, median" for name in ("u4", "alerts")},
    "cover_any_per_s": "skewed boxes/s, one covering box is searched for each",
    "cover_all_per_s": "skewed boxes/s, all covering boxes are searched for each",
    **{
        f"growth_{name}": "exponent g of seconds ~ n^g, n from 10^4 to 10^6; matches grow with n"
        for name in _CASES
    },
    "u4_growth": "exponent g for n up to 10^7, with boxes so small that matches do not grow",
    "u4_10m_vs_1m": "events/s with 10^7 such boxes, relative to 10^6",
    "u4_10m_build_s": "seconds to build the index of 10^7 such boxes",
    "u4_10m_build_gib": "peak memory of the process that builds it in GiB, regions included",
    **balls.KEYS,
    **changes.KEYS,
}


def run(only: frozenset[str], full: bool) -> dict[str, Value]:
    """Return the results for the keys in `only`, at the published sizes even without `full`.

    Only the keys of `benchmarks.balls` are measured at smaller sizes without `full`.
    """
    results: dict[str, Value] = {}
    for n, (name, case) in enumerate(_CASES.items()):
        progress(n, len(_CASES), "workloads")
        suffixes = {key.removeprefix(f"{name}_") for key in only if key.startswith(f"{name}_")}
        if suffixes - {"growth", "10m_vs_1m", "10m_build_s", "10m_build_gib"}:
            measured = _measured(case, suffixes)
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
        if part_keys := only & part.KEYS.keys():
            results |= part.run(part_keys, full)
    return {key: value for key, value in results.items() if key in only}


def _measured(case: _Case, asked: set[str]) -> dict[str, Value]:
    """Return results of one workload; `asked` has the keys without the workload's prefix."""
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
    """Raise RuntimeError if the pairs with query rows below `asked` are not those in `expected`."""
    selection = pairs.query_rows < asked
    numbers = _numbers(Pairs(pairs.query_rows[selection], pairs.stored_rows[selection]))
    if not np.array_equal(np.sort(numbers), np.sort(_numbers(expected))):
        raise RuntimeError(
            f"the {len(numbers)} pairs of the first {asked} rows differ from the {len(expected)} "
            "expected pairs"
        )


def _numbers(pairs: Pairs) -> NDArray[np.int64]:
    """Return a number for each pair that no other pair has."""
    return pairs.query_rows.astype(np.int64) * _STORED + pairs.stored_rows


def _single_us(segment: SegmentIndex, workload: Workload) -> float:
    batch = workload.generate_events(0, _SINGLES)
    events = [Events.from_arrow(batch.slice(i, 1), segment.space) for i in range(_SINGLES)]
    seconds = []
    for event in events:
        start = time.perf_counter()
        segment.match(event)
        seconds.append(time.perf_counter() - start)
    return round(statistics.median(seconds) * 1e6, 1)


def _seconds(by_size: Mapping[int, Workload]) -> dict[int, float]:
    """Return the median seconds of a batch for each number of subscriptions."""
    runs: dict[str, Callable[[], object]] = {}
    for n, workload in by_size.items():
        segment = SegmentIndex.build(workload.generate_regions(0, n), _events(workload, _SAMPLE))
        runs[str(n)] = partial(segment.match, _events(workload, range(_EVENTS)))
        runs[str(n)]()  # compiles kernels and loads pages into memory
    return {int(n): seconds for n, seconds in interleaved(_REPEATS, **runs).items()}


def _growth(seconds: Mapping[int, float]) -> float:
    """Return the exponent of growth: the slope of the logarithm of seconds over that of sizes."""
    slope, _ = np.polyfit(np.log(list(seconds)), np.log(list(seconds.values())), 1)
    return round(float(slope), 3)


def _build_alone(n: int) -> dict[str, Value]:
    """Build an index of `n` boxes in this process; return the seconds and the peak memory."""
    workload = UniformBoxes(4, 0.1 * (1e6 / n) ** 0.25)
    sample = _events(workload, _SAMPLE)
    SegmentIndex.build(workload.generate_regions(0, 1_000), sample)  # compiles kernels
    regions = workload.generate_regions(0, n)
    start = time.perf_counter()
    SegmentIndex.build(regions, sample)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"u4_10m_build_s": round(seconds, 1), "u4_10m_build_gib": round(peak, 2)}


def _covering() -> dict[str, Value]:
    workload = SkewedBoxes()
    stored, inner = (
        workload.generate_regions(0, _STORED),
        workload.generate_regions(_STORED, _STORED + _EVENTS),
    )
    segment = SegmentIndex.build(stored, _events(workload, _SAMPLE))
    all_covers, first_covers = segment.find_covering(inner), segment.find_covering(inner, limit=1)
    brute_force_covers = BruteForceIndex(stored).find_covering(inner.take(np.arange(_CHECKED)))
    _check(all_covers, brute_force_covers, _CHECKED)
    is_one_each = np.array_equal(first_covers.query_rows, np.unique(all_covers.query_rows))
    if not is_one_each or not np.isin(_numbers(first_covers), _numbers(all_covers)).all():
        raise RuntimeError("find_covering with limit=1 does not return one of all covers per row")
    seconds = interleaved(
        _REPEATS,
        cover_any_per_s=partial(segment.find_covering, inner, limit=1),
        cover_all_per_s=partial(segment.find_covering, inner),
    )
    return {key: round(_EVENTS / duration) for key, duration in seconds.items()}
