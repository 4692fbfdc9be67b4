"""Codes of keys, compared with binary search."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from covey.index.kernels.bits import LAST
from covey.index.segment.encoded_column import MAX_BOUNDARIES, Codebook
from covey.space.keys import encode_floats

Ints = NDArray[np.int64]
LOWEST, HIGHEST = -(2**63), 2**63 - 1

keys = (
    st.sampled_from([LOWEST, LOWEST + 1, -1, 0, 1, HIGHEST - 1, HIGHEST])
    | st.integers(-20, 20)
    | st.integers(LOWEST, HIGHEST)
)


def searched(boundaries: Ints, keys: Ints, valid: NDArray[np.bool_]) -> Ints:
    """Return the codes that binary search gives."""
    position = np.searchsorted(boundaries, keys)
    is_boundary = boundaries[np.minimum(position, len(boundaries) - 1)] == keys
    return np.where(valid, 2 * position + 3 + is_boundary, 0)


def check(boundaries: Ints, keys: Ints, valid: NDArray[np.bool_] | None = None) -> None:
    valid = np.ones(len(keys), np.bool_) if valid is None else valid
    codes = np.full((len(keys), 2), 77, np.uint16)
    Codebook.from_boundaries(boundaries).write_codes(keys, valid, codes[:, 1])
    assert codes[:, 1].tolist() == searched(boundaries, keys, valid).tolist()
    assert (codes[:, 0] == 77).all(), "the adjacent column must not be written"


@given(st.sets(keys, min_size=1, max_size=30), st.lists(st.tuples(keys, st.booleans())))
def test_codes_are_positions_among_boundaries(
    boundary_set: set[int], query_keys: list[tuple[int, bool]]
) -> None:
    boundaries = np.array(sorted(boundary_set), np.int64)
    nearby_keys = [min(max(key + by, LOWEST), HIGHEST) for key in boundary_set for by in (-1, 0, 1)]
    check(boundaries, np.array(nearby_keys, np.int64))
    check(
        boundaries,
        np.array([key for key, _ in query_keys], np.int64),
        np.array([is_valid for _, is_valid in query_keys], np.bool_),
    )


@pytest.mark.parametrize("count", [1, 2, 4095, 4097, MAX_BOUNDARIES])
@pytest.mark.parametrize("shape", ["dense", "even", "wide", "floats", "two heaps", "powers"])
def test_boundaries_may_have_any_distribution(shape: str, count: int) -> None:
    random, numbers = np.random.default_rng(count), np.arange(count)
    wide = random.integers(LOWEST, HIGHEST, count, endpoint=True)
    boundaries = np.unique(
        {
            "dense": numbers - count // 2,
            "even": np.linspace(-(2**62), 2**62, count).astype(np.int64),
            "wide": np.append(wide[2:], [LOWEST, HIGHEST]),
            "floats": encode_floats(random.lognormal(3, 2, count)),
            "two heaps": np.where(numbers % 2, LOWEST + numbers, HIGHEST - numbers),
            "powers": np.sign(wide) * 2 ** random.integers(0, 62, count),
        }[shape]
    )
    below, above = np.maximum(boundaries, LOWEST + 1) - 1, np.minimum(boundaries, HIGHEST - 1) + 1
    between = boundaries[:-1] // 2 + boundaries[1:] // 2
    others = random.integers(LOWEST, HIGHEST, 1000, endpoint=True)
    check(boundaries, np.concatenate([boundaries, below, above, between, others]))


def test_the_highest_code_is_below_that_of_an_unbounded_end() -> None:
    boundaries = np.arange(MAX_BOUNDARIES)
    assert searched(boundaries, np.array([HIGHEST]), np.array([True]))[0] < LAST
