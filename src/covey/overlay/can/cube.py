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

from covey.errors import ValueRefused
from covey.geometry.projections import Directions
from covey.overlay.can.zones import INSIDE

__all__ = ["Cube"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Cube:
    """How [0, 1]^d becomes [0, 1]^k: directions, and the interval that each projects to.

    `r_max` is the largest radius. What lies outside of [0, 1]^d is moved to the cube's edge: that
    loses nothing, but crowds.

    >>> cube = Cube.drawn(2, 8, r_max=0.5, seed=1)
    >>> low, high = cube.boxes(np.full((1, 8), 0.5), np.array([0.1]))
    >>> bool((low < high).all()), low.shape
    (True, (1, 2))
    """

    directions: Directions
    r_max: float

    @classmethod
    def drawn(cls, k: int, d: int, r_max: float = 0.5, seed: int = 0) -> Cube:
        """With random directions."""
        if not r_max > 0:
            raise ValueRefused(f"no cube with r_max={r_max}: it is more than 0")
        signs = Directions.signs(k, d, seed)
        return cls(Directions(signs.matrix * math.sqrt(1 / d)), r_max)

    def boxes(self, centres: Floats, radii: Floats) -> tuple[Floats, Floats]:
        """The lower and the upper corners of balls."""
        low, high = self.directions.outer_balls(centres, radii)
        return self._scaled(low), self._scaled(high)

    def points(self, events: Floats) -> Floats:
        """Where events are, and the seats of balls by their centres."""
        return self._scaled(self.directions.balls(events, np.zeros(len(events)))[0])

    def _scaled(self, ends: Floats) -> Floats:
        matrix = self.directions.matrix
        first = -self.r_max + np.minimum(0, matrix).sum(axis=1)
        last = self.r_max + np.maximum(0, matrix).sum(axis=1)
        scaled: Floats = np.clip((ends - first) / (last - first), 0.0, INSIDE)
        return scaled
