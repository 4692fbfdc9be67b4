"""A space small enough to try every event: two integer columns of six values, and a text column."""

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


def find_events_by_region(regions: Regions) -> list[set[int]]:
    """Return the set of events in each region."""
    event_sets: list[set[int]] = [set() for _ in range(len(regions))]
    for event, region in BruteForceIndex(regions).match(EVENTS):
        event_sets[region].add(event)
    return event_sets


def find_all_events(regions: Regions) -> set[int]:
    """Return the events in any of the regions."""
    return set().union(*find_events_by_region(regions))


def parse_regions(*texts: str) -> Regions:
    """Return the regions of texts that have one region each."""
    predicates = parse(SPACE, list(texts))
    assert len(predicates.regions) == len(texts)
    return predicates.regions


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
def region_batches(draw: st.DrawFn, max_size: int = 24) -> Regions:
    """Draw regions of the space, some of them with nulls and lists."""
    texts = draw(st.lists(_PREDICATES, min_size=1, max_size=max_size))
    return parse(SPACE, texts).regions


def portions(draw: st.DrawFn, count: int) -> list[np.ndarray]:
    """Draw a random partition of the rows, in random order."""
    rows = np.array(draw(st.permutations(range(count))), np.int64)
    return np.split(rows, sorted(draw(st.sets(st.integers(0, count), max_size=3))))
