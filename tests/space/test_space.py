"""Spaces: what is read from a schema, and what is said when it does not fit."""

from __future__ import annotations

import pyarrow as pa
import pytest

from covey.errors import SpaceError
from covey.space import Attribute, Settings, Space
from covey.space.types import (
    BIGINT,
    DATE,
    INT,
    STRING,
    TAGS,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Type,
    array,
    decimal,
    from_arrow,
    to_arrow,
    vector,
)
from covey.testing.generate import random_space

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
        (pa.decimal128(38, 38), decimal(38, 38)),
        (pa.list_(pa.string()), TAGS),
        (pa.large_list(pa.large_string()), TAGS),
        (pa.list_(pa.float32(), 4), vector(4)),
        (pa.list_(pa.int32(), 4), array(INT)),
    ],
)
def test_types_of_arrow(arrow: pa.DataType, type_: Type) -> None:
    assert from_arrow(arrow) == type_


@pytest.mark.parametrize(
    "arrow", [pa.uint8(), pa.binary(), pa.date64(), pa.decimal256(40, 2), pa.list_(pa.int32())]
)
def test_other_columns_stay_and_are_no_attributes(arrow: pa.DataType) -> None:
    space = Space.of({"x": arrow, "y": pa.int32()})
    assert "x" in space
    assert [attribute.name for attribute in space] == ["y"]


def test_every_type_goes_to_arrow_and_back() -> None:
    for attribute in random_space(Settings()):
        again = Space.of({"x": to_arrow(attribute.type)}, vectors=_length(attribute.type))
        assert again["x"].type == attribute.type


def test_derived_attributes_are_added_once() -> None:
    space, lower = Space.of({"name": pa.string()}), Attribute("lower(name)", STRING, True)
    more = space.with_derived(lower)
    assert more.with_derived(lower) is more
    assert [attribute.name for attribute in more] == ["name", "lower(name)"]
    assert "lower(name)" not in space


def test_too_many_derived_attributes() -> None:
    space = Space.of({"x": pa.int32()}, max_derived=2)
    many = [Attribute(f"x + {i}", INT, True) for i in range(3)]
    assert len(space.with_derived(*many[:2]).derived) == 2
    with pytest.raises(SpaceError, match=r"3 derived attributes, 2 allowed: .*raise max_derived"):
        space.with_derived(*many)


def test_two_attributes_of_one_name() -> None:
    schema = pa.schema([("x", pa.int32()), ("x", pa.string())])
    with pytest.raises(SpaceError, match="two attributes are called 'x'"):
        Space.from_arrow(schema)


def test_vectors_of_the_wrong_length() -> None:
    with pytest.raises(SpaceError, match=r"'v' is array<float>\[3\], no vector of 4 floats"):
        Space.of({"v": pa.list_(pa.float32(), 3)}, vectors={"v": 4})


def test_vectors_of_the_wrong_type() -> None:
    with pytest.raises(SpaceError, match="column 'v' is array<double>, no vector of 4 floats"):
        Space.of({"v": pa.list_(pa.float64())}, vectors={"v": 4})


def test_vectors_that_are_no_columns() -> None:
    with pytest.raises(SpaceError, match="vectors names 'w', but the schema has no such column"):
        Space.of({"v": FLOATS}, vectors={"v": 4, "w": 4})


def test_a_list_of_floats_is_a_vector_only_if_its_length_is_told() -> None:
    assert not list(Space.of({"v": FLOATS}))
    assert Space.of({"v": FLOATS}, vectors={"v": 4})["v"].type == vector(4)


@pytest.mark.parametrize("zone", ["Europe/Atlantis", "", "../etc/passwd", "America"])
def test_no_such_time_zone(zone: str) -> None:
    with pytest.raises(SpaceError, match=r"no time zone .*write a region such as 'Europe/Berlin'"):
        Settings(zone)


def test_no_such_attribute() -> None:
    with pytest.raises(SpaceError, match="the space has no attribute 'prise'"):
        Space.of({"price": pa.float64()})["prise"]


@pytest.mark.parametrize(("precision", "scale"), [(0, 0), (39, 0), (5, 6), (5, -1)])
def test_no_such_decimal(precision: int, scale: int) -> None:
    with pytest.raises(SpaceError, match="0 ≤ scale ≤ precision ≤ 38"):
        decimal(precision, scale)


def _length(type_: Type) -> dict[str, int]:
    return {"x": type_.length} if type_.is_vector else {}
