"""Columns that do not fit the type of their attribute are named in the error."""

from __future__ import annotations

import pyarrow as pa
import pytest

from covey import Attribute, Events, SchemaError, Space
from covey.space.types import INT


@pytest.mark.parametrize(
    ("name", "column"),
    [("x", [[1]]), ("tags", [1]), ("tags", ["a"]), ("vec", [["a"]]), ("name", [[1]])],
)
def test_columns_of_another_type_are_named(name: str, column: list[object]) -> None:
    space = Space.from_types(
        {
            "x": pa.int32(),
            "name": pa.string(),
            "tags": pa.list_(pa.string()),
            "vec": pa.list_(pa.float32()),
        },
        vectors={"vec": 2},
    )
    with pytest.raises(SchemaError, match=name):
        Events.from_arrow(pa.table({name: column}), space)


def test_two_columns_of_one_name_are_refused() -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"])
    with pytest.raises(SchemaError, match="2 columns"):
        Events.from_arrow(table, Space((Attribute("x", INT),)))


@pytest.mark.parametrize("length", [0, -1])
def test_vectors_without_a_positive_length_are_refused(length: int) -> None:
    with pytest.raises(SchemaError, match="not a vector of"):
        Space.from_types({"v": pa.list_(pa.float32())}, vectors={"v": length})
