"""Balls and events in the unit cube of a CAN, which has fewer dimensions than they have.

Directions are the paper's, with entries ±√(1/d). A ball's box in the cube has the points of all
events in the ball: widened by what rounding may take, and scaled by the same formula, in which a
larger number never becomes the smaller one. (papers: can)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.errors import InvalidArgumentError
from covey.geometry.projections import Directions
from covey.overlay.can.zones import MAX_COORDINATE

__all__ = ["CubeProjection"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CubeProjection:
    """How [0, 1]^d becomes [0, 1]^k: directions, and the interval that each projects to.

    `max_radius` is the largest radius. What lies outside of [0, 1]^d is moved to the cube's edge:
    that loses nothing, but crowds.

    >>> cube = CubeProjection.build_random(2, 8, max_radius=0.5, seed=1)
    >>> low, high = cube.project_balls(np.full((1, 8), 0.5), np.array([0.1]))
    >>> bool((low < high).all()), low.shape
    (True, (1, 2))
    """

    directions: Directions
    max_radius: float

    @classmethod
    def build_random(
        cls, cube_dimensions: int, event_dimensions: int, *, max_radius: float = 0.5, seed: int = 0
    ) -> CubeProjection:
        """With random directions."""
        if not max_radius > 0:
            raise InvalidArgumentError(f"no cube with r_max={max_radius}: it is more than 0")
        signs = Directions.random_signs(cube_dimensions, event_dimensions, seed)
        return cls(Directions(signs.matrix * math.sqrt(1 / event_dimensions)), max_radius)

    def project_balls(self, centres: Floats, radii: Floats) -> tuple[Floats, Floats]:
        """The lower and the upper corners of balls."""
        low, high = self.directions.project_outer_balls(centres, radii)
        return self._scale_to_cube(low), self._scale_to_cube(high)

    def project_points(self, points: Floats) -> Floats:
        """Where events are, and the seats of balls by their centres."""
        return self._scale_to_cube(self.directions.project_balls(points, np.zeros(len(points)))[0])

    def _scale_to_cube(self, values: Floats) -> Floats:
        matrix = self.directions.matrix
        first = -self.max_radius + np.minimum(0, matrix).sum(axis=1)
        last = self.max_radius + np.maximum(0, matrix).sum(axis=1)
        scaled: Floats = np.clip((values - first) / (last - first), 0.0, MAX_COORDINATE)
        return scaled
