"""The box of a ball in the cube contains the points of all events in the ball."""

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
    directions = random.standard_normal((500, d))
    boundary = centres + directions / np.linalg.norm(directions, axis=1)[:, None] * radii[
        :, None
    ] * (1 - 1e-12)
    low, high = cube.project_balls(centres, radii)
    for events in (boundary, centres):
        points = cube.project_points(events)
        assert ((low <= points) & (points <= high)).all()
    assert low.min() >= 0
    assert high.max() < 1


def test_the_box_of_a_ball_contains_the_boxes_of_balls_within_it() -> None:
    random, cube = (
        np.random.default_rng(1),
        CubeProjection.build_random(3, 6, max_radius=0.5, seed=2),
    )
    centres, radii = random.random((500, 6)), 0.2 + random.random(500) * 0.3
    directions = random.standard_normal((500, 6))
    inner_radii = radii * random.random(500)
    inner_centres = (
        centres
        + directions
        / np.linalg.norm(directions, axis=1)[:, None]
        * (radii - inner_radii)[:, None]
        * 0.999
    )
    low, high = cube.project_balls(centres, radii)
    inner_low, inner_high = cube.project_balls(inner_centres, inner_radii)
    assert ((low <= inner_low) & (inner_high <= high)).all()


def test_the_largest_ball_has_the_expected_share_of_the_cube() -> None:
    """With d = 4, the cube is 2·max_radius + √d wide, and the largest ball 2·max_radius."""
    cube = CubeProjection.build_random(2, 4, max_radius=0.5, seed=1)
    low, high = cube.project_balls(np.full((1, 4), 0.5), np.array([0.5]))
    assert high - low == pytest.approx(np.full((1, 2), 1 / (1 + 2)))


def test_a_largest_radius_of_zero_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="more than 0"):
        CubeProjection.build_random(2, 4, max_radius=0.0)
