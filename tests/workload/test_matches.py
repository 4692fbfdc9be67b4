"""Matches per event are near the documented numbers, extrapolated from a small size.

Expected matches are proportional to the number of subscriptions, so a small size is enough. For
larger sizes: `python tests/workload/test_matches.py classifieds 2000000 1000`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.geometry.balls import Balls
from covey.geometry.regions import ConstraintBatch
from covey.geometry.scalars import ONLY, Scalars
from covey.geometry.tags import Tags
from covey.space import Events
from covey.space.events import Column, ScalarColumn, TagColumn, VectorColumn
from covey.space.keys import decode_floats
from covey.space.ragged_array import RaggedArray
from covey.space.types import FLOAT
from covey.workload import Workload, create_workload


@pytest.mark.parametrize(
    ("name", "at", "stated", "subscriptions", "events"),
    [
        ("uniform-boxes-2", 1_000_000, 1.0, 100_000, 4000),
        ("uniform-boxes-4", 1_000_000, 5.9, 100_000, 2000),
        ("uniform-boxes-8", 1_000_000, 0.17, 100_000, 3000),
        ("alerts", 1_000_000, 46, 50_000, 400),
        ("skewed", 1_000_000, 230, 100_000, 400),
        ("classifieds", 8_000_000, 30, 200_000, 1500),
        ("watches", 200_000, 5, 20_000, 500),
    ],
)
def test_matches_per_event_are_as_documented(
    name: str, at: int, stated: float, subscriptions: int, events: int
) -> None:
    measured = matches_per_event(create_workload(name), subscriptions, events) * at / subscriptions
    assert measured == pytest.approx(stated, rel=0.25)


def matches_per_event(workload: Workload, subscriptions: int, events: int) -> float:
    """Return the matches per event by brute force, attribute by attribute."""
    regions = workload.generate_regions(0, subscriptions)
    batch = Events.from_arrow(workload.generate_events(0, events), workload.space)
    most_constrained_first = sorted(regions.constraints, key=lambda n: -_count(regions, n))
    tests = [
        (regions.constraints[name], _admits(regions.constraints[name].batch, batch[name]))
        for name in most_constrained_first
    ]
    matches = 0
    for event in range(events):
        alive = np.arange(subscriptions)
        for column_constraints, admits in tests:
            if len(column_constraints.rows) == subscriptions:
                alive = alive[admits(event, alive)]
                continue
            places, is_constrained = column_constraints.locate_rows(alive)
            is_constrained[is_constrained] = ~admits(event, places[is_constrained])
            alive = alive[~is_constrained]
        matches += len(alive)
    return matches / events


def _count(regions: Regions, name: str) -> int:
    return len(regions.constraints[name].rows)


Admits = Callable[[int, NDArray[np.int64]], NDArray[np.bool_]]


def _admits(batch: ConstraintBatch, column: Column) -> Admits:
    """Return a function that says which rows of a batch admit an event."""
    if isinstance(batch, Balls) and isinstance(column, VectorColumn):
        return _is_near(batch, column)
    if isinstance(batch, Tags) and isinstance(column, TagColumn):
        return _has_words(batch, column)
    assert isinstance(batch, Scalars)
    assert isinstance(column, ScalarColumn)
    return _is_between(batch, column)


def _is_near(batch: Balls, column: VectorColumn) -> Admits:
    squares, radii = (batch.centres**2).sum(axis=1), decode_floats(batch.upper, FLOAT)

    def admits(event: int, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        vector = column.matrix[event]
        products = batch.centres @ vector
        near: NDArray[np.bool_] = squares - 2 * products + (vector**2).sum() <= radii**2
        return near[rows]

    return admits


def _has_words(batch: Tags, column: TagColumn) -> Admits:
    required, has = _codes(batch.tokens.values, column.tokens.values)

    def admits(event: int, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        places, owner = batch.groups.flat_indices(rows)  # every group is one word
        words = has[column.tokens.offsets[event] : column.tokens.offsets[event + 1]]
        lacking = np.bincount(owner[~np.isin(required[places], words)], minlength=len(rows))
        return np.equal(lacking, 0)

    return admits


def _is_between(batch: Scalars, column: ScalarColumn) -> Admits:
    lower, upper, keys, lists = batch.lower, batch.upper, column.keys, batch.lists
    if keys.dtype == object:
        lower, upper, keys, listed = _codes(lower, upper, keys, lists.values)
        lists = RaggedArray(lists.offsets, listed)

    def admits(event: int, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        inside = (lower[rows] <= keys[event]) & (keys[event] <= upper[rows])
        if len(lists.values):
            places, owner = lists.flat_indices(rows)
            found = np.bincount(owner[lists.values[places] == keys[event]], minlength=len(rows)) > 0
            inside &= found | (batch.listed[rows] != ONLY)
        return np.asarray(inside & column.valid[event], np.bool_)

    return admits


def _codes(*arrays: NDArray[np.object_]) -> list[NDArray[np.int64]]:
    """Return texts as numbers in the same order."""
    order = {text: i for i, text in enumerate(sorted({t for a in arrays for t in a.tolist()}))}
    return [np.array([order[text] for text in array.tolist()], np.int64) for array in arrays]


if __name__ == "__main__":
    name, subscriptions, events = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    found = matches_per_event(create_workload(name), subscriptions, events)
    print(f"{name}: {found:.3f} matches per event at {subscriptions:,} subscriptions")
