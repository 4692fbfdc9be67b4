"""Covering between regions is a partial order, and says what events say."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from covey.geometry.relations import covers, overlaps
from covey.space import Events, Space
from covey.space.events import VectorColumn
from covey.testing.strategies import events, regions, spaces
from tests.geometry.cases import every_cover, every_match, flat_spaces, pairs_of, vector_spaces

all_spaces = spaces() | vector_spaces


@given(st.data(), all_spaces)
def test_every_region_covers_itself(data: st.DataObject, space: Space) -> None:
    some = data.draw(regions(space))
    assert every_cover(some, some).diagonal().all()


@given(st.data(), all_spaces)
def test_what_covers_a_cover_covers(data: st.DataObject, space: Space) -> None:
    some = data.draw(regions(space, max_regions=8))
    over = every_cover(some, some)
    # over[a, b] and over[b, c] imply over[a, c]
    through = (over[:, :, None] & over[None, :, :]).any(axis=1)
    assert not (through & ~over).any()


@given(st.data(), all_spaces)
def test_a_cover_contains_every_event_of_what_it_covers(data: st.DataObject, space: Space) -> None:
    """Never wrong, for balls too; mutual covers contain the same events."""
    outer, inner = data.draw(regions(space)), data.draw(regions(space))
    these = _usual(data.draw(events(space, max_events=20)))
    claimed = every_cover(outer, inner)
    in_outer, in_inner = every_match(outer, these), every_match(inner, these)
    for i, j in np.argwhere(claimed).tolist():
        assert not (in_inner[j] & ~in_outer[i]).any()


@given(st.data(), flat_spaces)
def test_regions_that_cover_each_other_contain_the_same_events(
    data: st.DataObject, space: Space
) -> None:
    some, these = data.draw(regions(space)), data.draw(events(space))
    over = every_cover(some, some)
    inside = every_match(some, these)
    for i, j in np.argwhere(over & over.T).tolist():
        assert inside[i].tolist() == inside[j].tolist()


@given(st.data(), all_spaces)
def test_regions_with_a_common_event_overlap(data: st.DataObject, space: Space) -> None:
    """Never missed, for balls too."""
    a, b = data.draw(regions(space)), data.draw(regions(space))
    these = _usual(data.draw(events(space, max_events=20)))
    in_a, in_b = every_match(a, these), every_match(b, these)
    i, j = pairs_of(a, b)
    common = (in_a[i] & in_b[j]).any(axis=1)
    assert not (common & ~overlaps(a, i, b, j)).any()


@given(st.data(), flat_spaces)
def test_a_region_overlaps_what_it_covers_and_in_both_directions(
    data: st.DataObject, space: Space
) -> None:
    a, b = data.draw(regions(space)), data.draw(regions(space))
    i, j = pairs_of(a, b)
    meet = overlaps(a, i, b, j)
    assert meet.tolist() == overlaps(b, j, a, i).tolist()
    assert not (covers(a, i, b, j) & ~meet).any()


def _usual(these: Events) -> Events:
    """Events without the vectors for which relations of cosine promise nothing.

    Squares of 3e38 overflow float32 and those of 1e-30 underflow.
    """
    keep = np.ones(len(these), np.bool_)
    for column in these.columns.values():
        if isinstance(column, VectorColumn):
            size = np.abs(column.matrix)
            keep &= ((size == 0) | ((size > 1e-9) & (size < 1e9))).all(axis=1)
    return these.take(np.flatnonzero(keep))
