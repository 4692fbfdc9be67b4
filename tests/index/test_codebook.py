"""Codebooks keep the order of keys and report which intervals their codes express exactly."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.geometry.scalars import ALL, EXCEPT, ONLY, Scalars
from covey.index.segment import encoded_column
from covey.index.segment.encoded_column import LAST, NULL, UNBOUNDED, Codebook
from covey.space.keys import key_domain
from covey.space.ragged_array import RaggedArray
from covey.space.types import Type

WHOLE = key_domain(Type("bigint"))
keys = st.integers(-30, 30) | st.sampled_from(
    [WHOLE.low, WHOLE.low + 1, WHOLE.high - 1, WHOLE.high]
)


def intervals(pairs: list[tuple[int, int]]) -> Scalars:
    lower, upper = np.array([sorted(pair) for pair in pairs], np.int64).reshape(-1, 2).T.copy()
    return Scalars.from_intervals(WHOLE, lower, upper)


def encode_keys(codebook: Codebook, keys: list[int]) -> list[int]:
    found = np.empty(len(keys), np.uint16)
    codebook.write_codes(np.array(keys, np.int64), np.ones(len(keys), np.bool_), found)
    return found.tolist()


@given(st.lists(st.tuples(keys, keys)), st.lists(keys))
def test_codes_keep_order_and_are_even_at_boundaries(
    stored: list[tuple[int, int]], query_keys: list[int]
) -> None:
    codebook = Codebook.from_scalars(intervals(stored))
    known = set(codebook.boundaries.tolist())
    found = sorted(zip(query_keys, encode_keys(codebook, query_keys), strict=True))
    for (key, code), (other, following) in pairwise(found):
        assert code <= following
        assert code < following or key == other or code % 2, "two keys have the same even code"
    assert [code % 2 == 0 for _, code in found] == [key in known for key, _ in found]
    assert all(UNBOUNDED < code < LAST for _, code in found)
    even = np.array([code for _, code in found if code % 2 == 0], np.uint16)
    assert codebook.decode_keys(even).tolist() == [key for key, _ in found if key in known]


@given(st.lists(st.tuples(keys, keys), min_size=1), st.data())
def test_an_interval_of_codes_contains_the_codes_of_its_keys(
    stored: list[tuple[int, int]], data: st.DataObject
) -> None:
    """Keys outside the interval have codes outside it, or share the code of an end."""
    batch = intervals(stored)
    codebook = Codebook.from_boundaries(np.unique(data.draw(st.lists(keys, min_size=1))))
    lower, upper, exact = codebook.encode_intervals(batch)
    assert exact.all()
    query_keys = [key for pair in stored for end in pair for key in (end - 1, end, end + 1)]
    query_keys = [key for key in query_keys if WHOLE.low <= key <= WHOLE.high]
    for key, code in zip(query_keys, encode_keys(codebook, query_keys), strict=True):
        within = (lower <= code) & (code <= upper)
        admitted = (batch.lower <= key) & (key <= batch.upper)
        shared = (code % 2 == 1) & ((code == lower) | (code == upper))
        assert (within | ~admitted).all()
        assert (admitted | ~within | shared).all()


@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("listed", [ALL, ONLY, EXCEPT])
def test_codes_express_intervals_without_lists_or_separate_nulls_exactly(
    nulls: bool, listed: int
) -> None:
    """Codes do not express a list, or null beside keys that do not begin with the lowest key."""
    lower, upper = np.array([WHOLE.low, 3, 3, WHOLE.low]), np.array([5, 5, WHOLE.high, WHOLE.high])
    marks, lists = np.full(4, listed, np.int8), RaggedArray.from_rows([[4, -9, 99]] * 4, np.int64)
    batch = Scalars.from_intervals(WHOLE, lower, upper, nulls=nulls, list_modes=marks, lists=lists)
    codebook = Codebook.from_boundaries(np.array([3, 5]))
    low, high, exact = codebook.encode_intervals(batch)
    unlisted = batch.listed == ALL
    assert exact.tolist() == (unlisted & (~batch.nulls | (batch.lower == WHOLE.low))).tolist()
    if listed == ALL:
        assert low.tolist() == ([0, 0, 0, 0] if nulls else [UNBOUNDED, 4, 4, UNBOUNDED])
        assert high.tolist() == [6, 6, LAST, LAST]


def test_null_alone_is_an_interval_of_one_code() -> None:
    null = Scalars.from_intervals(WHOLE, np.array([WHOLE.high]), np.array([WHOLE.low]), nulls=True)
    low, high, exact = Codebook.from_scalars(null).encode_intervals(null)
    assert (low[0], high[0], exact[0]) == (NULL, NULL, True)


def test_boundaries_are_a_sample_of_many_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoded_column, "MAX_BOUNDARIES", 10)
    few, many = intervals([(i, i + 100) for i in range(5)]), intervals([(i, i) for i in range(99)])
    assert Codebook.from_scalars(few).boundaries.tolist() == [*range(5), *range(100, 105)]
    boundaries = Codebook.from_scalars(many).boundaries.tolist()
    assert len(boundaries) == 10
    assert (boundaries[0], boundaries[-1]) == (0, 98)
    heavy = intervals([(7, 7)] * 500 + [(i, i) for i in range(99)])
    assert 7 in Codebook.from_scalars(heavy).boundaries.tolist()
    assert len(Codebook.from_scalars(heavy).boundaries) < 10, "a key drawn twice counts once"
