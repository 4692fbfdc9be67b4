"""Subtraction of boxes, compared with set differences of points."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from covey.covering.kernels.subtraction import choose_largest_takers, subtract_boxes

_ENDS = st.tuples(st.integers(-1, 4), st.integers(-1, 4)).map(sorted)


def _boxes(count: int, axes: int) -> st.SearchStrategy[np.ndarray]:
    one = st.lists(_ENDS, min_size=axes, max_size=axes)
    some = st.lists(one, min_size=count, max_size=count)
    return some.map(lambda boxes: np.array(boxes, np.int32).reshape(count, axes, 2))


def _points(low: np.ndarray, high: np.ndarray) -> set[tuple[int, ...]]:
    return set(product(*(range(a, b + 1) for a, b in zip(low, high, strict=True))))


@given(st.data(), st.integers(1, 3))
def test_the_pieces_after_subtraction_are_the_difference_and_disjoint(
    data: st.DataObject, axes: int
) -> None:
    pieces, boxes = data.draw(_boxes(3, axes)), data.draw(_boxes(3, axes))
    box = np.array(data.draw(st.permutations(range(3))), np.int64)
    low, high = pieces[..., 0].copy(), pieces[..., 1].copy()
    of, lows, highs = subtract_boxes(low, high, box, boxes[..., 0].copy(), boxes[..., 1].copy())
    for i in range(3):
        parts = [_points(lows[p], highs[p]) for p in np.flatnonzero(of == i)]
        whole = _points(low[i], high[i]) - _points(*boxes[box[i]].T)
        inside = _points(*boxes[box[i]].T) & _points(low[i], high[i])
        if inside:  # a box is never subtracted from a piece without a common point
            assert set().union(*parts) == whole
            assert sum(map(len, parts)) == len(whole)


@given(st.data(), st.integers(1, 3))
def test_the_largest_taker_has_a_smaller_rank_and_a_compatible_residual_constraint(
    data: st.DataObject, axes: int
) -> None:
    boxes = data.draw(_boxes(6, axes))
    lower, upper = boxes[..., 0].copy(), boxes[..., 1].copy()
    ranks = np.array(data.draw(st.permutations(range(6))), np.int32)
    residual_ids = np.array(
        data.draw(st.lists(st.integers(0, 2), min_size=6, max_size=6)), np.int32
    )
    owner = np.array([0, 3], np.int64)
    low, high = lower[owner], upper[owner]
    pairs = [(i, b) for i in range(2) for b in range(6) if (lower[b] <= low[i]).all()
             and (low[i] <= upper[b]).all()]  # fmt: skip
    query_rows, stored = np.array(pairs, np.int32).reshape(-1, 2).T.copy()
    best = choose_largest_takers(
        query_rows, stored, owner, low, high, lower, upper, ranks, residual_ids
    )
    for i in range(2):
        own_row = owner[i]
        allowed = [b for a, b in pairs if a == i and ranks[b] < ranks[own_row]
               and residual_ids[b] in (0, residual_ids[own_row])]  # fmt: skip
        piece = _points(low[i], high[i])
        candidates = [(-len(piece & _points(lower[b], upper[b])), ranks[b], b) for b in allowed]
        assert best[i] == (min(candidates)[2] if candidates else -1)
