"""Balls in the cube: the box of a ball has the points of all events in it."""

from __future__ import annotations

import numpy as np
import pytest

from covey.errors import InvalidArgumentError
from covey.overlay.can.projection import CubeProjection


@pytest.mark.parametrize(("k", "d"), [(1, 2), (2, 4), (3, 8), (5, 8), (4, 384)])
def test_an_event_in_a_ball_is_in_its_box(k: int, d: int) -> None:
    random, cube = (
        np.random.default_rng(k * d),
        CubeProjection.build_random(k, d, max_radius=0.5, seed=k),
    )
    centres, radii = random.random((500, d)), random.random(500) * 0.5
    ways = random.standard_normal((500, d))
    edge = centres + ways / np.linalg.norm(ways, axis=1)[:, None] * radii[:, None] * (1 - 1e-12)
    low, high = cube.project_balls(centres, radii)
    for events in (edge, centres):
        places = cube.project_points(events)
        assert ((low <= places) & (places <= high)).all()
    assert low.min() >= 0
    assert high.max() < 1


def test_a_ball_within_another_has_a_box_within() -> None:
    random, cube = (
        np.random.default_rng(1),
        CubeProjection.build_random(3, 6, max_radius=0.5, seed=2),
    )
    centres, radii = random.random((500, 6)), 0.2 + random.random(500) * 0.3
    ways = random.standard_normal((500, 6))
    inner = radii * random.random(500)
    moved = (
        centres + ways / np.linalg.norm(ways, axis=1)[:, None] * (radii - inner)[:, None] * 0.999
    )
    low, high = cube.project_balls(centres, radii)
    inner_low, inner_high = cube.project_balls(moved, inner)
    assert ((low <= inner_low) & (inner_high <= high)).all()


def test_the_largest_ball_just_fits() -> None:
    """With d = 4 the sides are (2 r_max + √d) wide: a ball of r_max takes 2 r_max of it."""
    cube = CubeProjection.build_random(2, 4, max_radius=0.5, seed=1)
    low, high = cube.project_balls(np.full((1, 4), 0.5), np.array([0.5]))
    assert high - low == pytest.approx(np.full((1, 2), 1 / (1 + 2)))


def test_a_radius_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="more than 0"):
        CubeProjection.build_random(2, 4, max_radius=0.0)
