"""A hand-written matcher of the workload `alerts`: a hash on the symbol, then a bucket scan.

Alerts without a symbol have a separate bucket, which is scanned for every event. In a bucket, an
alert is in the list of its tightest threshold. A list is compared in blocks, which compile to SIMD;
alerts that pass are compared by their other thresholds, the tightest first. Events are sorted by
symbol.

Two variants scan a part of a bucket, as an index for this workload would. With `sorted`, lists are
sorted by the lower end, and a scan stops when the lower end exceeds the event. With `windows`, a
scan also starts at a position that follows from the widest interval of the list.

Other variants were slower than the scan; in order of speed: lists that are compared one element at
a time; no lists, with the tightest threshold compared first; all intervals of each alert.
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

_SHAPES = 3  # lists per numeric attribute: both ends, a lower end only, an upper end only
_SLACK = 1e-9  # added to a window, so that rounding does not make it too small


@dataclass(frozen=True, slots=True)
class AlertsByHand:
    """Alerts in lists by bucket, attribute and shape of the tightest threshold.

    The list of attribute a and shape s in bucket b is number `(b · len(names) + a) · 3 + s`; list k
    has the positions from `starts[k]` to `starts[k + 1]`.
    """

    names: list[str]
    symbols: dict[str, int]
    starts: Ints
    widest: Floats  # width of the widest interval of each list
    lower: Floats  # of the tightest thresholds; a threshold with an upper end only is negated
    upper: Floats
    rows: NDArray[np.int32]
    more: NDArray[np.int32]  # start of the other thresholds of each alert in `others`
    others: Floats  # rows of an attribute, a lower and an upper end
    look: Look

    @classmethod
    def build(cls, regions: Regions, look: Look = "all") -> AlertsByHand:
        """Build the lists of all alerts; `look` selects the variant."""
        names = [attribute.name for attribute in regions.space if attribute.name != "symbol"]
        bucket, symbols = _buckets(regions)
        lower, upper = boxes(regions, names)
        by_width = np.argsort(_admitted(lower, upper), axis=1, kind="stable")
        low, high, shape = _tightest(lower, upper, by_width[:, 0])
        list_of = (bucket * len(names) + by_width[:, 0]) * _SHAPES + shape
        lists = (len(symbols) + 1) * len(names) * _SHAPES
        widest = np.full(lists, 0.0 if look == "windows" else np.inf)
        np.maximum.at(widest, list_of, high - low + _SLACK)
        order = np.lexsort((low, list_of))
        starts = np.searchsorted(list_of[order], np.arange(lists + 1))
        more, others = _others(lower[order], upper[order], by_width[order])
        return cls(
            names, symbols, starts, widest, low[order], high[order], order.astype(np.int32), more,
            others, look,
        )  # fmt: skip

    def ready(self, events: Events) -> tuple[Ints, Floats]:
        """Return the symbols and the numeric attributes of events."""
        symbols = numbers_of(column(events, "symbol").keys, self.symbols)
        return symbols, points(events, self.names)

    def matching(self, ready: tuple[Ints, Floats]) -> Found:
        """Return all pairs of prepared events and alerts."""
        symbols, numbers = ready
        by_symbol = np.argsort(symbols, kind="stable")
        search = _scanned if self.look == "all" else _matching
        pairs: Found = search(
            by_symbol, symbols, numbers, len(self.symbols), self.starts, self.widest, self.lower,
            self.upper, self.rows, self.more, self.others,
        )  # fmt: skip
        return pairs


def _buckets(regions: Regions) -> tuple[Ints, dict[str, int]]:
    """Return the bucket of each alert, and the numbers of symbols.

    A bucket is the number of a symbol; alerts without a symbol have the bucket after the last.
    """
    symbols: dict[str, int] = {}
    rows, equal = scalars(regions, "symbol")
    numbers = numbered(equal.lower, symbols)
    bucket = np.full(len(regions), len(symbols))
    bucket[rows] = numbers
    return bucket, symbols


def _admitted(lower: Floats, upper: Floats) -> Floats:
    """Return the length of each interval within [0, 1]; inf if it has no end."""
    is_free = np.isinf(lower) & np.isinf(upper)
    return np.where(is_free, np.inf, np.clip(upper, 0, 1) - np.clip(lower, 0, 1))


def _tightest(lower: Floats, upper: Floats, number: Ints) -> tuple[Floats, Floats, Ints]:
    """Return the ends of the tightest threshold of each alert as stored in its list, and its shape.

    `number` is the attribute of the tightest threshold.
    """
    rows = np.arange(len(number))
    low, high = lower[rows, number], upper[rows, number]
    below_only = np.isinf(low) & np.isfinite(high)
    shape = np.where(below_only, 2, np.isinf(high).astype(np.int64))
    return np.where(below_only, -high, low), np.where(below_only, np.inf, high), shape


def _others(lower: Floats, upper: Floats, by_width: Ints) -> tuple[NDArray[np.int32], Floats]:
    """Return the start of the other thresholds of each alert, and these, tightest first.

    The tightest threshold of an alert is left out.
    """
    count = np.maximum((np.isfinite(lower) | np.isfinite(upper)).sum(axis=1) - 1, 0)
    other_numbers = by_width[:, 1:]
    is_threshold = np.arange(other_numbers.shape[1]) < count[:, None]
    alert, number = np.nonzero(is_threshold)[0], other_numbers[is_threshold]
    starts = np.concatenate([[0], np.cumsum(count)]).astype(np.int32)
    return starts, np.stack([number, lower[alert, number], upper[alert, number]], axis=1)


@njit(cache=True)
def _matching(
    events: Ints, symbols: Ints, numbers: Floats, without: int, starts: Ints, widest: Floats,
    lower: Floats, upper: Floats, rows: NDArray[np.int32], more: NDArray[np.int32], others: Floats,
) -> Any:  # fmt: skip
    count, event_rows, alert_rows = 0, np.empty(1 << 16, np.int32), np.empty(1 << 16, np.int32)
    lists = numbers.shape[1] * _SHAPES
    for event in events:
        values = numbers[event]
        for bucket in (symbols[event], without):
            if bucket < 0:
                continue
            first = bucket * lists
            size = count + starts[first + lists] - starts[first]
            event_rows, alert_rows = roomy(event_rows, size), roomy(alert_rows, size)
            for k in range(first, first + lists):
                value = values[(k - first) // _SHAPES]
                if k % _SHAPES == 2:
                    value = -value
                stop = starts[k + 1]
                for i in range(first_at_least(lower, starts[k], stop, value - widest[k]), stop):
                    if lower[i] > value:
                        break
                    if value <= upper[i] and _holds(values, others, more[i], more[i + 1]):
                        event_rows[count], alert_rows[count] = event, rows[i]
                        count += 1
    return event_rows[:count], alert_rows[:count]


@njit(cache=True)
def _scanned(
    events: Ints, symbols: Ints, numbers: Floats, without: int, starts: Ints, widest: Floats,
    lower: Floats, upper: Floats, rows: NDArray[np.int32], more: NDArray[np.int32], others: Floats,
) -> Any:  # fmt: skip
    count, event_rows, alert_rows = 0, np.empty(1 << 16, np.int32), np.empty(1 << 16, np.int32)
    marks, lists = np.empty(BLOCK, np.uint8), numbers.shape[1] * _SHAPES
    for event in events:
        values = numbers[event]
        for bucket in (symbols[event], without):
            if bucket < 0:
                continue
            first = bucket * lists
            size = count + starts[first + lists] - starts[first]
            event_rows, alert_rows = roomy(event_rows, size), roomy(alert_rows, size)
            for k in range(first, first + lists):
                value = values[(k - first) // _SHAPES] * (-1 if k % _SHAPES == 2 else 1)
                for start in range(starts[k], starts[k + 1], BLOCK):
                    stop = min(start + BLOCK, starts[k + 1])
                    low, high = lower[start:stop], upper[start:stop]
                    for i in range(stop - start):
                        marks[i] = (low[i] <= value) & (value <= high[i])
                    for i in range(start, stop):
                        if marks[i - start] and _holds(values, others, more[i], more[i + 1]):
                            event_rows[count], alert_rows[count] = event, rows[i]
                            count += 1
    return event_rows[:count], alert_rows[:count]


@njit(cache=True)
def _holds(numbers: Floats, others: Floats, start: int, stop: int) -> bool:
    for i in range(start, stop):
        value = numbers[int(others[i, 0])]
        if value < others[i, 1] or value > others[i, 2]:
            return False
    return True
