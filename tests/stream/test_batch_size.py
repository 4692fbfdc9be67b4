"""The choice of the number of events per batch."""

from __future__ import annotations

from typing import Any

import pytest

from covey.stream.batches.batch_size import choose_max_events, compute_observed_cost


def make_status(*batches: tuple[int, float]) -> dict[str, Any]:
    return {"batches": [{"events": events, "match_ms": ms} for events, ms in batches]}


@pytest.mark.parametrize(
    ("cost_s", "events"),
    [
        (50e-6, 100_000), (1e-3, 5_000), (1.0, 1_000), (1e9, 1_000), (1e-12, 2_000_000),
        (None, 50_000), (0.0, 50_000), (-1.0, 50_000),
    ],
)  # fmt: skip
def test_a_batch_takes_some_seconds_within_bounds(cost_s: float | None, events: int) -> None:
    assert choose_max_events(cost_s) == events


def test_the_constant_cost_of_a_batch_is_no_cost_of_events() -> None:
    assert compute_observed_cost(make_status((10, 250.0), (10_010, 750.0))) == pytest.approx(50e-6)
    assert compute_observed_cost(
        make_status((10, 250.0), (20, 9000.0), (10_010, 750.0))
    ) == pytest.approx(50e-6)


def test_the_median_of_larger_batches_counts() -> None:
    batches = [(0, 0.0), (10_000, 100.0), (10_000, 9000.0), (10_000, 200.0)]
    assert compute_observed_cost(make_status(*batches)) == pytest.approx(20e-6)


def test_batches_of_one_size_give_no_cost() -> None:
    assert compute_observed_cost(make_status((100_000, 10.0), (100_000, 9000.0))) is None
    assert compute_observed_cost(make_status((499, 10.0), (0, 0.0))) is None
    assert compute_observed_cost(make_status()) is None
    assert compute_observed_cost(None) is None
