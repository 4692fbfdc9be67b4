"""Alerts by hand: a hash on the symbol, then a scan of the bucket.

Alerts without a symbol are a bucket of their own, scanned for every event. In a bucket, an alert
stands in the list of its tightest threshold, compared in blocks that become SIMD; what passes is
checked on its other thresholds, the tightest first. Events of one symbol come one after another.

Two ways to look at less than the bucket, which are indexes made for this workload: `sorted`, lists
sorted by the lower end are scanned until that is beyond the event; `windows`, the widest interval
of a list tells where to begin as well.

Tried and slower than the scan, the fastest first: lists compared one by one; no lists, but the
tightest threshold first; all intervals of each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from benchmarks.peers.columns import boxes, column, numbered, numbers_of, points, scalars
from benchmarks.peers.contract import Found, Look
from benchmarks.peers.kernels import BLOCK, first_at_least, roomy
from covey.geometry import Regions
from covey.space import Events

__all__ = ["AlertsByHand"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_SHAPES = 3  # lists of a number: both ends, a lower end only, an upper end only
_SLACK = 1e-9  # so that rounding cuts no window short


@dataclass(frozen=True, slots=True)
class AlertsByHand:
    """Lists of alerts: list `(bucket · numbers + number) · 3 + shape` starts at `starts[list]`."""

    names: list[str]
    symbols: dict[str, int]
    starts: Ints
    widest: Floats  # interval of each list
    lower: Floats  # of the tightest thresholds; upper ends only are negated, to be sorted alike
    upper: Floats
    rows: NDArray[np.int32]
    more: NDArray[np.int32]  # where the other thresholds of each alert start
    others: Floats  # a number, its lower and its upper end
    look: Look

    @classmethod
    def build(cls, regions: Regions, look: Look = "all") -> AlertsByHand:
        """Lists of all alerts."""
        names = [attribute.name for attribute in regions.space if attribute.name != "symbol"]
        bucket, symbols = _buckets(regions)
        lower, upper = boxes(regions, names)
        by_width = np.argsort(_admitted(lower, upper), axis=1, kind="stable")
        low, high, shape = _tightest(lower, upper, by_width[:, 0])
        of = (bucket * len(names) + by_width[:, 0]) * _SHAPES + shape
        lists = (len(symbols) + 1) * len(names) * _SHAPES
        widest = np.full(lists, 0.0 if look == "windows" else np.inf)
        np.maximum.at(widest, of, high - low + _SLACK)
        order = np.lexsort((low, of))
        starts = np.searchsorted(of[order], np.arange(lists + 1))
        more, others = _others(lower[order], upper[order], by_width[order])
        return cls(
            names, symbols, starts, widest, low[order], high[order], order.astype(np.int32), more,
            others, look,
        )  # fmt: skip

    def ready(self, events: Events) -> tuple[Ints, Floats]:
        symbols = numbers_of(column(events, "symbol").keys, self.symbols)
        return symbols, points(events, self.names)

    def matching(self, ready: tuple[Ints, Floats]) -> Found:
        symbols, numbers = ready
        by_symbol = np.argsort(symbols, kind="stable")
        search = _scanned if self.look == "all" else _matching
        found: Found = search(
            by_symbol, symbols, numbers, len(self.symbols), self.starts, self.widest, self.lower,
            self.upper, self.rows, self.more, self.others,
        )  # fmt: skip
        return found


def _buckets(regions: Regions) -> tuple[Ints, dict[str, int]]:
    """The symbol of each alert as a number, the one after the last for no symbol."""
    symbols: dict[str, int] = {}
    rows, equal = scalars(regions, "symbol")
    numbers = numbered(equal.lower, symbols)
    bucket = np.full(len(regions), len(symbols))
    bucket[rows] = numbers
    return bucket, symbols


def _admitted(lower: Floats, upper: Floats) -> Floats:
    """How much of [0, 1] each interval admits; of what is free, more than that."""
    is_free = np.isinf(lower) & np.isinf(upper)
    return np.where(is_free, np.inf, np.clip(upper, 0, 1) - np.clip(lower, 0, 1))


def _tightest(lower: Floats, upper: Floats, number: Ints) -> tuple[Floats, Floats, Ints]:
    """The tightest threshold of each alert as its list has it, and its shape."""
    every = np.arange(len(number))
    low, high = lower[every, number], upper[every, number]
    below_only = np.isinf(low) & np.isfinite(high)
    shape = np.where(below_only, 2, np.isinf(high).astype(np.int64))
    return np.where(below_only, -high, low), np.where(below_only, np.inf, high), shape


def _others(lower: Floats, upper: Floats, by_width: Ints) -> tuple[NDArray[np.int32], Floats]:
    """All thresholds but the tightest, the tighter ones first."""
    count = np.maximum((np.isfinite(lower) | np.isfinite(upper)).sum(axis=1) - 1, 0)
    rest = by_width[:, 1:]
    kept = np.arange(rest.shape[1]) < count[:, None]
    alert, number = np.nonzero(kept)[0], rest[kept]
    starts = np.concatenate([[0], np.cumsum(count)]).astype(np.int32)
    return starts, np.stack([number, lower[alert, number], upper[alert, number]], axis=1)


@njit(cache=True)
def _matching(
    events: Ints, symbols: Ints, numbers: Floats, without: int, starts: Ints, widest: Floats,
    lower: Floats, upper: Floats, rows: NDArray[np.int32], more: NDArray[np.int32], others: Floats,
) -> Any:  # fmt: skip
    found, asked, stored = 0, np.empty(1 << 16, np.int32), np.empty(1 << 16, np.int32)
    lists = numbers.shape[1] * _SHAPES
    for event in events:
        values = numbers[event]
        for bucket in (symbols[event], without):
            if bucket < 0:
                continue
            first = bucket * lists
            size = found + starts[first + lists] - starts[first]
            asked, stored = roomy(asked, size), roomy(stored, size)
            for k in range(first, first + lists):
                value = values[(k - first) // _SHAPES]
                if k % _SHAPES == 2:
                    value = -value
                stop = starts[k + 1]
                for i in range(first_at_least(lower, starts[k], stop, value - widest[k]), stop):
                    if lower[i] > value:
                        break
                    if value <= upper[i] and _holds(values, others, more[i], more[i + 1]):
                        asked[found], stored[found] = event, rows[i]
                        found += 1
    return asked[:found], stored[:found]


@njit(cache=True)
def _scanned(
    events: Ints, symbols: Ints, numbers: Floats, without: int, starts: Ints, widest: Floats,
    lower: Floats, upper: Floats, rows: NDArray[np.int32], more: NDArray[np.int32], others: Floats,
) -> Any:  # fmt: skip
    found, asked, stored = 0, np.empty(1 << 16, np.int32), np.empty(1 << 16, np.int32)
    marks, lists = np.empty(BLOCK, np.uint8), numbers.shape[1] * _SHAPES
    for event in events:
        values = numbers[event]
        for bucket in (symbols[event], without):
            if bucket < 0:
                continue
            first = bucket * lists
            size = found + starts[first + lists] - starts[first]
            asked, stored = roomy(asked, size), roomy(stored, size)
            for k in range(first, first + lists):
                value = values[(k - first) // _SHAPES] * (-1 if k % _SHAPES == 2 else 1)
                for start in range(starts[k], starts[k + 1], BLOCK):
                    stop = min(start + BLOCK, starts[k + 1])
                    low, high = lower[start:stop], upper[start:stop]
                    for i in range(stop - start):
                        marks[i] = (low[i] <= value) & (value <= high[i])
                    for i in range(start, stop):
                        if marks[i - start] and _holds(values, others, more[i], more[i + 1]):
                            asked[found], stored[found] = event, rows[i]
                            found += 1
    return asked[:found], stored[:found]


@njit(cache=True)
def _holds(numbers: Floats, others: Floats, start: int, stop: int) -> bool:
    for i in range(start, stop):
        value = numbers[int(others[i, 0])]
        if value < others[i, 1] or value > others[i, 2]:
            return False
    return True
