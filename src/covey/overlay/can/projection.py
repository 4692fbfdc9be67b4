"""The projection of balls and events into the unit cube of a CAN.

Usually, the cube has fewer dimensions than the events. Directions are those of the paper, with
entries ±√(1/d). The box of a ball contains the points of all events in the ball. To ensure this in
spite of rounding, the box is widened by the largest rounding error, and boxes and points are scaled
by the same monotonic formula. (papers: can)
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
    """The projection from [0, 1]^d to the cube [0, 1]^k, on k directions.

    `max_radius` is the expected largest radius, for which boxes just fit into the cube. Coordinates
    outside the cube are moved to its boundary. No match is lost by this, but the zones at the
    boundary get more work.

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
        """Return a projection on random directions.

        Args:
            cube_dimensions: number of dimensions of the cube, k.
            event_dimensions: number of coordinates of an event, d.
            max_radius: expected largest radius of a ball.
            seed: seed of the directions.

        Raises:
            InvalidArgumentError: `max_radius` or a number of dimensions is not positive.
        """
        if not max_radius > 0:
            raise InvalidArgumentError(f"max_radius must be more than 0, got {max_radius}")
        signs = Directions.random_signs(cube_dimensions, event_dimensions, seed)
        return cls(Directions(signs.matrix * math.sqrt(1 / event_dimensions)), max_radius)

    def project_balls(self, centres: Floats, radii: Floats) -> tuple[Floats, Floats]:
        """Return the lower and the upper corners of the boxes of balls, one row per ball."""
        low, high = self.directions.project_outer_balls(centres, radii)
        return self._scale_to_cube(low), self._scale_to_cube(high)

    def project_points(self, points: Floats) -> Floats:
        """Return points projected into the cube: events, or centres of balls for their seats."""
        return self._scale_to_cube(self.directions.project_balls(points, np.zeros(len(points)))[0])

    def _scale_to_cube(self, values: Floats) -> Floats:
        """Scale projections on the directions, one per column, to coordinates of the cube."""
        matrix = self.directions.matrix
        first = -self.max_radius + np.minimum(0, matrix).sum(axis=1)
        last = self.max_radius + np.maximum(0, matrix).sum(axis=1)
        scaled: Floats = np.clip((values - first) / (last - first), 0.0, MAX_COORDINATE)
        return scaled
