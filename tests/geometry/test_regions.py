"""Regions as columns: taking rows, concatenating batches, dropping constraints without effect."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.errors import SchemaError
from covey.geometry import Regions
from covey.geometry.regions import Constraints, build_unconstrained_batch
from covey.geometry.scalars import Scalars
from covey.language import parse
from covey.space import Attribute, Space
from covey.space.keys import key_domain
from covey.space.types import INT, STRING
from covey.testing.strategies import regions, spaces
from tests.geometry.cases import EVERY, vector_spaces
from tests.workload.same import assert_same_regions


@given(st.data(), spaces() | vector_spaces)
def test_taking_all_rows_changes_nothing(data: st.DataObject, space: Space) -> None:
    batch = data.draw(regions(space))
    assert_same_regions(batch.take(np.arange(len(batch))), batch)


@given(st.data(), spaces() | vector_spaces)
def test_concatenated_regions_are_those_of_each_batch(data: st.DataObject, space: Space) -> None:
    a, b = data.draw(regions(space)), data.draw(regions(space))
    both = Regions.concat([a, b])
    assert len(both) == len(a) + len(b)
    assert_same_regions(both.take(np.arange(len(a))), a)
    assert_same_regions(both.take(np.arange(len(a), len(both))), b)


@given(st.data(), spaces() | vector_spaces)
def test_taking_rows_twice_equals_taking_them_once(data: st.DataObject, space: Space) -> None:
    batch = data.draw(regions(space))
    numbers = st.lists(st.integers(0, max(0, len(batch) - 1)), max_size=6 if len(batch) else 0)
    first = np.array(data.draw(numbers), np.int64)
    second = np.arange(len(first))[::-1].copy()
    assert_same_regions(batch.take(first).take(second), batch.take(first[second]))


@given(spaces())
def test_constraints_that_admit_everything_are_dropped(space: Space) -> None:
    rows = np.arange(2)
    free = {a.name: Constraints(rows, build_unconstrained_batch(a.type, 2)) for a in space}
    nonempty, rows = Regions.from_constraints(space, 2, free)
    assert (dict(nonempty.constraints), rows.tolist(), len(nonempty)) == ({}, [0, 1], 2)


def test_regions_that_admit_nothing_are_dropped_and_other_rows_returned() -> None:
    space = Space.from_types({"x": pa.int32()})
    batch = Scalars.from_intervals(key_domain(INT), np.array([1, 5, 3]), np.array([2, 4, 3]))
    nonempty, rows = Regions.from_constraints(
        space, 4, {"x": Constraints(np.array([0, 1, 3]), batch)}
    )
    assert rows.tolist() == [0, 2, 3]
    assert nonempty.constraints["x"].rows.tolist() == [0, 2]
    assert nonempty.constraints["x"].batch.take(np.array([1])).row(0)[:2] == (3, 3)


def test_regions_of_spaces_with_different_derived_attributes_are_joined() -> None:
    a, b = (parse(EVERY, [text]).regions for text in ("lower(name) = 'a'", "i8 + i16 > 3"))
    assert {a.name for a in Regions.concat([a, b]).space.derived} == {"lower(name)", "i8 + i16"}


def test_a_constraint_on_an_unknown_attribute_is_refused() -> None:
    space = Space((Attribute("x", INT),))
    batch = Scalars.build_unconstrained(key_domain(STRING), 1)
    with pytest.raises(SchemaError, match="constrain attribute 'y', which is not in the space"):
        Regions.from_constraints(space, 1, {"y": Constraints(np.array([0]), batch)})
