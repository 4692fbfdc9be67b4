"""Scalars: relations are exact in both directions, and rows have a normal form."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from covey.geometry.scalars import ALL, EXCEPT, ONLY, Scalars
from covey.space import Attribute
from covey.space.keys import key_domain
from covey.space.ragged_array import RaggedArray
from covey.space.text_bounds import TOP, Below
from covey.space.types import INT, STRING
from covey.testing.strategies import regions
from tests.geometry.cases import pairs_of, scalar_attributes, space_of
from tests.geometry.witnesses import admitted, keys_of_interest


def draw_pairs(data: st.DataObject, attribute: Attribute) -> tuple[Scalars, Scalars]:
    """Return two batches in which every row of one random batch meets every row of another."""
    space = space_of(attribute)
    a, b = data.draw(regions(space)), data.draw(regions(space))
    i, j = pairs_of(a, b)
    return a.gather_constraints(attribute, i), b.gather_constraints(attribute, j)  # type: ignore[return-value]


@given(st.data(), scalar_attributes)
def test_covers_means_that_no_key_is_a_witness_against_it(
    data: st.DataObject, attribute: Attribute
) -> None:
    outer, inner = draw_pairs(data, attribute)
    for i, covered in enumerate(outer.covers(inner).tolist()):
        keys = keys_of_interest(outer.domain, outer.row(i), inner.row(i))
        against = admitted(inner, i, keys) & ~admitted(outer, i, keys)
        assert covered == (not against.any())


@given(st.data(), scalar_attributes)
def test_overlaps_means_that_some_key_is_a_witness_for_it(
    data: st.DataObject, attribute: Attribute
) -> None:
    a, b = draw_pairs(data, attribute)
    common = a.intersect(b)
    assert a.overlaps(b).tolist() == b.overlaps(a).tolist() == (~common.is_empty).tolist()
    for i in range(len(a)):
        keys = keys_of_interest(a.domain, a.row(i), b.row(i))
        both = admitted(a, i, keys) & admitted(b, i, keys)
        assert admitted(common, i, keys).tolist() == both.tolist()
        assert a.overlaps(b)[i] == both.any()


def test_an_interval_with_a_list_has_one_normal_form() -> None:
    """Ends that a list does not admit move inwards, and the shorter list is used."""
    whole = key_domain(INT)

    def row(lower: int, upper: int, listed: int, keys: list[int]) -> object:
        """Return the normal form of an interval with a list."""
        ends = np.array([lower], np.int64), np.array([upper], np.int64)
        lists = RaggedArray.from_rows([keys], np.int64)
        batch = Scalars.from_intervals(
            whole, *ends, nulls=False, list_modes=np.array([listed], np.int8), lists=lists
        )
        return batch.row(0)

    assert row(0, 9, ONLY, [3]) == (3, 3, ALL, [])
    assert row(0, 9, ONLY, [5, 3, 4]) == (3, 5, ALL, [])
    assert row(0, 9, ONLY, [3, 7, 12]) == (3, 7, ONLY, [3, 7])
    assert row(0, 9, EXCEPT, [0, 1, 4, 9, 12]) == (2, 8, EXCEPT, [4])
    assert row(0, 9, EXCEPT, [12]) == (0, 9, ALL, [])
    assert row(0, 1, EXCEPT, [0, 1]) == row(1, 0, ALL, []) == row(0, 9, ONLY, [12])


def test_an_excluded_text_moves_the_end_of_an_interval() -> None:
    """`<> 'b'` moves a lower end to `'b\\0'`, and an upper end to the bound before `'b'`."""
    whole = key_domain(STRING)
    ends = np.array(["b", "a"], object), np.array([TOP, "b"], object)
    lists = RaggedArray.from_rows([["b"], ["b"]])
    batch = Scalars.from_intervals(
        whole, *ends, nulls=False, list_modes=np.array([EXCEPT, EXCEPT], np.int8), lists=lists
    )
    assert batch.row(0) == ("b\0", TOP, ALL, [])
    assert batch.row(1) == ("a", Below("b"), ALL, [])


@given(st.data(), scalar_attributes)
def test_concat_then_take_gives_the_rows_back(data: st.DataObject, attribute: Attribute) -> None:
    a, b = draw_pairs(data, attribute)
    both = Scalars.concat([a, b])
    again = both.take(np.arange(len(a), len(both)))
    assert [again.row(i) for i in range(len(b))] == [b.row(i) for i in range(len(b))]
    assert again.nulls.tolist() == b.nulls.tolist()


@given(scalar_attributes, st.integers(0, 3))
def test_an_unconstrained_row_admits_everything(attribute: Attribute, count: int) -> None:
    free = Scalars.build_unconstrained(key_domain(attribute.type), count)
    assert free.is_unconstrained.tolist() == [True] * count
    assert not free.is_empty.any()
