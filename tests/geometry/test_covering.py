"""Covering between regions is a partial order, and agrees with the events that they contain."""

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
    batch = data.draw(regions(space))
    assert every_cover(batch, batch).diagonal().all()


@given(st.data(), all_spaces)
def test_covering_is_transitive(data: st.DataObject, space: Space) -> None:
    batch = data.draw(regions(space, max_regions=8))
    is_cover = every_cover(batch, batch)
    # over[a, b] and over[b, c] imply over[a, c]
    is_cover_of_cover = (is_cover[:, :, None] & is_cover[None, :, :]).any(axis=1)
    assert not (is_cover_of_cover & ~is_cover).any()


@given(st.data(), all_spaces)
def test_a_cover_contains_every_event_of_what_it_covers(data: st.DataObject, space: Space) -> None:
    """A claimed cover always holds, also between balls."""
    outer, inner = data.draw(regions(space)), data.draw(regions(space))
    sample = _drop_extreme_vectors(data.draw(events(space, max_events=20)))
    claimed = every_cover(outer, inner)
    in_outer, in_inner = every_match(outer, sample), every_match(inner, sample)
    for i, j in np.argwhere(claimed).tolist():
        assert not (in_inner[j] & ~in_outer[i]).any()


@given(st.data(), flat_spaces)
def test_regions_that_cover_each_other_contain_the_same_events(
    data: st.DataObject, space: Space
) -> None:
    batch, sample = data.draw(regions(space)), data.draw(events(space))
    is_cover = every_cover(batch, batch)
    inside = every_match(batch, sample)
    for i, j in np.argwhere(is_cover & is_cover.T).tolist():
        assert inside[i].tolist() == inside[j].tolist()


@given(st.data(), all_spaces)
def test_regions_with_a_common_event_overlap(data: st.DataObject, space: Space) -> None:
    """An overlap is never missed, also between balls."""
    a, b = data.draw(regions(space)), data.draw(regions(space))
    sample = _drop_extreme_vectors(data.draw(events(space, max_events=20)))
    in_a, in_b = every_match(a, sample), every_match(b, sample)
    i, j = pairs_of(a, b)
    common = (in_a[i] & in_b[j]).any(axis=1)
    assert not (common & ~overlaps(a, i, b, j)).any()


@given(st.data(), flat_spaces)
def test_a_region_overlaps_every_region_that_it_covers_and_overlap_is_symmetric(
    data: st.DataObject, space: Space
) -> None:
    a, b = data.draw(regions(space)), data.draw(regions(space))
    i, j = pairs_of(a, b)
    meet = overlaps(a, i, b, j)
    assert meet.tolist() == overlaps(b, j, a, i).tolist()
    assert not (covers(a, i, b, j) & ~meet).any()


def _drop_extreme_vectors(sample: Events) -> Events:
    """Return the events without vectors for which relations of cosines guarantee nothing.

    The square of 3e38 overflows float32, and the square of 1e-30 underflows.
    """
    is_moderate = np.ones(len(sample), np.bool_)
    for column in sample.columns.values():
        if isinstance(column, VectorColumn):
            size = np.abs(column.matrix)
            is_moderate &= ((size == 0) | ((size > 1e-9) & (size < 1e9))).all(axis=1)
    return sample.take(np.flatnonzero(is_moderate))
