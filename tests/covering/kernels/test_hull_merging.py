"""Cost and perfection of hull merges, compared with plain sums over points."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from covey.covering.kernels.hull_merging import (
    compute_added_volume,
    compute_side_bits,
    count_admitted,
    is_perfect_merge,
    merge_pairwise,
)

_ENDS = st.tuples(st.integers(0, 4), st.integers(0, 4)).map(sorted)


@st.composite
def _boxes(draw: st.DrawFn, count: int) -> tuple[np.ndarray, np.ndarray]:
    axes = draw(st.integers(1, 3))
    one = st.lists(_ENDS, min_size=axes, max_size=axes)
    boxes = np.array(draw(st.lists(one, min_size=count, max_size=count)), np.int32)
    return boxes[..., 0].copy(), boxes[..., 1].copy()


def _points(low: np.ndarray, high: np.ndarray) -> set[tuple[int, ...]]:
    return set(product(*(range(a, b + 1) for a, b in zip(low, high, strict=True))))


def _ends(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    return np.stack([lower, upper + 1], axis=2).reshape(len(lower), -1).astype(np.float64)


@given(_boxes(2))
def test_added_volume_and_perfection_are_those_of_point_sets(
    boxes: tuple[np.ndarray, np.ndarray],
) -> None:
    lower, upper = boxes
    one, other = (_points(lower[i], upper[i]) for i in range(2))
    hull = _points(lower.min(axis=0), upper.max(axis=0))
    volumes = np.array([len(one), len(other)], np.float64)
    more = len(hull) - len(one | other)
    assert compute_added_volume(_ends(lower, upper), volumes, 0, 1) == max(more, 1e-18)
    assert is_perfect_merge(lower, upper, 0, 1) == (more == 0)


@given(_boxes(2), st.integers(0, 150), st.integers(0, 99))
def test_newly_admitted_events_are_those_in_the_hull(
    boxes: tuple[np.ndarray, np.ndarray], count: int, seed: int
) -> None:
    lower, upper = boxes
    events = np.random.default_rng(seed).integers(-1, 6, (count, lower.shape[1]), np.int32)
    hull = (lower.min(axis=0) <= events) & (events <= upper.max(axis=0))
    bits = compute_side_bits(lower, upper, events)
    known = np.zeros(bits.shape[1], np.uint64)
    assert count_admitted(bits, 0, 1, known, True) == hull.all(axis=1).sum()
    assert count_admitted(bits, 0, 1, known, True) == 0


@given(_boxes(9), st.integers(0, 99), st.sampled_from([0.0, 3.0, 20.0, np.inf]))
def test_merge_costs_are_right_and_stay_within_the_limit(
    boxes: tuple[np.ndarray, np.ndarray], seed: int, limit: float
) -> None:
    lower, upper = boxes
    events = np.random.default_rng(seed).integers(0, 5, (20, lower.shape[1]), np.int32)
    residual_ids = np.array([0, 0, 0, 0, 0, 0, 1, 1, 2], np.int32)
    ends = _ends(lower, upper)
    hulls = [part.copy() for part in (lower, upper, ends)]
    pairs, costs, perfect = merge_pairwise(*hulls, residual_ids, events, 0.5, limit)
    assert costs.sum() <= limit
    if limit == np.inf:
        assert len(pairs) == 5 + 1
    alive = {i: _points(lower[i], upper[i]) for i in range(9)}
    low, high = lower.copy(), upper.copy()
    admitted = np.zeros(len(events), np.bool_)
    for (i, j), cost, is_free in zip(pairs.tolist(), costs, perfect, strict=True):
        assert residual_ids[i] == residual_ids[j]
        low[i], high[i] = np.minimum(low[i], low[j]), np.maximum(high[i], high[j])
        one, other = alive[i], alive.pop(j)
        alive[i] = _points(low[i], high[i])
        more = len(alive[i]) - len(one | other)
        inside = ((low[i] <= events) & (events <= high[i])).all(axis=1)
        assert is_free == (more == 0)
        assert np.isclose(cost, 0 if is_free else max(more * 0.5, (inside & ~admitted).sum()))
        admitted |= inside
    for i in alive:
        assert (hulls[0][i] == low[i]).all()
        assert (hulls[1][i] == high[i]).all()
