"""Events from Arrow columns of every layout."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.errors import SchemaError
from covey.geometry.relations import contains
from covey.language import parse
from covey.space import Attribute, Events, Space
from covey.space.events import ValueState
from covey.space.types import INT
from covey.testing.strategies import spaces, tables

SPACE = Space.from_types(
    {
        "x": pa.int32(),
        "name": pa.string(),
        "tags": pa.list_(pa.string()),
        "vec": pa.list_(pa.float32()),
    },
    vectors={"vec": 2},
)
NAMES = ["a", None, "\U0001f600", "a"]
TAGS = [["a", None], [], None, ["b", "a"]]


def names(column: Any) -> list[str | None]:
    events_column: Any = Events.from_arrow(pa.table({"name": column}), SPACE)["name"]
    return [
        key if valid else None
        for key, valid in zip(events_column.keys, events_column.valid, strict=True)
    ]


def tags(column: Any) -> list[list[str | None] | None]:
    events_column: Any = Events.from_arrow(pa.table({"tags": column}), SPACE)["tags"]
    return [
        events_column.tokens.row(i).tolist() if valid else None
        for i, valid in enumerate(events_column.valid)
    ]


@pytest.mark.parametrize(
    "column",
    [
        pa.array(NAMES),
        pa.array(NAMES, pa.large_string()),
        pa.array(NAMES, pa.string_view()),
        pa.array(NAMES).dictionary_encode(),
        pa.chunked_array([NAMES[:1], [], NAMES[1:]], pa.string()),
        pa.chunked_array([pa.array(part).dictionary_encode() for part in (NAMES[:2], NAMES[2:])]),
        pa.array(["cut off", *NAMES]).slice(1),
    ],
)
def test_text_columns_of_every_layout_are_read(column: Any) -> None:
    assert names(column) == NAMES


def test_a_null_among_the_values_of_a_dictionary_is_null() -> None:
    indices, values = pa.array([0, 1, None]), pa.array(["a", None])
    assert names(pa.DictionaryArray.from_arrays(indices, values)) == ["a", None, None]


@pytest.mark.parametrize(
    "column",
    [
        pa.array(TAGS),
        pa.array(TAGS, pa.large_list(pa.large_string())),
        pa.chunked_array([TAGS[:1], TAGS[1:]], pa.list_(pa.string())),
        pa.array([["cut off"], *TAGS]).slice(1),
    ],
)
def test_tag_columns_of_every_layout_are_read(column: Any) -> None:
    assert tags(column) == TAGS


def test_fixed_size_and_dictionary_tags_are_read() -> None:
    fixed = pa.array([["a", "b"], None, ["c", None]], pa.list_(pa.string(), 2))
    assert tags(fixed) == tags(fixed.cast(pa.list_(pa.string()))) == fixed.to_pylist()
    tokens = pa.array(["a", "b", "a"]).dictionary_encode()
    assert tags(pa.ListArray.from_arrays([0, 2, 3], tokens)) == [["a", "b"], ["a"]]


VECTORS = [[1.0, 2.0], None, [3.0], [4.0, None], [], [None], [5.0, float("nan")]]
STATES = [
    ValueState.VALUE,
    ValueState.NULL,
    ValueState.MALFORMED,
    ValueState.NULL_ELEMENTS,
    ValueState.MALFORMED,
    ValueState.MALFORMED,
    ValueState.VALUE,
]


@pytest.mark.parametrize("arrow", [pa.list_(pa.float32()), pa.large_list(pa.float32())])
def test_vectors_have_values_and_states(arrow: pa.DataType) -> None:
    """A wrong length takes precedence over null elements: Spark raises on the length first."""
    column = pa.array([[9.0, 9.0], *VECTORS], arrow).slice(1)
    vectors: Any = Events.from_arrow(pa.table({"vec": column}), SPACE)["vec"]
    assert vectors.states.tolist() == STATES
    np.testing.assert_array_equal(vectors.matrix[0], [1, 2])
    np.testing.assert_array_equal(vectors.matrix[6], [5, np.nan])
    assert not vectors.matrix[1:6].any()


def test_fixed_size_vectors_are_read() -> None:
    column = pa.array([[9, 9], [1, 2], None, [3, None]], pa.list_(pa.float32(), 2)).slice(1)
    space = Space.from_types({"vec": column.type})
    vectors: Any = Events.from_arrow(pa.table({"vec": column}), space)["vec"]
    assert vectors.states.tolist() == [ValueState.VALUE, ValueState.NULL, ValueState.NULL_ELEMENTS]
    assert vectors.matrix.tolist() == [[1, 2], [0, 0], [0, 0]]


@given(st.data(), spaces())
def test_chunks_do_not_change_events(data: st.DataObject, space: Space) -> None:
    """A table, its record batches, and the table divided into chunks are the same events."""
    table = data.draw(tables(space))
    split_row = data.draw(st.integers(0, table.num_rows))
    chunked = pa.concat_tables([table.slice(0, split_row), table.slice(split_row)])
    whole = Events.from_arrow(table, space)
    assert len(whole) == table.num_rows
    for other in (chunked, *table.combine_chunks().to_batches(max_chunksize=100)):
        other_events = Events.from_arrow(other, space)
        assert repr(other_events.columns) == repr(
            whole.columns
        )  # NaN too, which is not equal to itself


def test_null_columns_fit_every_type() -> None:
    null_events = Events.from_arrow(
        pa.table({name: pa.nulls(2) for name in ("x", "tags", "vec")}), SPACE
    )
    nothing = parse(SPACE, ["x IS NULL AND tags IS NULL AND vec IS NULL"]).regions
    assert contains(nothing, np.zeros(2, np.int64), null_events, np.arange(2)).all()


def test_a_missing_column_raises_only_if_a_region_constrains_it() -> None:
    events = Events.from_arrow(pa.table({"x": [1]}), SPACE)
    row = np.array([0])
    assert contains(parse(SPACE, ["x = 1"]).regions, row, events, row).all()
    with pytest.raises(
        SchemaError, match="no column 'name', which a subscription constrains: add it"
    ):
        contains(parse(SPACE, ["name = 'a'"]).regions, row, events, row)


def test_a_column_that_does_not_fit_its_type_is_refused() -> None:
    space = Space((Attribute("x", INT),))
    with pytest.raises(SchemaError, match="does not fit type int"):
        Events.from_arrow(pa.table({"x": pa.array([2**40])}), space)
