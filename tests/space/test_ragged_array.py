"""Ragged arrays, compared with lists of lists."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from covey.space.ragged_array import RaggedArray

rows_of_numbers = st.lists(st.lists(st.integers(0, 9), max_size=4), max_size=5)


def as_lists(rows: RaggedArray) -> list[list[int]]:
    return [rows.row(i).tolist() for i in range(len(rows))]


@given(rows_of_numbers)
def test_rows_are_restored(rows: list[list[int]]) -> None:
    ragged = RaggedArray.from_rows(rows, np.int64)
    assert as_lists(ragged) == rows
    assert ragged.lengths.tolist() == [len(row) for row in rows]
    assert ragged.values.dtype == np.int64


@given(rows_of_numbers.filter(bool), st.data())
def test_take_equals_indexing(rows: list[list[int]], data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=6))
    ragged = RaggedArray.from_rows(rows).take(np.array(chosen, np.int64))
    assert as_lists(ragged) == [rows[i] for i in chosen]


@given(rows_of_numbers.filter(bool), st.data())
def test_flat_indices_locate_values_and_their_rows(
    rows: list[list[int]], data: st.DataObject
) -> None:
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=6))
    ragged = RaggedArray.from_rows(rows)
    indices, row_numbers = ragged.flat_indices(np.array(chosen, np.int64))
    assert ragged.values[indices].tolist() == [value for i in chosen for value in rows[i]]
    assert row_numbers.tolist() == [k for k, i in enumerate(chosen) for _ in rows[i]]


@given(st.lists(rows_of_numbers, min_size=1, max_size=3))
def test_concat_equals_list_addition(parts: list[list[list[int]]]) -> None:
    ragged = RaggedArray.concat([RaggedArray.from_rows(part) for part in parts])
    assert as_lists(ragged) == [row for part in parts for row in part]


def test_empty_arrays_and_sequences_as_values_work() -> None:
    assert as_lists(RaggedArray.empty(2)) == [[], []]
    assert as_lists(RaggedArray.from_rows([["ab", None], ["c"]])) == [["ab", None], ["c"]]
