"""The partition of boxes into leaves: no box is lost, leaves are small and keep boxes together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.index.kernels.bits import LAST
from covey.index.kernels.box_partition import _quick_select, find_most_selective, partition_boxes
from covey.index.segment.build.box_order import compute_chance_below, order_boxes
from tests.index.kernels.drawn import SPREADS, WIDTH, boxes, seeds

TOP = np.array([9, 43, 2003, LAST - 2])


@given(seeds, st.sampled_from(SPREADS))
def test_the_most_selective_attribute_has_the_lowest_probability(seed: int, spread: int) -> None:
    codes = boxes(seed, 50, spread)
    events = np.random.default_rng(seed).integers(0, TOP + 1, (20, WIDTH)).astype(np.uint16)
    below = compute_chance_below(events, TOP)
    every = np.arange(WIDTH)
    chance = below[every, codes[:, WIDTH:] + 1] - below[every, codes[:, :WIDTH]]
    found, least = find_most_selective(codes, below)
    assert found.tolist() == chance.argmin(axis=1).tolist()
    assert least.tolist() == chance.min(axis=1).tolist()


@given(seeds, st.integers(0, 300), st.integers(1, 40), st.sampled_from(SPREADS))
def test_boxes_are_partitioned_into_leaves(seed: int, count: int, size: int, spread: int) -> None:
    codes = boxes(seed, 300, spread)
    below = compute_chance_below(None, TOP)
    chosen = np.random.default_rng(seed).permutation(300)[:count].astype(np.int32)
    order = chosen.copy()
    ends = partition_boxes(codes, below, (below < 1).sum(axis=1), order, size)
    assert sorted(order.tolist()) == sorted(chosen.tolist())
    assert ends[-1] == count
    sizes = np.diff(ends, prepend=0)
    assert sizes.max() <= size
    assert count == 0 or sizes.min() > 0
    assert len(ends) == max(1, -(-count // size)), "there must be no more leaves than needed"


@given(st.lists(st.integers(0, 3) | st.integers(0, 65535), min_size=1, max_size=80), st.data())
def test_quick_select_puts_smaller_keys_first(keys: list[int], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(keys) - 1))
    last = data.draw(st.integers(first, len(keys) - 1))
    middle = data.draw(st.integers(first, last))
    moved, order = np.array(keys, np.uint16), np.arange(len(keys), dtype=np.int32)
    _quick_select(moved, order, first, last, middle)
    assert moved.tolist() == [keys[i] for i in order]
    assert sorted(order.tolist()) == list(range(len(keys)))
    assert order[:first].tolist() == list(range(first))
    assert order[last + 1 :].tolist() == list(range(last + 1, len(keys)))
    assert max(moved[first:middle], default=0) <= min(moved[middle : last + 1])


@pytest.mark.parametrize("column", range(WIDTH))
@pytest.mark.parametrize("side", [0, WIDTH])
def test_separate_groups_of_boxes_get_separate_leaves(column: int, side: int) -> None:
    """With four groups along one end of one attribute, each leaf has boxes of one group."""
    random = np.random.default_rng(column)
    codes = np.zeros((400, 2 * WIDTH), np.uint16)
    codes[:, WIDTH:] = LAST
    heap = random.permutation(np.repeat(np.arange(4), 100))
    codes[:, column + side] = 4 + 200 * heap + random.integers(0, 20, 400)
    order, leaves = order_boxes(
        codes, np.zeros(400, np.int64), compute_chance_below(None, np.full(WIDTH, 803)), 100
    )
    assert leaves.tolist() == [0, 100, 200, 300, 400]
    assert all(len(set(heap[order[start : start + 100]])) == 1 for start in leaves[:-1])
