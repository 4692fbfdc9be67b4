"""Operations on words of bits, compared with Python's integers."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from covey.index.kernels import bits
from covey.index.kernels.bits import FREE, LAST, WORDS

words = st.integers(0, 2**64 - 1) | st.integers(0, 63).map(lambda bit: 1 << bit)
sets = st.lists(st.sampled_from([0, 1, 1 << 63, 2**64 - 1]) | words, min_size=WORDS, max_size=WORDS)
codes = st.integers(0, 9) | st.integers(LAST - 9, LAST) | st.integers(0, LAST)


@njit
def inspect_word(word: Any) -> Any:
    return bits.lowest_bit(word), bits.count_bits(word)


@njit
def in_common(all_sets: Any, starts: Any, count: Any, answer: Any) -> Any:
    return bits.intersect_sets(all_sets, starts, count, answer)


@njit
def compared(low: Any, high: Any, lower: Any, upper: Any) -> Any:
    return bits.compare_codes(low, high, lower, upper)


@given(words.filter(bool))
def test_lowest_bit_and_count_bits_equal_those_of_python(word: int) -> None:
    lowest, count = inspect_word(np.uint64(word))
    assert lowest == (word & -word).bit_length() - 1
    assert count == word.bit_count()


def test_count_bits_of_zero_is_zero() -> None:
    assert inspect_word(np.uint64(0))[1] == 0


@given(st.lists(sets, min_size=1, max_size=5), st.data())
def test_intersect_sets_equals_bitwise_and(
    drawn_sets: list[list[int]], data: st.DataObject
) -> None:
    which = data.draw(st.lists(st.integers(0, len(drawn_sets) - 1), min_size=1, max_size=6))
    all_sets, answer = np.array(drawn_sets, np.uint64), np.full(WORDS, 7, np.uint64)
    starts = np.array([*(WORDS * i for i in which), 0], np.uint64)
    mask = in_common(all_sets.ravel(), starts, np.uint64(len(which)), answer)
    expected = np.bitwise_and.reduce(all_sets[which])
    assert answer.tolist() == expected.tolist()
    assert mask == sum(1 << w for w in range(WORDS) if expected[w])


@st.composite
def corners_and_ends(draw: st.DrawFn) -> list[int]:
    """Draw the corners of a query and the ends of a box: equal, adjacent or arbitrary codes."""
    first = draw(codes)
    near = st.sampled_from([first, max(0, first - 1), min(LAST, first + 1)])
    return [first, *(draw(near | codes) for _ in range(3))]


@given(st.lists(corners_and_ends(), min_size=4, max_size=4))
def test_four_codes_are_compared_at_once(four: list[list[int]]) -> None:
    given_words = np.array(four, np.uint16).T.copy().view(np.uint64).ravel()
    outside, doubtful = (
        np.array([word], np.uint64).view(np.uint16).tolist() for word in compared(*given_words)
    )
    free = int(FREE) & 0xFFFF
    assert outside == [
        free if low < lower or upper < high else 0 for low, high, lower, upper in four
    ]
    assert doubtful == [
        free if (low == lower and low % 2) or (high == upper and high % 2) else 0
        for low, high, lower, upper in four
    ]
