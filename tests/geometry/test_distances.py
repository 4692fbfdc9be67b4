"""Distances as Spark computes them, compared with a plain loop in float32."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.geometry.distances import Metric, relative_error_bound, score_pairs, score_rows
from tests.geometry.plain import plain_score

numbers = st.floats(width=32) | st.floats(-2, 2, width=32)


@st.composite
def two_vectors(draw: st.DrawFn) -> tuple[list[float], list[float]]:
    """Return two vectors whose length is less than, equal to or more than a block of eight."""
    length = draw(st.sampled_from([1, 3, 7, 8, 9, 16, 21]))
    vector = st.lists(numbers, min_size=length, max_size=length)
    return draw(vector), draw(vector)


@pytest.mark.parametrize("metric", list(Metric))
@given(st.lists(two_vectors(), min_size=1, max_size=1))
def test_scores_are_those_of_a_plain_loop(
    metric: Metric, pairs: list[tuple[list[float], list[float]]]
) -> None:
    a, b = (np.array([pair[side] for pair in pairs], np.float32) for side in (0, 1))
    scores, defined = score_rows(metric, a, b)
    for k, (x, y) in enumerate(pairs):
        expected = plain_score(metric, x, y)
        assert defined[k] == (expected is not None)
        if expected is not None:
            assert scores.dtype == np.float32
            np.testing.assert_array_equal(scores[k], expected)


@given(two_vectors(), st.integers(0, 1000))
def test_pair_scores_equal_row_scores(pair: tuple[list[float], list[float]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = (np.array([side, rng.normal(size=len(side))], np.float32) for side in pair)
    metrics = rng.integers(0, 2, 2).astype(np.uint8)
    i, j = rng.integers(0, 2, (2, 5))
    scores, defined = score_pairs(metrics, a, i, b, j)
    for k in range(5):
        metric = Metric(int(metrics[j[k]]))
        expected, is_defined = score_rows(metric, a[i[k : k + 1]], b[j[k : k + 1]])
        assert defined[k] == is_defined[0]
        np.testing.assert_array_equal(scores[k : k + 1], expected)
        assert scores.dtype == expected.dtype


@pytest.mark.parametrize("length", [8, 33, 384])
def test_scores_of_many_pairs_have_the_same_bits(length: int) -> None:
    rng = np.random.default_rng(length)
    a, b = rng.normal(size=(2, 500, length)).astype(np.float32)
    for metric in Metric:
        metrics, rows = np.full(500, metric, np.uint8), np.arange(500)
        scores = score_pairs(metrics, a, rows, b, rows)[0]
        assert scores.tobytes() == score_rows(metric, a, b)[0].tobytes()


def test_another_order_of_additions_gives_other_bits() -> None:
    """Adding one by one gives another float32 for some vectors, so the blocks are necessary."""
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(50, 33)).astype(np.float32)
    one_by_one = np.sqrt(np.cumsum(vectors * vectors, axis=1, dtype=np.float32)[:, -1])
    assert (score_rows(Metric.L2, vectors, np.zeros_like(vectors))[0] != one_by_one).any()


@given(two_vectors())
def test_the_relative_error_is_bounded(pair: tuple[list[float], list[float]]) -> None:
    a, b = (np.nan_to_num(np.array([side], np.float32), posinf=1, neginf=-1) for side in pair)
    a, b = np.clip(a, -1e6, 1e6), np.clip(b, -1e6, 1e6)
    exact = float(np.linalg.norm(a.astype(np.float64) - b))
    computed = float(score_rows(Metric.L2, a, b)[0][0])
    assert abs(computed - exact) <= relative_error_bound(a.shape[1]) * exact + 1e-20


def test_a_vector_without_direction_has_no_cosine() -> None:
    zero, one = np.zeros((1, 2), np.float32), np.ones((1, 2), np.float32)
    assert score_rows(Metric.COSINE, zero, one)[1].tolist() == [False]
    assert score_rows(Metric.COSINE, one * np.float32(1e-30), one)[1].tolist() == [False]
    assert score_rows(Metric.L2, zero, one)[1].tolist() == [True]
