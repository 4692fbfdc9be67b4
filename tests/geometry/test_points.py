"""An event is a region of size zero: a region contains it if and only if it covers that region."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.geometry import Regions
from covey.geometry.balls import Ball, Balls
from covey.geometry.distances import Metric, score_rows
from covey.geometry.regions import Constraints
from covey.geometry.relations import contains, covers
from covey.space import Events, Space
from covey.space.events import ValueState, VectorColumn
from covey.space.keys import encode_floats, key_domain
from covey.space.types import FLOAT
from covey.testing.strategies import events, regions, spaces
from tests.geometry.cases import EVERY, every_cover, every_match, vector_spaces


@given(st.data(), spaces() | vector_spaces)
def test_matching_is_covering_a_point(data: st.DataObject, space: Space) -> None:
    """This holds for all kinds of constraints and all events, also for NaN and infinity."""
    batch, sample = data.draw(regions(space)), data.draw(events(space, max_events=12))
    covering = every_cover(batch, Regions.from_events(sample))
    assert covering.tolist() == every_match(batch, sample).tolist()


@given(st.data(), spaces())
def test_points_are_never_dropped_or_free(data: st.DataObject, space: Space) -> None:
    sample = data.draw(events(space))
    points = Regions.from_events(sample)
    nonempty, rows = Regions.from_constraints(points.space, len(points), points.constraints)
    assert rows.tolist() == list(range(len(sample)))
    assert all(
        len(constraints.rows) == len(sample) for constraints in nonempty.constraints.values()
    )


coordinates = st.floats(-4, 4, width=32)


@pytest.mark.parametrize("metric", list(Metric))
@given(st.lists(coordinates, min_size=6, max_size=6), st.integers(-1, 1))
def test_a_vector_at_the_boundary_is_inside_and_one_beyond_is_not(
    metric: Metric, numbers: list[float], beyond: int
) -> None:
    """The end of the ball is the score of the vector, or the float32 before or after it."""
    space, matrix = Space((EVERY["vec"],)), np.array([numbers], np.float32)
    vector, centre = matrix[:, :3], matrix[:, 3:]
    scores, defined = score_rows(metric, vector, centre)
    upper = int(encode_floats(scores)[0]) + beyond
    lower = 0 if metric is Metric.L2 else key_domain(FLOAT).low
    ball = Ball(metric, tuple(centre[0].tolist()), lower, upper)
    batch = Balls.from_rows([(ValueState.VALUE, [ball])], 3)
    region = Regions(space, 1, {"vec": Constraints(np.array([0]), batch)})
    column = VectorColumn(vector, np.array([ValueState.VALUE], np.uint8))
    sample, row = Events(space, 1, {"vec": column}), np.array([0])
    expected = [bool(defined[0]) and beyond >= 0 and not batch.is_empty[0]]
    assert contains(region, row, sample, row).tolist() == expected
    assert covers(region, row, Regions.from_events(sample), row).tolist() == expected
