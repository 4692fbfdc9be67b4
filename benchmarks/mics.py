"""Regions as ranges of Hilbert's curve: the experiments of the mics paper, at its sizes.

Each attribute has 256 cells. Boxes have `size` cells per side, and their first cells are Zipf
distributed (with exponent 1; the paper states none) or uniform. All runs use one core. The times of
insertion and covering include the computation of ranges, in batches of 1,000; in the paper, clients
compute the ranges. The linear scans are compiled loops over boxes that end at the first match.
Values of a series are separated by spaces.

The shares of false forwards differ from the paper's Table 2 (3 to 42 percent). A uniform box with 4
of 256 cells per side that contains an event in three of seven independent attributes contains it in
all attributes with probability 6e-8, so practically all such forwards are false. For Zipf, the
share depends on the exponent: with 20,000 subscriptions it was 1.0 for exponent 1, 0.57 for 1.5 and
0.09 for 2. But with exponent 2, nearly all events are forwarded and half of all pairs of
subscriptions overlap. Boxes with random sides of 1 to 4 cells reproduce the traffic that the paper
reports at exponent 1; this is not measured here.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Value, interleaved, progress
from covey._jit import kernel
from covey.geometry import Regions, hilbert
from covey.index.hilbert.grid import HilbertGrid
from covey.index.hilbert.index import HilbertIndex
from covey.routing.cell_strategy import HilbertCellStrategy
from covey.space import Events
from covey.workload import ZipfBoxes

Ints = NDArray[np.int64]

_LAWS = {"zipf": 1.0, "uniform": 0.0}
_DIMENSIONS, _SIDES, _BITS = (2, 3, 4), (2, 4, 8, 16), 8
_TABLE, _LARGE, _BATCH, _EVENTS = 10_000, 100_000, 1_000, 10_000
_MANY = (20_000, 60_000, 100_000, 150_000)  # subscriptions of Tables 2 and 3, with 7 attributes
_CHOSEN = ("x1", "x2", "x3")
_REPEATS = 7

KEYS = {
    **{f"ranges_us_{d}d": f"µs to compute the ranges of a box, sides {_SIDES}, {d}-d (Table 1)"
       for d in _DIMENSIONS},
    **{f"forwarded_covering_{d}d": f"share advertised of {_TABLE:,}, size 4, Zipf, with covering"
       for d in _DIMENSIONS},
    **{f"forwarded_subsumption_{d}d": f"share advertised of {_TABLE:,}, size 4, Zipf, with cells"
       for d in _DIMENSIONS},
    **{f"insert_us_{d}d_{law}": f"µs per insertion at {_TABLE:,}, size 2, {d}-d (Fig. 8)"
       for d in _DIMENSIONS for law in _LAWS},
    **{f"insert_100k_us_4d_{law}": f"µs per insertion at {_LARGE:,}, size 2, 4-d"
       for law in _LAWS},
    "insert_vs_linear_4d": f"time of a scan for covers over an insertion, {_TABLE:,}, uniform",
    **{f"covering_vs_linear_{law}": f"time of a scan for covers over ours, {_TABLE:,} (Fig. 9)"
       for law in _LAWS},
    **{f"matching_vs_linear_{law}": f"time of a scan for matches over ours, {_TABLE:,} (Fig. 10)"
       for law in _LAWS},
    **{f"stored_share_{law}": f"stored ranges per box and dimension, {_TABLE:,}, size 2; 2 to 4-d"
       for law in _LAWS},
    **{f"stored_by_size_{law}": f"stored ranges of {_TABLE:,} boxes in 3-d, sizes 2, 4, 8 (Fig. 12)"
       for law in _LAWS},
    **{f"traffic_{law}": f"forwards of {_EVENTS:,} events, 3 of 7 attributes, {_MANY} (Table 2)"
       for law in _LAWS},
    **{f"false_positives_{law}": "share of false forwards among forwards by 3 of 7 attributes"
       for law in _LAWS},
    **{f"candidates_{law}": "candidates for a cover by 3 of 7 attributes, same sizes (Table 3)"
       for law in _LAWS},
    **{f"candidates_meeting_{law}": "candidates for an overlap, same sizes" for law in _LAWS},
}  # fmt: skip


def run(only: frozenset[str], full: bool) -> dict[str, Value]:
    """Return the results for the keys in `only`, at the paper's sizes even without `full`."""
    parts: list[tuple[str, Callable[[], dict[str, Value]]]] = [
        *((f"ranges_us_{d}d", partial(_ranges, d)) for d in _DIMENSIONS),
        *((f"forwarded_{d}d", partial(_forwarded, d)) for d in _DIMENSIONS),
        *((f"insert_{d}d_{law}", partial(_inserted, d, law)) for d in _DIMENSIONS for law in _LAWS),
        *((f"large_{law}", partial(_large, law)) for law in _LAWS),
        *((f"linear_{law}", partial(_against_linear, law)) for law in _LAWS),
        *((f"stored_{law}", partial(_stored, law)) for law in _LAWS),
        *((f"projected_{law}", partial(_projected, law)) for law in _LAWS),
        *((f"hybrid_{law}", partial(_hybrid, law)) for law in _LAWS),
    ]
    selected = [(name, part) for name, part in parts if _gives(name) & only]
    results: dict[str, Value] = {}
    for done, (_, part) in enumerate(selected):
        progress(done, len(selected), "figures and tables")
        results |= part()
    progress(len(selected), len(selected), "figures and tables")
    return {key: value for key, value in results.items() if key in only}


def _gives(part: str) -> set[str]:
    """Return the keys that a part measures."""
    kind, _, suffix = part.partition("_")
    keys = {
        "ranges": {part},
        "forwarded": {f"forwarded_{by}_{suffix}" for by in ("covering", "subsumption")},
        "insert": {f"insert_us_{suffix}"},
        "large": {f"insert_100k_us_4d_{suffix}"},
        "linear": {f"covering_vs_linear_{suffix}", f"matching_vs_linear_{suffix}"}
        | ({"insert_vs_linear_4d"} if suffix == "uniform" else set()),
        "stored": {f"stored_share_{suffix}", f"stored_by_size_{suffix}"},
        "projected": {f"traffic_{suffix}", f"false_positives_{suffix}"},
        "hybrid": {f"candidates_{suffix}", f"candidates_meeting_{suffix}"},
    }
    return keys[kind]


def _ranges(d: int) -> dict[str, Value]:
    """Return the µs to compute the ranges of a box at a random position, for each side length."""
    times_us = []
    for side in _SIDES:
        count = max(20, 20_000 // side**d)
        lower = np.random.default_rng(side).integers(0, 257 - side, (count, d))
        hilbert.decompose_boxes(lower[:1], lower[:1], _BITS)
        compute = partial(hilbert.decompose_boxes, lower, lower + side - 1, _BITS)
        times_us.append(interleaved(_REPEATS, ours=compute)["ours"] / count * 1e6)
    return {f"ranges_us_{d}d": _series(times_us)}


def _forwarded(d: int) -> dict[str, Value]:
    """Return the shares of regions that are advertised if they arrive one after another.

    A region is not advertised if the regions that were advertised before it cover it.
    """
    workload = ZipfBoxes(d, 4)
    cells, regions = HilbertCellStrategy(_grid(workload)), workload.generate_regions(0, _TABLE)
    cells.add(np.arange(_TABLE), regions)
    absorbers = cells.find_absorbers(np.arange(_TABLE))
    first = absorbers.values[absorbers.offsets[:-1]]
    lower, upper = cells.grid.find_boxes(regions)
    by_covering = np.count_nonzero(~_any_over(lower, upper, lower, upper, True))
    return {
        f"forwarded_covering_{d}d": round(by_covering / _TABLE, 4),
        f"forwarded_subsumption_{d}d": round(float(np.mean(first == np.arange(_TABLE))), 4),
    }


def _inserted(d: int, law: str) -> dict[str, Value]:
    cells, more_regions = _filled(d, law, _TABLE)
    return {f"insert_us_{d}d_{law}": _insertion_us(cells, more_regions, _TABLE)}


def _large(law: str) -> dict[str, Value]:
    cells, more_regions = _filled(4, law, _LARGE)
    return {f"insert_100k_us_4d_{law}": _insertion_us(cells, more_regions, _LARGE)}


def _insertion_us(cells: HilbertCellStrategy, more: Regions, first: int) -> float:
    return round(_insertion(cells, more, first, lambda: None)[0] / _BATCH * 1e6, 2)


def _insertion(
    cells: HilbertCellStrategy, more: Regions, first: int, other: Callable[[], object]
) -> tuple[float, float]:
    """Return the median seconds of the insertion of a batch, and of `other`, in turns."""
    numbers, seconds = np.arange(first, first + _BATCH), []
    for _ in range(_REPEATS + 1):
        start = time.perf_counter()
        cells.add(numbers, more)
        middle = time.perf_counter()
        other()
        seconds.append((middle - start, time.perf_counter() - middle))
        cells.remove(numbers)
    insertion_s, other_s = np.median(seconds[1:], axis=0)  # the first run may compile
    return float(insertion_s), float(other_s)


def _against_linear(law: str) -> dict[str, Value]:
    """Return the times of a loop over all boxes of cells, relative to those of the index."""
    cells, more_regions = _filled(4, law, _TABLE)
    workload = ZipfBoxes(4, 2, subscription_exponent=_LAWS[law])
    lower, upper = (
        _narrow(ends) for ends in cells.grid.find_boxes(workload.generate_regions(0, _TABLE))
    )
    low, high = (_narrow(ends) for ends in cells.grid.find_boxes(more_regions))
    events = Events.from_arrow(workload.generate_events(0, _BATCH), workload.space)
    points = _narrow(cells.grid.find_cells(events))
    covering, matching = (
        partial(_any_over, lower, upper, low, high, False),
        partial(_any_over, lower, upper, points, points, False),
    )
    cells.covers(more_regions), cells.admits(events), covering(), matching()
    seconds = interleaved(
        _REPEATS,
        covering=partial(cells.covers, more_regions),
        matching=partial(cells.admits, events),
        linear_covering=covering,
        linear_matching=matching,
    )
    insertion_s, linear_s = _insertion(cells, more_regions, _TABLE, covering)
    return {
        f"covering_vs_linear_{law}": round(seconds["linear_covering"] / seconds["covering"], 1),
        f"matching_vs_linear_{law}": round(seconds["linear_matching"] / seconds["matching"], 1),
        **({"insert_vs_linear_4d": round(linear_s / insertion_s, 1)} if law == "uniform" else {}),
    }


def _stored(law: str) -> dict[str, Value]:
    shares = [_filled(d, law, _TABLE)[0].range_count / (d * _TABLE) for d in _DIMENSIONS]
    sizes = [_filled(3, law, _TABLE, size)[0].range_count for size in (2, 4, 8)]
    return {f"stored_share_{law}": _series(shares), f"stored_by_size_{law}": _series(sizes)}


def _projected(law: str) -> dict[str, Value]:
    """Return the number of forwards if cells use three of seven attributes, and the false share."""
    workload = _seven(law)
    cells, regions = (
        HilbertCellStrategy(_grid(workload, _CHOSEN)),
        workload.generate_regions(0, _MANY[-1]),
    )
    events = Events.from_arrow(workload.generate_events(0, _EVENTS), workload.space)
    first = np.full(_EVENTS, _MANY[-1])  # the first subscription that matches each event
    pairs = HilbertIndex.build(regions, _CHOSEN).match(events)
    np.minimum.at(first, pairs.query_rows, pairs.stored_rows)
    traffic, false_shares = [], []
    for start, stop in zip((0, *_MANY), _MANY, strict=False):
        cells.add(np.arange(start, stop), regions.take(np.arange(start, stop)))
        forwarded = cells.admits(events)
        traffic.append(int(forwarded.sum()))
        false_shares.append(float(np.mean(first[forwarded] >= stop)))
    return {f"traffic_{law}": _series(traffic), f"false_positives_{law}": _series(false_shares)}


def _hybrid(law: str) -> dict[str, Value]:
    workload = _seven(law)
    query_regions = workload.generate_regions(_MANY[-1], _MANY[-1] + _BATCH)
    covers, overlaps = [], []
    for count in _MANY:
        index = HilbertIndex.build(workload.generate_regions(0, count), _CHOSEN, bits=_BITS)
        covers.append(float(index.count_covering_candidates(query_regions).mean()))
        overlaps.append(float(index.count_overlapping_candidates(query_regions).mean()))
    return {f"candidates_{law}": _series(covers), f"candidates_meeting_{law}": _series(overlaps)}


def _filled(d: int, law: str, count: int, size: int = 2) -> tuple[HilbertCellStrategy, Regions]:
    """Return a routing strategy with `count` boxes, and a batch of other boxes."""
    workload = ZipfBoxes(d, size, subscription_exponent=_LAWS[law])
    cells = HilbertCellStrategy(_grid(workload))
    cells.add(np.arange(count), workload.generate_regions(0, count))
    return cells, workload.generate_regions(count, count + _BATCH)


def _seven(law: str) -> ZipfBoxes:
    return ZipfBoxes(7, 4, subscription_exponent=_LAWS[law], event_exponent=_LAWS[law])


def _grid(workload: ZipfBoxes, attributes: tuple[str, ...] = ()) -> HilbertGrid:
    """Return the grid whose cells are those of the workload."""
    names = attributes or tuple(attribute.name for attribute in workload.space)
    return HilbertGrid.uniform(workload.space, names, _BITS, dict.fromkeys(names, (0, 255)))


def _series(values: list[float] | list[int]) -> str:
    return " ".join(str(v) if isinstance(v, int) else f"{v:.3g}" for v in values)


def _narrow(cells: Ints) -> NDArray[np.int16]:
    return cells.astype(np.int16)


@kernel
def _any_over(lower: Any, upper: Any, low: Any, high: Any, earlier: bool) -> NDArray[np.bool_]:
    """Return for each box from `low` to `high` whether a box from `lower` to `upper` contains it.

    With `earlier`, only boxes with a smaller row number are compared.
    """
    is_covered = np.zeros(len(low), np.bool_)
    for j in range(len(low)):
        for i in range(j if earlier else len(lower)):
            inside = True
            for m in range(lower.shape[1]):
                if lower[i, m] > low[j, m] or upper[i, m] < high[j, m]:
                    inside = False
                    break
            if inside:
                is_covered[j] = True
                break
    return is_covered
