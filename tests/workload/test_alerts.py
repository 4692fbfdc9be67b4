"""Alerts have the documented shape."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from covey.geometry.scalars import Scalars
from covey.space.keys import key_domain
from covey.space.types import DOUBLE
from covey.workload import Alerts

COUNT = 50_000


def test_one_to_four_of_twelve_attributes_are_constrained() -> None:
    regions = Alerts().generate_regions(0, COUNT)
    assert len(list(regions.space)) == 12
    constrained = sum(
        np.bincount(column_constraints.rows, minlength=COUNT)
        for column_constraints in regions.constraints.values()
    )
    shares = np.bincount(constrained, minlength=5) / COUNT
    assert shares == pytest.approx([0, 0.10, 0.30, 0.35, 0.25], abs=0.01)
    numbers = [len(g.rows) for name, g in regions.constraints.items() if name != "symbol"]
    assert max(numbers) < 1.1 * min(numbers)


def test_nine_of_ten_alerts_have_one_of_5000_symbols_by_zipf() -> None:
    column_constraints = Alerts().generate_regions(0, COUNT).constraints["symbol"]
    assert isinstance(column_constraints.batch, Scalars)
    assert (column_constraints.batch.lower == column_constraints.batch.upper).all()
    assert len(column_constraints.rows) / COUNT == pytest.approx(0.9, abs=0.01)
    symbols = Counter(column_constraints.batch.lower.tolist())
    assert 4500 < len(symbols) <= 5000
    assert symbols.most_common(1)[0][1] / len(column_constraints.rows) == pytest.approx(
        0.1, abs=0.01
    )
    ticks = Counter(Alerts().generate_events(0, COUNT).column("symbol").to_pylist())
    assert ticks.most_common(1)[0][0] == symbols.most_common(1)[0][0]


def test_half_of_the_thresholds_are_one_sided() -> None:
    regions, whole = Alerts().generate_regions(0, COUNT), key_domain(DOUBLE)
    above = below = both = 0
    for name, column_constraints in regions.constraints.items():
        if name != "symbol":
            assert isinstance(column_constraints.batch, Scalars)
            has_lower, has_upper = (
                column_constraints.batch.lower != whole.low,
                column_constraints.batch.upper != whole.high,
            )
            above += int((has_lower & ~has_upper).sum())
            below += int((~has_lower & has_upper).sum())
            both += int((has_lower & has_upper).sum())
    assert both / (above + below + both) == pytest.approx(0.5, abs=0.01)
    assert above / (above + below) == pytest.approx(0.5, abs=0.01)


def test_rows_share_their_symbol_objects() -> None:
    column_constraints = Alerts().generate_regions(0, COUNT).constraints["symbol"]
    assert isinstance(column_constraints.batch, Scalars)
    assert len({id(symbol) for symbol in column_constraints.batch.lower}) <= 5000


def test_alerts_have_the_expected_texts() -> None:
    assert Alerts().generate_predicates(0, 2) == [
        "change_pct <= 0.004888276053623861D AND bid >= 0.9731609346696509D",
        "symbol = 'QNSE' AND volume BETWEEN 0.6105147626322178D AND 0.6105592922039865D",
    ]
