"""Encoded columns: integers and codes of any scalar type decide like keys."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from covey.geometry.scalars import Scalars
from covey.index.segment.encoded_column import EncodedColumn
from covey.space import Attribute
from covey.space.events import ScalarColumn
from covey.space.keys import key_domain
from covey.testing.strategies import events, regions
from tests.geometry.cases import scalar_attributes, space_of


def draw_case(data: st.DataObject, attribute: Attribute) -> tuple[Scalars, Scalars, ScalarColumn]:
    """Draw stored constraints, other constraints, and cells of events."""
    space = space_of(attribute)
    both = [data.draw(regions(space, max_regions=10)) for _ in range(2)]
    stored, other = (batch.gather_constraints(attribute, np.arange(len(batch))) for batch in both)
    column = data.draw(events(space, max_events=10))[attribute.name]
    assert isinstance(column, ScalarColumn)
    assert isinstance(stored, Scalars)
    assert isinstance(other, Scalars)
    return stored, other, column


@given(scalar_attributes, st.data())
def test_integers_decide_like_keys(attribute: Attribute, data: st.DataObject) -> None:
    batch, _, cells = draw_case(data, attribute)
    column = EncodedColumn.from_scalars(attribute.name, batch)
    event_rows, at = (side.ravel() for side in np.indices((len(cells.valid), len(batch))))
    integers = column.encode_events(cells)
    assert integers.dtype == np.int64
    found = (
        column.encode_constraints(batch)
        .take(at)
        .contains(integers[event_rows], cells.valid[event_rows])
    )
    assert (
        found.tolist()
        == batch.take(at).contains(cells.keys[event_rows], cells.valid[event_rows]).tolist()
    )


@given(scalar_attributes, st.data())
def test_codes_decide_like_keys(attribute: Attribute, data: st.DataObject) -> None:
    """Codes decide exactly if they express the constraint; otherwise they admit a superset."""
    batch, _, cells = draw_case(data, attribute)
    column = EncodedColumn.from_scalars(attribute.name, batch)
    event_rows, at = (side.ravel() for side in np.indices((len(cells.valid), len(batch))))
    codes, integers = np.empty(len(cells.valid), np.uint16), column.encode_events(cells)
    column.codebook.write_codes(integers, cells.valid, codes)
    low, high, exact = column.codebook.encode_intervals(column.encode_constraints(batch))
    found = (low[at] <= codes[event_rows]) & (codes[event_rows] <= high[at])
    expected = batch.take(at).contains(cells.keys[event_rows], cells.valid[event_rows])
    assert found[exact[at]].tolist() == expected[exact[at]].tolist(), (
        "exact codes must decide like keys"
    )
    assert (found | ~expected).all()


@given(scalar_attributes, st.data())
def test_integers_cover_like_keys(attribute: Attribute, data: st.DataObject) -> None:
    """Constraints with lists are excluded: the constraints themselves decide them."""
    stored, query, _ = draw_case(data, attribute)
    column = EncodedColumn.from_scalars(attribute.name, stored)
    outer, inner = column.encode_constraints(stored), column.encode_constraints(query)
    i, j = (side.ravel() for side in np.indices((len(stored), len(query))))
    plain = (stored.listed[i] == 0) & (query.listed[j] == 0)
    i, j = i[plain], j[plain]
    found = outer.take(i).covers(inner.take(j))
    assert found.tolist() == stored.take(i).covers(query.take(j)).tolist()


@given(scalar_attributes, st.data())
def test_keys_are_restored_from_integers(attribute: Attribute, data: st.DataObject) -> None:
    batch, _, cells = draw_case(data, attribute)
    column = EncodedColumn.from_scalars(attribute.name, batch)
    again = EncodedColumn.from_arrays(
        attribute.name, key_domain(attribute.type), column.to_arrays()
    )
    for made in (column, again):
        back = made.decode_constraints(made.encode_constraints(batch))
        assert [back.row(i) for i in range(len(batch))] == [batch.row(i) for i in range(len(batch))]
        assert back.nulls.tolist() == batch.nulls.tolist()
        assert made.encode_events(cells).tolist() == column.encode_events(cells).tolist()
    assert all(is_plain(array) for array in column.to_arrays().values())


def is_plain(array: NDArray[Any]) -> bool:
    return array.dtype in (np.int64, np.uint8)
