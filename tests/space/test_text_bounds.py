"""Bounds of text intervals have one total order together with the texts."""

from __future__ import annotations

import pickle
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.space.text_bounds import TOP, Below, TextBound, next_text, upper_bound_before

texts = st.text(alphabet="\0a\uffff\U0001f600", max_size=3)
ends = texts | texts.map(Below) | st.just(TOP)


def to_order_key(end: TextBound) -> tuple[int, str, int]:
    """Return the position of a bound as a tuple: just before, at, or after all texts."""
    if isinstance(end, str):
        return 0, end, 1
    return (1, "", 0) if end.text is None else (0, end.text, 0)


@given(ends, ends)
def test_the_order_is_total(a: TextBound, b: TextBound) -> None:
    x, y = to_order_key(a), to_order_key(b)
    assert (a < b, a <= b, a == b, a != b, a >= b, a > b) == (
        x < y, x <= y, x == y, x != y, x >= y, x > y,
    )  # fmt: skip


@given(st.lists(ends, max_size=6))
def test_arrays_of_bounds_compare_and_sort(bounds: list[TextBound]) -> None:
    """Two arrays are compared, because NumPy drops NULs from the end of a single text."""
    column = np.empty(len(bounds), object)
    column[:] = bounds
    assert [to_order_key(end) for end in np.sort(column)] == sorted(map(to_order_key, bounds))
    backwards = column[::-1]
    compared = np.asarray(column <= backwards, np.bool_).tolist()
    assert compared == [
        to_order_key(a) <= to_order_key(b) for a, b in zip(bounds, bounds[::-1], strict=True)
    ]


@given(texts, texts)
def test_the_order_of_texts_is_that_of_their_bytes(a: str, b: str) -> None:
    """Spark has the same order: code points beyond the BMP come last."""
    assert (a < b) == (a.encode() < b.encode())


@given(texts, texts)
def test_nothing_lies_between_a_text_and_the_adjacent_bounds(a: str, b: str) -> None:
    assert a < next_text(a)
    assert not a < b < next_text(a)
    assert (b < a) == (b <= upper_bound_before(a))


def test_each_bound_has_one_normal_form() -> None:
    assert upper_bound_before("b\0") == "b"
    assert upper_bound_before("b") == Below("b") != "b"
    assert upper_bound_before("") < ""


@pytest.mark.parametrize("order", list(permutations(["", "a", Below("b"), "b", TOP])))
def test_every_permutation_sorts_to_the_same_order(order: tuple[TextBound, ...]) -> None:
    assert sorted(order) == ["", "a", Below("b"), "b", TOP]


@given(ends)
def test_equal_bounds_have_equal_hashes_also_after_pickling(end: TextBound) -> None:
    again = pickle.loads(pickle.dumps(end))
    assert again == end
    assert hash(again) == hash(end)
