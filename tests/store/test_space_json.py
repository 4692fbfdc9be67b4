"""A space is restored from JSON with all of its settings."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import given

from covey.errors import StoreError
from covey.language import Parser
from covey.space import Attribute, SessionSettings, Space
from covey.space.types import TAGS, array_type, decimal_type, vector_type
from covey.store.manifest.space_json import combine_spaces, space_from_json, space_to_json
from covey.testing.random_cases import random_space
from covey.testing.strategies import spaces


def round_trip(space: Space) -> Space:
    return space_from_json(json.loads(json.dumps(space_to_json(space))))


@given(spaces())
def test_a_space_is_restored(space: Space) -> None:
    assert round_trip(space) == space


def test_every_type_is_restored() -> None:
    space = random_space(SessionSettings("Europe/Berlin", ansi=False))
    other = Space.from_types({"blob": pa.binary(), "nested": pa.list_(pa.list_(pa.int32()))})
    assert round_trip(space) == space
    assert round_trip(other) == other


def test_derived_attributes_are_restored() -> None:
    parser = Parser(Space.from_types({"title": pa.string(), "a": pa.float64()}))
    parser.parse(["lower(title) = 'x' AND a / 2 > 3", "array_contains(split(title, ' '), 'x')"])
    assert len(parser.space.derived) == 3
    assert round_trip(parser.space) == parser.space


def test_types_of_derived_attributes_are_restored() -> None:
    types = [decimal_type(38, 18), vector_type(3), TAGS, array_type(array_type(decimal_type(4, 1)))]
    derived = tuple(Attribute(f"f({i})", type_, True) for i, type_ in enumerate(types))
    space = Space((), derived)
    assert round_trip(space) == space


@pytest.mark.parametrize("saved", [{}, {"columns": 3}, {"columns": [{"name": "x"}]}])
def test_invalid_json_raises_a_store_error(saved: dict[str, object]) -> None:
    with pytest.raises(StoreError, match="the space of the store cannot be read"):
        space_from_json(saved)


def test_a_combined_space_has_each_derived_attribute_once() -> None:
    base = Space.from_types({"x": pa.int32()})
    one, two = Attribute("f(x)", TAGS, True), Attribute("g(x)", TAGS, True)
    others = [base.with_derived(one), base.with_derived(two, one), base.with_derived(two)]
    assert combine_spaces(base, others).derived == (one, two)
