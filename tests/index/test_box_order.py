"""The order of boxes: probabilities of codes, and leaves that do not mix groups."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.index.segment.build.box_order import compute_chance_below, order_boxes
from covey.index.segment.encoded_column import LAST
from tests.index.kernels.drawn import WIDTH, boxes, seeds

TOP = np.array([9, 43, 2003, LAST - 2])


@given(seeds, st.none() | st.integers(0, 50))
def test_probabilities_increase_from_0_to_1(seed: int, count: int | None) -> None:
    random = np.random.default_rng(seed)
    events = (
        None if count is None else random.integers(0, TOP + 1, (count, WIDTH)).astype(np.uint16)
    )
    below = compute_chance_below(events, TOP)
    assert below.dtype == np.float32
    assert (below[:, 0] == 0).all()
    assert (np.diff(below, axis=1) >= 0).all()
    assert all((row[top + 1 :] == 1).all() for row, top in zip(below, TOP, strict=True))
    probabilities = below[0, 1:11] - below[0, :10]
    assert (probabilities > 0).all(), "codes outside the sample must have a positive probability"


def test_probabilities_are_those_of_the_sample() -> None:
    events = np.array([[3]] * 30 + [[5]] * 10, np.uint16)
    below = compute_chance_below(events, np.array([9]))[0]
    each = np.diff(below)
    assert each[3] == pytest.approx(0.75, abs=0.02)
    assert each[5] == pytest.approx(0.25, abs=0.02)
    assert each[:10].sum() == pytest.approx(1)
    without = compute_chance_below(None, np.array([9]))[0]
    assert np.diff(without)[:10] == pytest.approx(0.1)


@given(seeds, st.integers(0, 200), st.integers(1, 30), st.integers(1, 5))
def test_leaves_do_not_mix_groups(seed: int, count: int, size: int, groups: int) -> None:
    random = np.random.default_rng(seed)
    group = random.integers(0, groups, count)
    order, leaves = order_boxes(
        boxes(seed, count, 40), group, compute_chance_below(None, TOP), size
    )
    assert order.dtype == np.int32
    assert sorted(order.tolist()) == list(range(count))
    assert (leaves[0], leaves[-1]) == (0, count)
    assert np.diff(leaves).max() <= size
    for start, stop in pairwise(leaves):
        assert len(set(group[order[start:stop]].tolist())) <= 1
    assert (np.diff(group[order]) >= 0).all()
