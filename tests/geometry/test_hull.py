"""A hull covers all regions of its group, and the hull of a hull is the hull."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from covey.geometry.relations import covers, hull
from covey.language import parse
from covey.space import Space
from covey.testing.strategies import events, regions
from tests.geometry.cases import EVERY, every_match, flat_spaces, vector_spaces
from tests.workload.same import assert_same_regions


def groups_of(data: st.DataObject, count: int) -> np.ndarray:
    """Return random groups, numbered without gaps, in any order of rows."""
    numbers = data.draw(st.lists(st.integers(0, 2), min_size=count, max_size=count))
    return np.unique(np.array(numbers, np.int64), return_inverse=True)[1]


@given(st.data(), flat_spaces)
def test_a_hull_covers_its_members(data: st.DataObject, space: Space) -> None:
    batch = data.draw(regions(space))
    groups = groups_of(data, len(batch))
    assert covers(hull(batch, groups), groups, batch, np.arange(len(batch))).all()


@given(st.data(), vector_spaces)
def test_a_hull_contains_every_event_of_its_members(data: st.DataObject, space: Space) -> None:
    batch, sample = data.draw(regions(space)), data.draw(events(space, max_events=20))
    groups = groups_of(data, len(batch))
    outside = ~every_match(hull(batch, groups), sample)[groups]
    assert not (every_match(batch, sample) & outside).any()


@given(st.data(), flat_spaces | vector_spaces)
def test_the_hull_of_a_hull_is_itself(data: st.DataObject, space: Space) -> None:
    batch = data.draw(regions(space))
    hulls = hull(batch, groups_of(data, len(batch)))
    assert_same_regions(hull(hulls, np.arange(len(hulls))), hulls)


def test_hulls_computed_by_hand() -> None:
    """Intervals and lists are united; an attribute that a member leaves free is free."""

    def hull_of(*texts: str) -> object:
        """Return the hull of all regions of some predicates."""
        member_regions = parse(EVERY, list(texts)).regions
        return hull(member_regions, np.zeros(len(member_regions), np.int64))

    def expect(text: str) -> object:
        """Return the regions of one predicate."""
        return parse(EVERY, [text]).regions

    for members, result in [
        (["i32 = 1", "i32 BETWEEN 5 AND 7"], "i32 BETWEEN 1 AND 7"),
        (["i32 = 1", "i32 IN (5, 7)"], "i32 IN (1, 5, 7)"),
        (["i32 IS NULL", "i32 IS NULL"], "i32 IS NULL"),
        (["name < 'b'", "name = 'c'"], "name <= 'c'"),
        (["i32 = 1 AND name = 'a'", "i32 = 2"], "i32 BETWEEN 1 AND 2"),
        (
            ["array_contains(tags, 'a')", "arrays_overlap(tags, array('b', 'c'))"],
            "arrays_overlap(tags, array('a', 'b', 'c'))",
        ),
    ]:
        assert_same_regions(hull_of(*members), expect(result))  # type: ignore[arg-type]
