"""Relations between balls, with cases in which rounding and overflow decide."""

from __future__ import annotations

import numpy as np
import pytest

from covey.geometry.balls import Ball, Balls
from covey.geometry.distances import Metric, score_rows
from covey.space.events import ValueState
from covey.space.keys import encode_floats, key_domain
from covey.space.types import FLOAT

L2, COSINE, WHOLE = Metric.L2, Metric.COSINE, key_domain(FLOAT)


def key(number: float) -> int:
    """Return the key of a number as float32."""
    return int(encode_floats(np.array([number], np.float32))[0])


def test_a_ball_covers_a_smaller_ball_with_a_centre_nearby() -> None:
    assert Ball(L2, (0.0, 0.0), 0, key(10)).covers(Ball(L2, (1.0, 0.0), 0, key(2)))


def test_a_hull_of_balls_covers_them() -> None:
    balls = Balls.from_rows([(2, [Ball(L2, (x, 0.0), 0, key(1))]) for x in (0.0, 1.0)], 2)
    hull = balls.hull(np.array([0, 0])).take(np.array([0, 0]))
    assert hull.covers(balls).tolist() == [True, True]


@pytest.mark.parametrize(
    "inner", [Ball(L2, (0.0, 0.0), 0, key(2)), Ball(COSINE, (1.0, 1.0), key(0.5), key(1))]
)
def test_a_ball_of_all_similarities_does_not_cover_vectors_without_one(inner: Ball) -> None:
    """The zero vector is in the l2 ball, and no vector has a similarity with a zero centre."""
    centre = (1.0, 0.0) if inner.metric is L2 else (0.0, 0.0)
    assert not Ball(COSINE, centre, WHOLE.low, WHOLE.high).covers(inner)


def test_an_infinite_distance_from_one_centre_is_finite_from_another() -> None:
    """(1.9e19,) has distance inf from 0, because its square overflows, and 1.8e19 from 1e18."""
    far, vector = key(np.inf), np.array([[1.9e19]], np.float32)
    inner, outer = Ball(L2, (0.0,), far, far), Ball(L2, (1e18,), far, WHOLE.high)
    in_inner = Balls.from_rows([(ValueState.VALUE, [inner])], 1).contains(
        vector, np.array([2], np.uint8)
    )
    in_outer = Balls.from_rows([(ValueState.VALUE, [outer])], 1).contains(
        vector, np.array([2], np.uint8)
    )
    assert in_inner.all()
    assert not in_outer.any()
    assert not outer.covers(inner)


def test_a_ball_overlaps_the_vectors_at_infinite_distance_from_another_centre() -> None:
    far = key(np.inf)
    assert Ball(L2, (1e18,), 0, key(1.85e19)).overlaps(Ball(L2, (0.0,), far, far))


def test_a_ball_of_radius_zero_holds_more_than_its_centre() -> None:
    """(-2e-23,) has float32 distance 0 from 0: its square underflows."""
    c = float(np.float32(1e-22))
    radius = int(encode_floats(score_rows(L2, np.float32([[c]]), np.float32([[0]]))[0])[0])
    outer, inner = Ball(L2, (c,), 0, radius), Ball(L2, (0.0,), 0, 0)
    vector, state = np.array([[-2e-23]], np.float32), np.array([2], np.uint8)
    assert Balls.from_rows([(2, [inner])], 1).contains(vector, state).all()
    assert not Balls.from_rows([(2, [outer])], 1).contains(vector, state).any()
    assert not outer.covers(inner)
