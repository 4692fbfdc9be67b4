"""Points of regions: whoever covers is at most the other, and where points say all, only they."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.geometry import Regions
from covey.geometry.relations import covers
from covey.index import Scan
from covey.space.text import TOP, Below
from covey.table.corners import Corners, _integer
from covey.table.kept import Kept
from covey.table.recent import Recent, maximal
from covey.testing.strategies import regions, spaces

some_regions = spaces().flatmap(lambda space: regions(space, max_size=12))


def all_pairs(count: int) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    return np.repeat(np.arange(count), count), np.tile(np.arange(count), count)


def scalars_of(some: Regions) -> list:  # type: ignore[type-arg]
    return [a for a in some.space if not a.type.is_tags and not a.type.is_vector]


@given(some_regions)
def test_who_covers_is_at_most_the_other(some: Regions) -> None:
    corners = Corners.of(some, scalars_of(some))
    i, j = all_pairs(len(some))
    at_most = (corners.points[:, i] <= corners.points[:, j]).all(axis=0)
    over = covers(some, i, some, j)
    assert (at_most | ~over).all()
    both = corners.exact[i] & corners.exact[j]
    assert (over[both] == at_most[both]).all()


@given(some_regions, st.data())
def test_recent_regions_are_asked_as_an_index_is(some: Regions, data: st.DataObject) -> None:
    kept = Kept(some.space)
    numbers = kept.add(some)
    recent = Recent(kept, len(some) + 1)
    half = len(some) // 2
    for rows in (numbers[:half], numbers[half:]):  # the second may constrain more attributes
        recent.add(rows, recent.corners(some.take(rows)))
    alive = np.array(data.draw(st.lists(st.booleans(), min_size=len(some), max_size=len(some))))
    found = recent.covering(some, recent.corners(some), np.append(alive, False).astype(np.bool_))
    true = {(i, j) for i, j in Scan(some).covering(some) if alive[j]}
    assert {i for i, _ in true} == set(np.flatnonzero(found >= 0).tolist())
    assert {(i, j) for i, j in enumerate(found.tolist()) if j >= 0} <= true


@given(some_regions)
def test_what_is_at_the_top_is_covered_by_no_other(some: Regions) -> None:
    under = maximal(some, Corners.of(some, scalars_of(some))).tolist()
    true = set(Scan(some).covering(some))
    for row, top in enumerate(under):
        assert (row, top) in true
        over = [other for one, other in true if one == top and other != top]
        assert all((other, top) in true and other > top for other in over)


@pytest.mark.parametrize("ends", [["", "\0", "a", "a\0", Below("ab"), "ab", "abcdefg", Below("b")]])
def test_short_texts_keep_their_order(ends: list[str | Below]) -> None:
    found = [_integer(end) for end in [*ends, TOP]]
    assert all(said for _, said in found)
    values = [value for value, _ in found]
    assert values == sorted(set(values))


def test_long_texts_say_that_they_say_less() -> None:
    (one, said), (other, _) = _integer("abcdefghi"), _integer("abcdefghz")
    assert not said
    assert one == other
