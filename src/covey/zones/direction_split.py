"""Splits of vectors, by their projection on a direction or by their angle with it.

Spark computes the projection of an event in float32. A ball is on each side on which a vector of
the ball may be; bounds allow for the rounding errors of Spark and of this module. In many
dimensions, balls are wide compared with the spread of the projections. Then most balls are on both
sides, and zones save little work. The method is that of the paper *projection*.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.geometry.balls import Balls
from covey.geometry.distances import Metric, relative_error_bound, score_rows
from covey.language.values import float32_literal
from covey.space import Events
from covey.space.events import ValueState, VectorColumn
from covey.space.keys import decode_floats, key_domain
from covey.space.types import FLOAT
from covey.zones.splits import Bools, Rows, Sides

__all__ = ["DirectionSplit"]

Floats = NDArray[np.float64]

_HUGE, _TINY = 1e18, 1e-20  # squares of numbers beyond these overflow or underflow float32
_LARGEST_NORM = 1e6  # angles are bounded for centres with norms from 1 / _LARGEST_NORM to this
_NAN = key_domain(FLOAT).high


@dataclass(frozen=True, slots=True)
class DirectionSplit:
    """Split by the score of a vector with a direction: high if the score reaches a threshold.

    Args:
        attribute: attribute with the vectors.
        metric: metric of the balls on the attribute; balls of the other metric are on both sides.
            The score is the inner product for `L2`, and the cosine similarity for `COSINE`.
        direction: the direction.
        threshold: smallest score of the high side.
    """

    attribute: str
    metric: Metric
    direction: NDArray[np.float32] = field(repr=False)
    threshold: float

    def is_high(self, events: Events, rows: Rows) -> Bools:
        """Return for each row of `rows` whether its event is on the high side.

        Spark may decide differently for a vector whose score differs from the threshold by no more
        than the rounding error of float32. Regions that may contain such a vector are on both
        sides.
        """
        column = events[self.attribute]
        assert isinstance(column, VectorColumn)
        scores = self.project_vectors(column.matrix[rows])
        high: Bools = (scores >= self.threshold) | np.isnan(scores)
        high &= column.states[rows] == ValueState.VALUE
        return high

    def project_vectors(self, vectors: NDArray[np.float32]) -> Floats:
        """Return the score of each vector with the direction; -inf if the cosine is undefined."""
        if self.metric is Metric.L2:
            with np.errstate(all="ignore"):
                return np.asarray(vectors @ self.direction, np.float64)
        scores, defined = score_rows(
            self.metric, vectors, np.tile(self.direction, (len(vectors), 1))
        )
        return np.where(defined, scores, -np.inf).astype(np.float64)

    def find_sides(self, regions: Regions, rows: Rows) -> Sides:
        """Return for each row of `rows` whether its region is on the low and on the high side."""
        low, high = np.ones(len(rows), np.bool_), np.ones(len(rows), np.bool_)
        constraints = regions.constraints.get(self.attribute)
        if constraints is None:
            return low, high
        batch_rows, is_constrained = constraints.locate_rows(rows)
        batch = constraints.batch.take(batch_rows[is_constrained])
        assert isinstance(batch, Balls)
        low[is_constrained], high[is_constrained] = self.find_ball_sides(batch)
        return low, high

    def to_predicate(self, column: str) -> str:
        """Return a SQL predicate that is true for an event on the high side."""
        elements = ", ".join(map(float32_literal, self.direction.tolist()))
        function = (
            "vector_inner_product" if self.metric is Metric.L2 else "vector_cosine_similarity"
        )
        score = f"{function}({column}, array({elements}))"
        # Spark raises an error for a vector of another length.
        return (
            f"CASE WHEN size({column}) = {len(self.direction)} "
            f"THEN {score} >= {float32_literal(self.threshold)} ELSE false END"
        )

    def find_ball_sides(self, batch: Balls) -> Sides:
        """Return for each constraint whether it may admit vectors on the low and the high side.

        The result is two masks, first for the low side. Null and malformed vectors are on the low
        side.
        """
        lowest, highest = self._bound_balls(batch)
        ball_rows = np.repeat(np.arange(len(batch)), batch.balls.lengths)
        ball = batch.balls.values
        is_low, is_high = np.ones(len(batch), np.bool_), np.ones(len(batch), np.bool_)
        is_low[ball_rows[lowest[ball] >= self.threshold]] = False
        is_high[ball_rows[highest[ball] < self.threshold]] = False
        has_value = (batch.states & ValueState.VALUE) > 0
        has_other = (batch.states & ~np.uint8(ValueState.VALUE)) > 0
        return has_other | (has_value & is_low), has_value & is_high

    def _bound_balls(self, batch: Balls) -> tuple[Floats, Floats]:
        """Return lower and upper bounds on the scores of the vectors in each ball.

        The bounds allow for rounding errors. They are infinite for balls of the other metric, and
        if no finite bound is known.
        """
        lowest, highest = np.full(len(batch.metrics), -np.inf), np.full(len(batch.metrics), np.inf)
        ordinals = np.flatnonzero((batch.metrics == self.metric) & ~batch.points)
        if len(ordinals):
            bound_scores = self._bound_products if self.metric is Metric.L2 else self._bound_cosines
            with np.errstate(all="ignore"):
                bounds = bound_scores(
                    batch.centres[ordinals].astype(np.float64),
                    batch.lower[ordinals],
                    batch.upper[ordinals],
                )
            for ends, bound, unbounded in zip(
                (lowest, highest), bounds, (-np.inf, np.inf), strict=True
            ):
                ends[ordinals] = np.where(np.isnan(bound), unbounded, bound)
        return lowest, highest

    def _bound_products(self, centres: Floats, lower: Rows, upper: Rows) -> tuple[Floats, Floats]:
        """Return lower and upper bounds on inner products of the direction with vectors in balls.

        The balls are l2 balls. `upper` has the keys of their radii; `lower` is not used.
        """
        direction = self.direction.astype(np.float64)
        error = relative_error_bound(len(direction))
        radius = decode_floats(upper, FLOAT).astype(np.float64) * (1 + error) + _TINY
        max_norms = np.linalg.norm(centres, axis=1) + radius
        length = np.linalg.norm(direction) * (1 + error)
        centre_products = centres @ direction
        half_width = (radius + 8 * error * max_norms) * length + _TINY
        half_width[~(max_norms < _HUGE)] = np.inf
        return centre_products - half_width, centre_products + half_width

    def _bound_cosines(self, centres: Floats, lower: Rows, upper: Rows) -> tuple[Floats, Floats]:
        """Return lower and upper bounds on similarities of the direction with vectors in balls.

        The balls are cosine balls. `lower` and `upper` have the keys of the lowest and the highest
        similarity that a vector of the ball has with the centre.
        """
        direction = self.direction.astype(np.float64)
        norms, length = np.linalg.norm(centres, axis=1), np.linalg.norm(direction)
        slack = 4 * relative_error_bound(len(direction))
        angles = np.arccos(np.clip(centres @ direction / (norms * length), -1, 1))
        lowest = decode_floats(lower, FLOAT).astype(np.float64)
        radii = np.arccos(np.clip(np.where(np.isnan(lowest), -1, lowest) - slack, -1, 1))
        lower_bounds = np.cos(np.minimum(np.pi, angles + radii)) - slack
        upper_bounds = np.cos(np.maximum(0.0, angles - radii)) + slack
        upper_bounds[upper >= _NAN] = np.inf  # a vector with similarity NaN is on the high side
        unknown = ~((norms > 1 / _LARGEST_NORM) & (norms < _LARGEST_NORM))
        lower_bounds[unknown], upper_bounds[unknown] = -np.inf, np.inf
        return lower_bounds, upper_bounds
