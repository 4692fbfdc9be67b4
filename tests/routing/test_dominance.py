"""Dominance points: a covering region has smaller or equal coordinates, and exact points decide."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.geometry import Regions
from covey.geometry.relations import covers
from covey.index import BruteForceIndex
from covey.routing.dominance import DominancePoints, _end_to_integer
from covey.routing.recent_buffer import RecentBuffer, find_maximal_covers
from covey.routing.region_log import RegionLog
from covey.space.text_bounds import TOP, Below
from covey.testing.strategies import regions, spaces

some_regions = spaces().flatmap(lambda space: regions(space, max_regions=12))


def all_pairs(count: int) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    return np.repeat(np.arange(count), count), np.tile(np.arange(count), count)


def scalars_of(stored: Regions) -> list:  # type: ignore[type-arg]
    return [a for a in stored.space if not a.type.is_tags and not a.type.is_vector]


@given(some_regions)
def test_a_covering_region_has_smaller_or_equal_coordinates(stored: Regions) -> None:
    corners = DominancePoints.from_regions(stored, scalars_of(stored))
    i, j = all_pairs(len(stored))
    at_most = (corners.coordinates[:, i] <= corners.coordinates[:, j]).all(axis=0)
    is_cover = covers(stored, i, stored, j)
    assert (at_most | ~is_cover).all()
    both = corners.is_exact[i] & corners.is_exact[j]
    assert (is_cover[both] == at_most[both]).all()


@given(some_regions, st.data())
def test_recent_regions_are_queried_like_an_index(stored: Regions, data: st.DataObject) -> None:
    log = RegionLog(stored.space)
    numbers = log.append(stored)
    recent = RecentBuffer(log, len(stored) + 1)
    half = len(stored) // 2
    for rows in (numbers[:half], numbers[half:]):  # the second half may constrain more attributes
        recent.add(rows, recent.encode_points(stored.take(rows)))
    alive = np.array(data.draw(st.lists(st.booleans(), min_size=len(stored), max_size=len(stored))))
    found = recent.find_covering(
        stored, recent.encode_points(stored), np.append(alive, False).astype(np.bool_)
    )
    true = {(i, j) for i, j in BruteForceIndex(stored).find_covering(stored) if alive[j]}
    assert {i for i, _ in true} == set(np.flatnonzero(found >= 0).tolist())
    assert {(i, j) for i, j in enumerate(found.tolist()) if j >= 0} <= true


@given(some_regions)
def test_a_maximal_cover_is_covered_by_no_other_region(stored: Regions) -> None:
    under = find_maximal_covers(
        stored, DominancePoints.from_regions(stored, scalars_of(stored))
    ).tolist()
    true = set(BruteForceIndex(stored).find_covering(stored))
    for row, top in enumerate(under):
        assert (row, top) in true
        is_cover = [other for one, other in true if one == top and other != top]
        assert all((other, top) in true and other > top for other in is_cover)


@pytest.mark.parametrize("ends", [["", "\0", "a", "a\0", Below("ab"), "ab", "abcdefg", Below("b")]])
def test_short_texts_keep_their_order(ends: list[str | Below]) -> None:
    found = [_end_to_integer(end) for end in [*ends, TOP]]
    assert all(said for _, said in found)
    values = [value for value, _ in found]
    assert values == sorted(set(values))


def test_long_texts_are_marked_as_inexact() -> None:
    (one, said), (other, _) = _end_to_integer("abcdefghi"), _end_to_integer("abcdefghz")
    assert not said
    assert one == other
