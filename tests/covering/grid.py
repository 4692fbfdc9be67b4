"""A space whose events can all be tried: two whole numbers of six and null, and a text of three."""

from __future__ import annotations

from itertools import product

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from covey import Events, Space, parse
from covey.geometry import Regions
from covey.index import BruteForceIndex

SIDE = 6
SPACE = Space.from_types({"x": pa.int32(), "y": pa.int32(), "s": pa.string()})
_ROWS = list(product([*range(SIDE), None], [*range(SIDE), None], ["a", "b", None]))
EVENTS = Events.from_arrow(
    pa.table(
        {
            "x": pa.array([row[0] for row in _ROWS], pa.int32()),
            "y": pa.array([row[1] for row in _ROWS], pa.int32()),
            "s": pa.array([row[2] for row in _ROWS], pa.string()),
        }
    ),
    SPACE,
)


def within(regions: Regions) -> list[set[int]]:
    """The events in each region."""
    found: list[set[int]] = [set() for _ in range(len(regions))]
    for event, region in BruteForceIndex(regions).match(EVENTS):
        found[region].add(event)
    return found


def union(regions: Regions) -> set[int]:
    """The events in any of them."""
    return set().union(*within(regions))


def parsed(*texts: str) -> Regions:
    """The regions of texts, of which each is one region."""
    found = parse(SPACE, list(texts))
    assert len(found.regions) == len(texts)
    return found.regions


def _interval(name: str, ends: tuple[int, int]) -> str:
    return f"{name} BETWEEN {min(ends)} AND {max(ends)}"


_ENDS = st.tuples(st.integers(0, SIDE - 1), st.integers(0, SIDE - 1))


def _conditions(name: str) -> st.SearchStrategy[str]:
    interval = st.builds(_interval, st.just(name), _ENDS)
    odd = [f"{name} IN (0, 2, 4)", f"({name} BETWEEN 2 AND 3 OR {name} IS NULL)"]
    others = [f"{name} IS NULL", f"{name} IS NOT NULL", f"{name} >= 3", f"({name} < 2)", "true"]
    return interval | interval | st.sampled_from(others + odd)


_TEXTS = ["true", "true", "s = 'a'", "s > 'a'", "s < 'b'", "s >= 'b'", "s LIKE 'a%'", "s IS NULL"]
_PREDICATES = st.builds(
    "{} AND {} AND {}".format, _conditions("x"), _conditions("y"), st.sampled_from(_TEXTS)
)


@st.composite
def many(draw: st.DrawFn, max_size: int = 24) -> Regions:
    """Regions of the space, null and lists among what they admit."""
    texts = draw(st.lists(_PREDICATES, min_size=1, max_size=max_size))
    return parse(SPACE, texts).regions


def portions(draw: st.DrawFn, count: int) -> list[np.ndarray]:
    """All rows in some order, cut somewhere."""
    rows = np.array(draw(st.permutations(range(count))), np.int64)
    return np.split(rows, sorted(draw(st.sets(st.integers(0, count), max_size=3))))
