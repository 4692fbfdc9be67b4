"""Spaces: attributes read from a schema, and messages for wrong schemas."""

from __future__ import annotations

import pyarrow as pa
import pytest

from covey.errors import SchemaError
from covey.space import Attribute, SessionSettings, Space
from covey.space.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    INT,
    STRING,
    TAGS,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Type,
    array_type,
    decimal_type,
    type_from_arrow,
    type_to_arrow,
    vector_type,
)
from covey.testing.random_cases import random_space

FLOATS = pa.list_(pa.float32())


@pytest.mark.parametrize(
    ("arrow", "type_"),
    [
        (pa.int64(), BIGINT),
        (pa.large_string(), STRING),
        (pa.string_view(), STRING),
        (pa.dictionary(pa.int8(), pa.string()), STRING),
        (pa.date32(), DATE),
        (pa.timestamp("ns", "Europe/Berlin"), TIMESTAMP),
        (pa.timestamp("s"), TIMESTAMP_NTZ),
        (pa.decimal128(38, 38), decimal_type(38, 38)),
        (pa.list_(pa.string()), TAGS),
        (pa.large_list(pa.large_string()), TAGS),
        (pa.list_(pa.float32(), 4), vector_type(4)),
        (pa.list_(pa.int32(), 4), array_type(INT)),
    ],
)
def test_arrow_types_become_attribute_types(arrow: pa.DataType, type_: Type) -> None:
    assert type_from_arrow(arrow) == type_


@pytest.mark.parametrize(
    "arrow", [pa.uint8(), pa.binary(), pa.date64(), pa.decimal256(40, 2), pa.list_(pa.int32())]
)
def test_other_columns_stay_but_are_no_attributes(arrow: pa.DataType) -> None:
    space = Space.from_types({"x": arrow, "y": pa.int32()})
    assert "x" in space
    assert [attribute.name for attribute in space] == ["y"]


def test_every_type_is_restored_from_arrow() -> None:
    for attribute in random_space(SessionSettings()):
        again = Space.from_types(
            {"x": type_to_arrow(attribute.type)}, vectors=_length(attribute.type)
        )
        assert again["x"].type == attribute.type


def test_derived_attributes_are_added_once() -> None:
    space, lower = Space.from_types({"name": pa.string()}), Attribute("lower(name)", STRING, True)
    more = space.with_derived(lower)
    assert more.with_derived(lower) is more
    assert [attribute.name for attribute in more] == ["name", "lower(name)"]
    assert "lower(name)" not in space


def test_templates_of_late_conditions_are_no_attributes_of_events() -> None:
    template = Attribute("length(name) > \0i", BOOLEAN, True, is_late=True)
    space = Space.from_types({"name": pa.string()}).with_derived(template)
    assert [attribute.name for attribute in space] == ["name"]
    assert space.derived == (template,)
    with pytest.raises(SchemaError, match=r"two attributes are called 'covey\.late'"):
        Space.from_types({"covey.late": pa.string()})


def test_two_attributes_of_one_name_are_refused() -> None:
    schema = pa.schema([("x", pa.int32()), ("x", pa.string())])
    with pytest.raises(SchemaError, match="two attributes are called 'x'"):
        Space.from_arrow(schema)


def test_vectors_of_the_wrong_length_are_refused() -> None:
    with pytest.raises(SchemaError, match=r"'v' is array<float>\[3\], not a vector of 4 floats"):
        Space.from_types({"v": pa.list_(pa.float32(), 3)}, vectors={"v": 4})


def test_vectors_of_the_wrong_type_are_refused() -> None:
    with pytest.raises(SchemaError, match="column 'v' is array<double>, not a vector of 4 floats"):
        Space.from_types({"v": pa.list_(pa.float64())}, vectors={"v": 4})


def test_vectors_that_are_no_columns_are_refused() -> None:
    with pytest.raises(SchemaError, match="columns that the schema does not have: 'w'"):
        Space.from_types({"v": FLOATS}, vectors={"v": 4, "w": 4})


def test_a_list_of_floats_is_a_vector_only_with_a_length() -> None:
    assert not list(Space.from_types({"v": FLOATS}))
    assert Space.from_types({"v": FLOATS}, vectors={"v": 4})["v"].type == vector_type(4)


@pytest.mark.parametrize("zone", ["Europe/Atlantis", "", "../etc/passwd", "America"])
def test_an_unknown_time_zone_is_refused(zone: str) -> None:
    with pytest.raises(
        SchemaError, match=r"time zone .* is unknown: use a region such as 'Europe/Berlin'"
    ):
        SessionSettings(zone)


def test_an_unknown_attribute_is_named() -> None:
    with pytest.raises(SchemaError, match=r"no attribute 'prise': its attributes are price$"):
        Space.from_types({"price": pa.float64()})["prise"]
    many = Space.from_types({f"a{i}": pa.int32() for i in range(9)})
    with pytest.raises(SchemaError, match=r"its attributes are a0, a1, .*, a7…$"):
        many["a9"]
    with pytest.raises(SchemaError, match=r"its attributes are none$"):
        Space(())["a"]


@pytest.mark.parametrize(("precision", "scale"), [(0, 0), (39, 0), (5, 6), (5, -1)])
def test_an_invalid_decimal_is_refused(precision: int, scale: int) -> None:
    with pytest.raises(SchemaError, match="from 1 to 38, and scale from 0 to precision"):
        decimal_type(precision, scale)


def _length(type_: Type) -> dict[str, int]:
    return {"x": type_.length} if type_.is_vector else {}


def test_another_name_of_a_constructor_names_those_that_exist() -> None:
    with pytest.raises(AttributeError, match=r"Space\.from_arrow\(table\.schema\)"):
        Space.of  # noqa: B018
