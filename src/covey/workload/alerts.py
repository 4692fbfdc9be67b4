"""Alerts on market data: a symbol, and thresholds on a few of eleven numbers.

An alert constrains 1 to 4 of the 12 attributes. In 90% of the alerts, one of these is the symbol,
which must equal one of 5,000 symbols. The other constraints are thresholds on some of the eleven
numbers, chosen at random. Half of the thresholds are one-sided. The first threshold of an alert is
tight, and the other thresholds are loose. Symbols follow Zipf's law. In alerts with a single
constraint, however, all symbols are equally frequent, because with Zipf's law such alerts would
cause most of the matches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.space import Space
from covey.workload import constraints
from covey.workload.arrow_arrays import build_record_batch, to_text_array
from covey.workload.block_rng import BLOCK_ROWS, Columns, draw_blocks
from covey.workload.constraints import UNCONSTRAINED, ConstraintColumn, EqualityColumn
from covey.workload.vocabularies import make_tickers
from covey.workload.zipf import draw_zipf_ranks

__all__ = ["Alerts"]

_SYMBOL_COUNT = 5000
_NUMBER_NAMES = (
    "price", "volume", "change_pct", "bid", "ask", "spread",
    "volatility", "turnover", "momentum", "open_interest", "sentiment",
)  # fmt: skip
_ATTRIBUTE_COUNT_SHARES = (
    0.10,
    0.30,
    0.35,
    0.25,
)  # shares of the alerts that constrain 1, 2, 3 and 4 attributes
_SYMBOL_SHARE = 0.9
_ONE_SIDED_SHARE = 0.5
_TIGHT_POWERS, _LOOSE_POWERS = (
    (-5.0, -2.0),
    (-3.0, -0.3),
)  # range of the share of [0, 1) that a threshold admits, as powers of ten


@dataclass(frozen=True, slots=True)
class Alerts:
    """Alerts on market data as subscriptions, and ticks as events.

    The symbols of ticks follow Zipf's law; their numbers are uniform in [0, 1). Matches per event
    at 1M subscriptions: about 46.
    """

    seed: int = 0

    @property
    def name(self) -> str:
        return "alerts"

    @property
    def space(self) -> Space:
        return Space.from_arrow(_make_schema())

    def generate_regions(self, start: int, stop: int) -> Regions:
        return constraints.build_regions(self.space, self._constraint_blocks(start, stop))

    def generate_predicates(self, start: int, stop: int) -> list[str]:
        return constraints.write_predicates(self._constraint_blocks(start, stop))

    def generate_events(self, start: int, stop: int) -> pa.RecordBatch:
        return build_record_batch(
            _make_schema(),
            draw_blocks(start, stop, self.seed, "alerts events", _draw_event_block),
            lambda block: [
                to_text_array(make_tickers(_SYMBOL_COUNT), block["symbol"]),
                *map(pa.array, block["numbers"].T),
            ],
        )

    def _constraint_blocks(self, start: int, stop: int) -> Iterator[list[ConstraintColumn]]:
        blocks = draw_blocks(
            start, stop, self.seed, "alerts subscriptions", _draw_subscription_block
        )
        for block in blocks:
            lower, upper = block["lower"], block["upper"]
            yield [
                EqualityColumn("symbol", make_tickers(_SYMBOL_COUNT), block["symbol"]),
                *(
                    constraints.make_double_intervals(n, lower[:, j], upper[:, j])
                    for j, n in enumerate(_NUMBER_NAMES)
                ),
            ]


def _make_schema() -> pa.Schema:
    return pa.schema([("symbol", pa.string()), *((name, pa.float64()) for name in _NUMBER_NAMES)])


def _draw_subscription_block(random: np.random.Generator) -> Columns:
    constrained = 1 + random.choice(
        len(_ATTRIBUTE_COUNT_SHARES), BLOCK_ROWS, p=_ATTRIBUTE_COUNT_SHARES
    )
    has_symbol = random.random(BLOCK_ROWS) < _SYMBOL_SHARE
    is_single = constrained == 1
    symbol = np.where(
        is_single,
        random.integers(0, _SYMBOL_COUNT, BLOCK_ROWS),
        draw_zipf_ranks(random, _SYMBOL_COUNT, BLOCK_ROWS),
    )
    threshold_counts = constrained - has_symbol
    numbers = np.argsort(random.random((BLOCK_ROWS, len(_NUMBER_NAMES))), axis=1)
    lower = np.full((BLOCK_ROWS, len(_NUMBER_NAMES)), -np.inf)
    upper = np.full((BLOCK_ROWS, len(_NUMBER_NAMES)), np.nan)
    for k in range(len(_ATTRIBUTE_COUNT_SHARES)):
        low, high = _draw_thresholds(random, _LOOSE_POWERS if k else _TIGHT_POWERS)
        rows = np.flatnonzero(threshold_counts > k)
        lower[rows, numbers[rows, k]] = low[rows]
        upper[rows, numbers[rows, k]] = high[rows]
    return {"symbol": np.where(has_symbol, symbol, UNCONSTRAINED), "lower": lower, "upper": upper}


def _draw_thresholds(
    random: np.random.Generator, power_range: tuple[float, float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lower and the upper ends of random intervals within [0, 1).

    Half of the intervals have only one end. A missing lower end is -inf, a missing upper end is
    NaN.

    Args:
        random: generator of the block.
        power_range: the length of an interval is ten to a random power in this range.
    """
    admitted = 10 ** random.uniform(*power_range, BLOCK_ROWS)
    start = random.random(BLOCK_ROWS) * (1 - admitted)
    kind = random.random(BLOCK_ROWS)
    is_above, is_below = kind < _ONE_SIDED_SHARE / 2, kind > 1 - _ONE_SIDED_SHARE / 2
    lower = np.where(is_above, 1 - admitted, np.where(is_below, -np.inf, start))
    upper = np.where(is_above, np.nan, np.where(is_below, admitted, start + admitted))
    return lower, upper


def _draw_event_block(random: np.random.Generator) -> Columns:
    return {
        "symbol": draw_zipf_ranks(random, _SYMBOL_COUNT, BLOCK_ROWS),
        "numbers": random.random((BLOCK_ROWS, len(_NUMBER_NAMES))),
    }
