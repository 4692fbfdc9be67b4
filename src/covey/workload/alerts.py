"""Alerts on market data: a symbol, and thresholds on a few of eleven numbers.

1 to 4 of the 12 attributes are constrained: the symbol by equality in 90% of the alerts (5,000
symbols, Zipf), the others at random. Half of the thresholds are one-sided. The first threshold of
an alert is tight, further ones are loose. Who constrains the symbol alone watches any of them, the
rare as often as the frequent; otherwise such alerts would be most of all matches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.space import Space
from covey.workload import drawn
from covey.workload.arrow import record_batch, texts
from covey.workload.drawn import FREE, Drawn, Equal
from covey.workload.rows import BLOCK, Columns, columns
from covey.workload.words import tickers
from covey.workload.zipf import zipf

__all__ = ["Alerts"]

_SYMBOLS = 5000
_NUMBERS = (
    "price", "volume", "change_pct", "bid", "ask", "spread",
    "volatility", "turnover", "momentum", "open_interest", "sentiment",
)  # fmt: skip
_CONSTRAINED = (0.10, 0.30, 0.35, 0.25)  # how many alerts constrain 1, 2, 3, 4 attributes
_WITH_SYMBOL = 0.9
_ONE_SIDED = 0.5
_TIGHT, _LOOSE = (-5.0, -2.0), (-3.0, -0.3)  # what a threshold admits, as powers of ten


@dataclass(frozen=True, slots=True)
class Alerts:
    """Alerts and ticks whose numbers are uniform in [0, 1).

    Matches per event at 1M subscriptions: about 46.
    """

    seed: int = 0

    @property
    def name(self) -> str:
        return "alerts"

    @property
    def space(self) -> Space:
        return Space.from_arrow(_schema())

    def regions(self, start: int, stop: int) -> Regions:
        return drawn.regions(self.space, self._subscriptions(start, stop))

    def predicates(self, start: int, stop: int) -> list[str]:
        return drawn.predicates(self._subscriptions(start, stop))

    def events(self, start: int, stop: int) -> pa.RecordBatch:
        return record_batch(
            _schema(),
            columns(start, stop, self.seed, "alerts events", _draw_events),
            lambda part: [
                texts(tickers(_SYMBOLS), part["symbol"]),
                *map(pa.array, part["numbers"].T),
            ],
        )

    def _subscriptions(self, start: int, stop: int) -> Iterator[list[Drawn]]:
        parts = columns(start, stop, self.seed, "alerts subscriptions", _draw_subscriptions)
        for part in parts:
            lower, upper = part["lower"], part["upper"]
            yield [
                Equal("symbol", tickers(_SYMBOLS), part["symbol"]),
                *(drawn.doubles(n, lower[:, j], upper[:, j]) for j, n in enumerate(_NUMBERS)),
            ]


def _schema() -> pa.Schema:
    return pa.schema([("symbol", pa.string()), *((name, pa.float64()) for name in _NUMBERS)])


def _draw_subscriptions(random: np.random.Generator) -> Columns:
    constrained = 1 + random.choice(len(_CONSTRAINED), BLOCK, p=_CONSTRAINED)
    has_symbol = random.random(BLOCK) < _WITH_SYMBOL
    alone = constrained == 1
    symbol = np.where(alone, random.integers(0, _SYMBOLS, BLOCK), zipf(random, _SYMBOLS, BLOCK))
    thresholds = constrained - has_symbol
    numbers = np.argsort(random.random((BLOCK, len(_NUMBERS))), axis=1)
    lower = np.full((BLOCK, len(_NUMBERS)), -np.inf)
    upper = np.full((BLOCK, len(_NUMBERS)), np.nan)
    for k in range(len(_CONSTRAINED)):
        low, high = _draw_thresholds(random, _LOOSE if k else _TIGHT)
        rows = np.flatnonzero(thresholds > k)
        lower[rows, numbers[rows, k]] = low[rows]
        upper[rows, numbers[rows, k]] = high[rows]
    return {"symbol": np.where(has_symbol, symbol, FREE), "lower": lower, "upper": upper}


def _draw_thresholds(
    random: np.random.Generator, powers: tuple[float, float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Intervals of [0, 1): half of them without an upper or without a lower end."""
    admitted = 10 ** random.uniform(*powers, BLOCK)
    start = random.random(BLOCK) * (1 - admitted)
    kind = random.random(BLOCK)
    is_above, is_below = kind < _ONE_SIDED / 2, kind > 1 - _ONE_SIDED / 2
    lower = np.where(is_above, 1 - admitted, np.where(is_below, -np.inf, start))
    upper = np.where(is_above, np.nan, np.where(is_below, admitted, start + admitted))
    return lower, upper


def _draw_events(random: np.random.Generator) -> Columns:
    return {
        "symbol": zipf(random, _SYMBOLS, BLOCK),
        "numbers": random.random((BLOCK, len(_NUMBERS))),
    }
