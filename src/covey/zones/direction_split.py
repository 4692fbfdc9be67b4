"""Splits of vectors: by what they project to on a direction, or by their angle with it.

Spark computes the projection of an event in float32; a ball is on every side that a vector in it
may be on, the errors of both computations included. In many dimensions balls are wide beside what
directions tell apart: then most of them are on both sides, and zones save little.
(papers: projection)
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

_HUGE, _TINY = 1e18, 1e-20  # squares beyond the one overflow float32, below the other they vanish
_LARGEST_NORM = 1e6  # of a centre, for angles; the smallest is its inverse
_NAN = key_domain(FLOAT).high


@dataclass(frozen=True, slots=True)
class DirectionSplit:
    """Vectors are high whose product with `direction` is `threshold` or more; or their cosine.

    Which of the two it is `metric` says: it is that of the balls which the split is for, and balls
    of the other are on both sides.
    """

    attribute: str
    metric: Metric
    direction: NDArray[np.float32] = field(repr=False)
    threshold: float

    def is_high(self, events: Events, rows: Rows) -> Bools:
        """As Spark says it, but for vectors that are as near to the split as float32 can tell."""
        column = events[self.attribute]
        assert isinstance(column, VectorColumn)
        seen = self.project_vectors(column.matrix[rows])
        high: Bools = (seen >= self.threshold) | np.isnan(seen)
        high &= column.states[rows] == ValueState.VALUE
        return high

    def project_vectors(self, vectors: NDArray[np.float32]) -> Floats:
        """What is compared with `threshold` of each vector; without a cosine it is -inf."""
        if self.metric is Metric.L2:
            with np.errstate(all="ignore"):
                return np.asarray(vectors @ self.direction, np.float64)
        scores, defined = score_rows(
            self.metric, vectors, np.tile(self.direction, (len(vectors), 1))
        )
        return np.where(defined, scores, -np.inf).astype(np.float64)

    def find_sides(self, regions: Regions, rows: Rows) -> Sides:
        low, high = np.ones(len(rows), np.bool_), np.ones(len(rows), np.bool_)
        given = regions.constraints.get(self.attribute)
        if given is None:
            return low, high
        places, there = given.locate_rows(rows)
        batch = given.batch.take(places[there])
        assert isinstance(batch, Balls)
        low[there], high[there] = self.find_ball_sides(batch)
        return low, high

    def to_predicate(self, column: str) -> str:
        words = ", ".join(map(float32_literal, self.direction.tolist()))
        function = (
            "vector_inner_product" if self.metric is Metric.L2 else "vector_cosine_similarity"
        )
        seen = f"{function}({column}, array({words}))"
        # On a vector of another length Spark would raise.
        return (
            f"CASE WHEN size({column}) = {len(self.direction)} "
            f"THEN {seen} >= {float32_literal(self.threshold)} ELSE false END"
        )

    def find_ball_sides(self, batch: Balls) -> Sides:
        """On which sides each of some constraints is."""
        least, most = self._bound_balls(batch)
        owner = np.repeat(np.arange(len(batch)), batch.balls.lengths)
        ball = batch.balls.values
        is_low, is_high = np.ones(len(batch), np.bool_), np.ones(len(batch), np.bool_)
        is_low[owner[least[ball] >= self.threshold]] = False
        is_high[owner[most[ball] < self.threshold]] = False
        has_value = (batch.states & ValueState.VALUE) > 0
        has_other = (batch.states & ~np.uint8(ValueState.VALUE)) > 0
        return has_other | (has_value & is_low), has_value & is_high

    def _bound_balls(self, batch: Balls) -> tuple[Floats, Floats]:
        """Between what the vectors of each ball are seen: wide enough for any rounding."""
        least, most = np.full(len(batch.metrics), -np.inf), np.full(len(batch.metrics), np.inf)
        mine = np.flatnonzero((batch.metrics == self.metric) & ~batch.points)
        if len(mine):
            reach = self._bound_products if self.metric is Metric.L2 else self._bound_cosines
            with np.errstate(all="ignore"):
                found = reach(
                    batch.centres[mine].astype(np.float64), batch.lower[mine], batch.upper[mine]
                )
            for ends, some, other in zip((least, most), found, (-np.inf, np.inf), strict=True):
                ends[mine] = np.where(np.isnan(some), other, some)
        return least, most

    def _bound_products(self, centres: Floats, lower: Rows, upper: Rows) -> tuple[Floats, Floats]:
        direction = self.direction.astype(np.float64)
        error = relative_error_bound(len(direction))
        radius = decode_floats(upper, FLOAT).astype(np.float64) * (1 + error) + _TINY
        longest = np.linalg.norm(centres, axis=1) + radius
        length = np.linalg.norm(direction) * (1 + error)
        middle = centres @ direction
        wide = (radius + 8 * error * longest) * length + _TINY
        wide[~(longest < _HUGE)] = np.inf
        return middle - wide, middle + wide

    def _bound_cosines(self, centres: Floats, lower: Rows, upper: Rows) -> tuple[Floats, Floats]:
        direction = self.direction.astype(np.float64)
        norms, length = np.linalg.norm(centres, axis=1), np.linalg.norm(direction)
        slack = 4 * relative_error_bound(len(direction))
        apart = np.arccos(np.clip(centres @ direction / (norms * length), -1, 1))
        lowest = decode_floats(lower, FLOAT).astype(np.float64)
        far = np.arccos(np.clip(np.where(np.isnan(lowest), -1, lowest) - slack, -1, 1))
        least = np.cos(np.minimum(np.pi, apart + far)) - slack
        most = np.cos(np.maximum(0.0, apart - far)) + slack
        most[upper >= _NAN] = np.inf  # a similarity of NaN is high
        unknown = ~((norms > 1 / _LARGEST_NORM) & (norms < _LARGEST_NORM))
        least[unknown], most[unknown] = -np.inf, np.inf
        return least, most
