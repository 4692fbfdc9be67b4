"""Nodes of the bitmap tree, compared with NumPy: their tests and bucket sets lose no child."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from covey.index.kernels.bits import LAST, WORDS
from covey.index.kernels.tree_nodes import (
    find_bucket,
    find_tightest_attribute,
    write_bucket_sets,
    write_node_tests,
)
from tests.index.kernels.drawn import SPREADS, WIDTH, boxes, seeds


def is_end(codes: NDArray[Any]) -> NDArray[np.bool_]:
    """Return True for codes of ends, which are neither null nor unbounded."""
    return (codes > 2) & (codes < LAST)


@given(seeds, st.sampled_from([1, 7, 200]), st.sampled_from(SPREADS))
def test_the_tightest_attribute_has_the_smallest_average_share(
    seed: int, count: int, spread: int
) -> None:
    codes = boxes(seed, count, spread).astype(np.int64)
    share = np.full(WIDTH, np.inf)
    for k, (lower, upper) in enumerate(zip(codes.T[:WIDTH], codes.T[WIDTH:], strict=True)):
        ends = np.concatenate([lower, upper])
        if is_end(ends).any():
            first, last = ends[is_end(ends)].min(), ends[is_end(ends)].max()
            met = np.minimum(upper, last) - np.maximum(lower, first) + 1
            share[k] = met.sum() / (last - first + 1)
    rows = np.arange(count, dtype=np.int32)
    assert find_tightest_attribute(codes.astype(np.uint16), rows) == share.argmin()


@given(seeds, st.sampled_from([1, 64, 1000]), st.sampled_from(SPREADS), st.sampled_from([38, 1000]))
def test_a_node_tests_constrained_attributes_with_the_tightest_first(
    seed: int, count: int, spread: int, buckets: int
) -> None:
    codes = boxes(seed, count + 5, spread)
    attribute, base, scale, size = how = np.zeros((4, WIDTH), np.int32)
    tests = write_node_tests(codes, np.array([2, 2 + count]), buckets, 0, *how)
    inside = codes[2 : 2 + count]
    is_free = ((inside[:, :WIDTH] == 0) & (inside[:, WIDTH:] == LAST)).all(axis=0)
    best = find_tightest_attribute(inside, np.arange(count, dtype=np.int32))
    others = [k for k in range(WIDTH) if k != best and not is_free[k]]
    assert attribute[:tests].tolist() == [best, *others]
    for t in range(tests):
        ends = inside[:, attribute[t] :: WIDTH].astype(np.int64)
        ends = ends[is_end(ends)]
        if len(ends):
            span = ends.max() - ends.min() + 1
            assert base[t] == ends.min()
            assert size[t] == min(buckets, span + 2)
            assert scale[t] == min(1 << 16, (buckets - 2 << 16) // span)


def buckets_of(codes: NDArray[np.int64], base: int, scale: int, size: int) -> NDArray[np.int64]:
    """Return `find_bucket` of many codes."""
    buckets: NDArray[np.int64] = np.clip(1 + ((codes - base) * scale >> 16), 0, size - 1)
    return buckets


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("count", [1, 63, 65, 1024])
def test_a_child_that_admits_a_code_is_in_the_set_of_its_bucket(count: int, spread: int) -> None:
    codes = boxes(count + spread, count, spread)
    how = np.zeros((4, WIDTH), np.int32)
    all_codes = np.r_[0, 2, 3:LAST]
    for t in range(write_node_tests(codes, np.array([0, count]), 38, 0, *how)):
        k, base, scale, size = how[:, t].tolist()
        lower, upper = codes[:, k].copy(), codes[:, WIDTH + k].copy()
        sets = np.full(size * WORDS, 7, np.uint64)
        write_bucket_sets(lower, upper, base, scale, size, sets)
        members = np.unpackbits(sets.view(np.uint8), bitorder="little").reshape(size, -1) > 0
        buckets_ = buckets_of(all_codes, base, scale, size)
        assert buckets_[::97].tolist() == [
            find_bucket(code, base, scale, size) for code in all_codes[::97]
        ]
        first, last = (
            buckets_of(ends.astype(np.int64), base, scale, size) for ends in (lower, upper)
        )
        number = np.arange(size)[:, None]
        np.testing.assert_array_equal(members[:, :count], (first <= number) & (number <= last))
        assert not members[:, count:].any(), "bits beyond the children must be 0"
        for positions in np.array_split(np.arange(len(all_codes)), 40):
            code = all_codes[positions, None]
            admits = (lower <= code) & (code <= upper)
            assert not (admits & ~members[buckets_[positions], :count]).any()
