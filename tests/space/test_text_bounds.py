"""Ends of intervals of text: one total order with the texts themselves."""

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


def place(end: TextBound) -> tuple[int, str, int]:
    """Where an end stands, said plainly: just before its text, at it, or after all."""
    if isinstance(end, str):
        return 0, end, 1
    return (1, "", 0) if end.text is None else (0, end.text, 0)


@given(ends, ends)
def test_the_order_is_total(a: TextBound, b: TextBound) -> None:
    x, y = place(a), place(b)
    assert (a < b, a <= b, a == b, a != b, a >= b, a > b) == (
        x < y, x <= y, x == y, x != y, x >= y, x > y,
    )  # fmt: skip


@given(st.lists(ends, max_size=6))
def test_arrays_of_ends_compare_and_sort(some: list[TextBound]) -> None:
    """With arrays, not with a single text: NumPy drops NULs from the end of one."""
    column = np.empty(len(some), object)
    column[:] = some
    assert [place(end) for end in np.sort(column)] == sorted(map(place, some))
    backwards = column[::-1]
    compared = np.asarray(column <= backwards, np.bool_).tolist()
    assert compared == [place(a) <= place(b) for a, b in zip(some, some[::-1], strict=True)]


@given(texts, texts)
def test_the_order_of_texts_is_that_of_their_bytes(a: str, b: str) -> None:
    """As Spark orders them: code points beyond the BMP come last."""
    assert (a < b) == (a.encode() < b.encode())


@given(texts, texts)
def test_nothing_lies_between_a_text_and_its_neighbours(a: str, b: str) -> None:
    assert a < next_text(a)
    assert not a < b < next_text(a)
    assert (b < a) == (b <= upper_bound_before(a))


def test_one_spelling_of_each_end() -> None:
    assert upper_bound_before("b\0") == "b"
    assert upper_bound_before("b") == Below("b") != "b"
    assert upper_bound_before("") < ""


@pytest.mark.parametrize("order", list(permutations(["", "a", Below("b"), "b", TOP])))
def test_any_order_sorts_to_one(order: tuple[TextBound, ...]) -> None:
    assert sorted(order) == ["", "a", Below("b"), "b", TOP]


@given(ends)
def test_equal_ends_have_equal_hashes_and_survive_a_journey(end: TextBound) -> None:
    again = pickle.loads(pickle.dumps(end))
    assert again == end
    assert hash(again) == hash(end)
