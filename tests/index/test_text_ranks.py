"""Ranks of texts and long decimals are ordered like keys, if a stored end separates them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from covey.geometry.scalars import Scalars
from covey.index.segment.text_ranks import TextRanks, pack_values, unpack_values
from covey.space.keys import Domain, key_domain
from covey.space.ragged_array import RaggedArray
from covey.space.text_bounds import TOP, Below, upper_bound_before
from covey.space.types import STRING, decimal_type

LONG = key_domain(decimal_type(38, 0))
texts = st.text(st.sampled_from("ab\0é\uffff\U0001f600"), max_size=4)
ends = st.just(TOP) | texts | texts.filter(lambda text: text != "").map(upper_bound_before)
numbers = (
    st.sampled_from([LONG.low, LONG.low + 1, -(2**64), 2**63, LONG.high - 1, LONG.high])
    | st.integers(-9, 9)
    | st.integers(LONG.low, LONG.high)
)


def objects(keys: Any) -> NDArray[np.object_]:
    array = np.empty(len(keys), object)
    array[:] = keys
    return array


def batch_of(whole: Domain, intervals: list[tuple[Any, Any]]) -> Scalars:
    non_empty = [(lower, upper) for lower, upper in intervals if lower <= upper]
    return Scalars.from_intervals(
        whole, objects([a for a, _ in non_empty]), objects([b for _, b in non_empty])
    )


def check_order(batch: Scalars, keys: list[Any]) -> None:
    """Fail unless a rank is on the inner side of a stored end exactly if its key is."""
    ranks = TextRanks.from_scalars(batch)
    key_ranks = ranks.find_ranks(objects(keys))
    for lower, rank in zip(
        batch.lower.tolist(), ranks.find_ranks(batch.lower).tolist(), strict=True
    ):
        assert (rank <= key_ranks).tolist() == [lower <= key for key in keys]
    for upper, rank in zip(
        batch.upper.tolist(), ranks.find_ranks(batch.upper).tolist(), strict=True
    ):
        assert (key_ranks <= rank).tolist() == [key <= upper for key in keys]
    assert ((key_ranks >= ranks.domain.low) & (key_ranks <= ranks.domain.high)).all()


@given(st.lists(st.tuples(texts, ends), max_size=5), st.lists(texts, max_size=5))
def test_ranks_of_texts_have_the_order_of_texts(
    stored: list[tuple[str, Any]], query_keys: list[str]
) -> None:
    batch = batch_of(key_domain(STRING), stored)
    named = [key for pair in stored for key in pair if isinstance(key, str)]
    nearby_keys = [text + "\0" for text in named] + [text[:-1] for text in named]
    check_order(batch, [*query_keys, *named, *nearby_keys, ""])


@given(st.lists(st.tuples(numbers, numbers), max_size=5), st.lists(numbers, max_size=5))
def test_ranks_of_long_decimals_have_the_order_of_numbers(
    stored: list[tuple[int, int]], query_keys: list[int]
) -> None:
    batch = batch_of(LONG, stored)
    nearby_keys = [key + by for pair in stored for key in pair for by in (-1, 0, 1)]
    check_order(batch, [*query_keys, *(key for key in nearby_keys if LONG.low <= key <= LONG.high)])


@given(st.lists(st.tuples(texts, ends)), st.lists(texts, min_size=1), st.booleans())
def test_constraints_on_texts_are_restored(
    stored: list[tuple[str, Any]], listed: list[str], nulls: bool
) -> None:
    plain = batch_of(key_domain(STRING), stored)
    count = len(plain)
    lists = RaggedArray.from_rows([listed] * count)
    marks = np.array([(-1) ** i for i in range(count)], np.int8)
    for batch in (
        plain,
        Scalars.from_intervals(
            plain.domain, plain.lower, plain.upper, nulls=nulls, list_modes=marks, lists=lists
        ),
    ):
        ranks = TextRanks.from_scalars(batch)
        back = ranks.decode_constraints(ranks.encode_constraints(batch))
        assert [back.row(i) for i in range(count)] == [batch.row(i) for i in range(count)]
        assert back.nulls.tolist() == batch.nulls.tolist()
        assert back.domain == batch.domain


def test_only_ends_and_listed_keys_are_stored() -> None:
    batch = batch_of(key_domain(STRING), [("", TOP), ("b", Below("d")), ("", "")])
    assert TextRanks.from_scalars(batch).stored_values == ["b", "d"]
    found = TextRanks.from_scalars(batch).find_ranks(
        objects(["", "a", "b", "c", Below("d"), "d", "e", TOP])
    )
    assert found.tolist() == [-1, 0, 1, 2, 2, 3, 4, 5]


def test_the_highest_decimal_is_both_a_key_and_an_end() -> None:
    batch = batch_of(LONG, [(3, 5), (LONG.low, LONG.high)])
    found = TextRanks.from_scalars(batch).find_ranks(
        objects([LONG.low, 2, 3, 4, 5, LONG.high - 1, LONG.high])
    )
    assert found.tolist() == [-1, 0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("whole", "values"),
    [
        (key_domain(STRING), ["", "\0", "a\0b", "é", "\U0001f600\0\0", "𝔞", "1"]),
        (LONG, [LONG.low, -1, 0, 2**64, LONG.high]),
        (key_domain(STRING), []),
        (LONG, []),
    ],
)
def test_packed_values_are_restored(whole: Domain, values: list[Any]) -> None:
    content, starts = pack_values(values)
    assert content.dtype == np.uint8
    assert starts.dtype == np.int64
    assert unpack_values(content, starts, whole) == values
