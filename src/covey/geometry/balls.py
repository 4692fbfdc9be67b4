"""Constraints on one vector attribute: vectors whose score with a centre lies in an interval.

A score is `vector_l2_distance` or `vector_cosine_similarity` as Spark computes it. The interval of
admitted scores is stored as keys of float32 numbers. It is usually `0 ≤ distance ≤ radius`, but the
distance may also have a positive lower bound, or no upper bound. A constraint says which states it
admits (null, vectors, malformed vectors, vectors with null elements). It admits a vector if the
vector is in all of its balls.

`contains` is exact. Relations between balls with different centres are computed in float64, and
every interval is widened by the largest error of float32. So `covers` never claims a cover that
does not hold, but may miss a cover if the surfaces of the two balls are closer than 1e-5 of the
distances. `overlaps` never misses an overlap, but may claim one that does not exist. Relations of
cosines assume that the product of two norms neither overflows nor underflows float32. Constraints
with several balls are compared ball by ball. An l2 ball is not compared with a cosine ball: neither
covers the other, and they count as overlapping.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covey.geometry.distances import Metric, relative_error_bound, score_rows
from covey.space.events import ValueState
from covey.space.keys import decode_floats, encode_floats, key_domain
from covey.space.ragged_array import RaggedArray
from covey.space.types import FLOAT

__all__ = ["Ball", "Balls"]

Bools = NDArray[np.bool_]
Rows = NDArray[np.int64]

_DOMAIN = key_domain(FLOAT)
_ANY_STATE = ValueState.NULL | ValueState.VALUE | ValueState.MALFORMED | ValueState.NULL_ELEMENTS
_TINY = 1e-20  # absolute error of a distance whose square underflows float32
_HUGE = 1e18  # a sum of squares of larger numbers may overflow float32
_SMALLEST_NORM = 1e-6  # smallest norm of a centre whose cosines are compared; the largest is 1e6


class Ball(NamedTuple):
    """Vectors whose score with `centre` has a key from `lower` to `upper`, both inclusive.

    With `is_point`, the ball contains only the vector `centre`. Without it, a ball of radius 0 also
    contains vectors near its centre, because the squares of small differences underflow to 0.
    """

    metric: Metric
    centre: tuple[float, ...]
    lower: int
    upper: int
    is_point: bool = False

    def covers(self, inner: Ball) -> bool:
        """Return whether every vector in `inner` is in this ball.

        True is always right. False may be wrong; see the module docstring.
        """
        if self.is_point:
            return inner.is_point and np.array_equal(self.centre, inner.centre, equal_nan=True)
        low, high = self._score_bounds_of(inner)
        return self.lower <= low and high <= self.upper

    def overlaps(self, other: Ball) -> bool:
        """Return whether a vector may be in both balls.

        False is always right. True may be wrong; see the module docstring.
        """
        if self.is_point and not other.is_point:
            return other.overlaps(self)
        low, high = self._score_bounds_of(other)
        return low <= self.upper and self.lower <= high

    def _score_bounds_of(self, other: Ball) -> tuple[int, int]:
        """Return a lower and an upper bound on the keys of the scores of all vectors in `other`.

        The scores are those with the centre of this ball. If a score may be null, the bounds lie
        beyond all keys, so that no interval of keys contains them.
        """
        if other.is_point:
            return self._score_vector(other.centre)
        if self.metric != other.metric:
            return _BEYOND_ALL_KEYS if self.metric is Metric.COSINE else (0, int(_DOMAIN.high))
        if self.centre == other.centre:
            return other.lower, other.upper
        a, b = np.array(self.centre, np.float64), np.array(other.centre, np.float64)
        bound = _distance_bounds if self.metric is Metric.L2 else _cosine_bounds
        return bound(a, b, other, relative_error_bound(len(a)))

    def _score_vector(self, vector: tuple[float, ...]) -> tuple[int, int]:
        """Return the key of a vector's score with the centre, as lower and as upper bound.

        If the score is null, return bounds that lie beyond all keys.
        """
        a, b = np.array([vector], np.float32), np.array([self.centre], np.float32)
        scores, defined = score_rows(self.metric, a, b)
        key = int(encode_floats(scores)[0])
        return (key, key) if defined[0] else _BEYOND_ALL_KEYS


_BEYOND_ALL_KEYS = (int(_DOMAIN.low) - 1, int(_DOMAIN.high) + 1)


@dataclass(frozen=True, slots=True)
class Balls:
    """A batch of constraints on one vector attribute, one constraint per row.

    `states[i]` has the bits of the `ValueState`s that row i admits, and `balls.row(i)` the numbers
    of its balls. The fields of ball j are `metrics[j]`, `centres[j]`, `lower[j]`, `upper[j]` and
    `points[j]`; the last is `Ball.is_point`.
    """

    states: NDArray[np.uint8]
    balls: RaggedArray
    metrics: NDArray[np.uint8]
    centres: NDArray[np.float32]
    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    points: Bools

    @classmethod
    def from_rows(cls, rows: Sequence[tuple[int, Sequence[Ball]]], length: int) -> Balls:
        """Return the constraints in normal form.

        Args:
            rows: for each constraint the states (bits of `ValueState`) and the balls.
            length: number of coordinates of every centre.
        """
        normal_rows = [_normalize_row(states, balls) for states, balls in rows]
        flat = [ball for _, balls in normal_rows for ball in balls]
        counts = np.array([len(balls) for _, balls in normal_rows], np.int64)
        return cls(
            np.array([states for states, _ in normal_rows], np.uint8),
            RaggedArray.from_lengths(counts, np.arange(len(flat))),
            np.array([ball.metric for ball in flat], np.uint8),
            np.array([ball.centre for ball in flat], np.float32).reshape(len(flat), length),
            np.array([ball.lower for ball in flat], np.int64),
            np.array([ball.upper for ball in flat], np.int64),
            np.array([ball.is_point for ball in flat], np.bool_),
        )

    @classmethod
    def build_unconstrained(cls, count: int, length: int) -> Balls:
        """Return `count` rows that admit null and every vector, also malformed ones."""
        return cls.from_rows([(_ANY_STATE, ())] * count, length)

    @classmethod
    def concat(cls, batches: Sequence[Balls]) -> Balls:
        """Return the rows of all batches, one batch after another."""
        metrics, centres, lower, upper, points = (
            np.concatenate([getattr(batch, name) for batch in batches])
            for name in ("metrics", "centres", "lower", "upper", "points")
        )
        offsets = RaggedArray.concat([batch.balls for batch in batches]).offsets
        balls = RaggedArray(offsets, np.arange(len(metrics)))
        states = np.concatenate([batch.states for batch in batches])
        return cls(states, balls, metrics, centres, lower, upper, points)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.states)

    def take(self, rows: Rows) -> Balls:
        """Return the given rows in the given order; a row may occur several times."""
        row_balls = self.balls.take(rows)
        ordinals = row_balls.values
        return Balls(
            self.states[rows],
            RaggedArray(row_balls.offsets, np.arange(len(ordinals))),
            self.metrics[ordinals],
            self.centres[ordinals],
            self.lower[ordinals],
            self.upper[ordinals],
            self.points[ordinals],
        )

    def row(self, i: int) -> tuple[int, list[Ball]]:
        """Return row i as its states and its balls."""
        return int(self.states[i]), [
            Ball(
                Metric(int(self.metrics[j])), tuple(self.centres[j].tolist()),
                int(self.lower[j]), int(self.upper[j]), bool(self.points[j]),
            )
            for j in self.balls.row(i)
        ]  # fmt: skip

    @property
    def is_empty(self) -> Bools:
        """For each row, whether it admits neither a vector nor null."""
        empty: Bools = self.states == 0
        return empty

    @property
    def is_unconstrained(self) -> Bools:
        """For each row, whether it admits null and every vector, also malformed ones."""
        admits_all: Bools = (self.states == _ANY_STATE) & (self.balls.lengths == 0)
        return admits_all

    def contains(self, vectors: NDArray[np.float32], states: NDArray[np.uint8]) -> Bools:
        """Return for each i whether row i admits vector i, exactly as Spark decides.

        Args:
            vectors: one vector per row; its content counts only if its state is `VALUE`.
            states: the `ValueState` of each vector.
        """
        admitted: Bools = (self.states & states) > 0
        ball_rows = np.repeat(np.arange(len(self)), self.balls.lengths)
        ordinals = np.flatnonzero((states[ball_rows] == ValueState.VALUE) & admitted[ball_rows])
        for metric in Metric:
            selection = ordinals[self.metrics[ordinals] == metric]
            scores, defined = score_rows(
                metric, vectors[ball_rows[selection]], self.centres[selection]
            )
            keys = encode_floats(scores)
            inside = defined & (self.lower[selection] <= keys) & (keys <= self.upper[selection])
            centres, candidates = self.centres[selection], vectors[ball_rows[selection]]
            is_equal = ((candidates == centres) | (np.isnan(candidates) & np.isnan(centres))).all(
                axis=1
            )
            inside = np.where(self.points[selection], is_equal, inside)
            admitted[ball_rows[selection[~inside]]] = False
        return admitted

    def covers(self, inner: Balls) -> Bools:
        """Return for each i whether row i admits everything that row i of `inner` admits.

        True is always right. False may be wrong; see the module docstring.
        """
        return self._decide_pairwise(inner, _row_covers)

    def overlaps(self, other: Balls) -> Bools:
        """Return for each i whether row i and row i of `other` may admit a common value.

        The value may be null, a vector, a malformed vector, or a vector with null elements. False
        is always right. True may be wrong; see the module docstring.
        """
        return self._decide_pairwise(other, _rows_overlap)

    def _decide_pairwise(self, other: Balls, decide: Any) -> Bools:
        """Return for each i the result of `decide` for row i of this batch and row i of `other`."""
        pairs = ((self.row(i), other.row(i)) for i in range(len(self)))
        return np.array([decide(*a, *b) for a, b in pairs], np.bool_)

    def intersect(self, other: Balls) -> Balls:
        """Return for each i the constraint that admits what row i and row i of `other` admit."""
        pairs = [(self.row(i), other.row(i)) for i in range(len(self))]
        rows = [(a[0] & b[0], a[1] + b[1]) for a, b in pairs]
        return Balls.from_rows(rows, self.centres.shape[1])

    def hull(self, groups: Rows) -> Balls:
        """Return for each group of rows one row that covers all rows of the group.

        Rows that admit no vector add only their states. If each of the other rows has exactly one
        l2 ball, with a finite radius and no lower bound, the result has one ball that encloses
        these balls; it is computed two balls at a time. If not, and all these rows have the same
        balls, the result has the same balls too. Otherwise it admits every vector.

        Args:
            groups: the group number of each row, ascending, from 0 without gaps.
        """
        rows: dict[int, tuple[int, list[Ball]]] = {}
        for i, group in enumerate(groups.tolist()):
            states, balls = self.row(i)
            if group not in rows:
                rows[group] = states, balls
            else:
                earlier = rows[group]
                rows[group] = states | earlier[0], _enclose_balls(earlier, (states, balls))
        return Balls.from_rows(list(rows.values()), self.centres.shape[1])


def _normalize_row(states: int, balls: Sequence[Ball]) -> tuple[int, list[Ball]]:
    """Return the states and the balls of a constraint in normal form.

    Balls with the same metric, centre and `is_point` are replaced by one ball, their intersection.
    An l2 ball that contains every vector is dropped. If a ball admits no score, the bit `VALUE` is
    removed from the states, and the list of balls is empty.
    """
    by_centre: dict[tuple[Metric, tuple[float, ...], bool], Ball] = {}
    for ball in balls if states & ValueState.VALUE else ():
        floor = 0 if ball.metric is Metric.L2 else _DOMAIN.low
        key = (ball.metric, ball.centre, ball.is_point)
        earlier = by_centre.get(key, ball)
        lower, upper = max(ball.lower, earlier.lower, floor), min(ball.upper, earlier.upper)
        by_centre[key] = ball._replace(lower=lower, upper=upper)
    constraining = [
        ball
        for ball in by_centre.values()
        if ball.metric is Metric.COSINE or (ball.lower, ball.upper) != _ALL_L2
    ]
    if any(ball.lower > ball.upper for ball in constraining):
        return states & ~ValueState.VALUE, []
    return states, sorted(constraining)


_ALL_L2 = (0, _DOMAIN.high)


def _row_covers(states: int, outer: list[Ball], inner_states: int, inner: list[Ball]) -> bool:
    """Return whether the outer constraint admits everything that the inner constraint admits.

    True is always right. False may be wrong; see the module docstring.
    """
    if inner_states & ~states:
        return False
    return not inner_states & ValueState.VALUE or all(
        any(a.covers(b) for b in inner) for a in outer
    )


def _rows_overlap(states: int, balls: list[Ball], other_states: int, others: list[Ball]) -> bool:
    """Return whether two constraints may admit a common value.

    The value may be null, a vector, a malformed vector, or a vector with null elements. False is
    always right. True may be wrong; see the module docstring.
    """
    common = states & other_states
    return bool(common & ~ValueState.VALUE) or bool(
        common and all(a.overlaps(b) for a in balls for b in others)
    )


def _score_interval(ball: Ball) -> tuple[float, float]:
    """Return the smallest and the largest score that a ball admits, as numbers instead of keys."""
    low, high = decode_floats(np.array([ball.lower, ball.upper]), FLOAT)
    return float(low), float(high)


def _distance_bounds(
    a: NDArray[np.float64], b: NDArray[np.float64], ball: Ball, error: float
) -> tuple[int, int]:
    """Return a lower and an upper bound, as keys, on the distances from `a` to vectors in `ball`.

    Args:
        a: the point from which distances are measured.
        b: the centre of `ball`.
        ball: an l2 ball.
        error: bound on the relative error of a float32 distance.
    """
    distance = float(np.linalg.norm(a - b))
    nearest, farthest = _score_interval(ball)
    inner_radius = min(nearest * (1 - error) - _TINY, _HUGE)  # larger scores may overflow
    outer_radius = np.inf if math.isnan(farthest) else farthest * (1 + error) + _TINY
    smallest = max(0.0, distance - outer_radius, inner_radius - distance)
    low = _round_outward(max(0.0, smallest * (1 - error) - _TINY), False)
    largest = distance + outer_radius
    if not largest < _HUGE:
        return low, int(_DOMAIN.high)
    return low, _round_outward(largest * (1 + error) + _TINY, True)


def _cosine_bounds(
    a: NDArray[np.float64], b: NDArray[np.float64], ball: Ball, error: float
) -> tuple[int, int]:
    """Return bounds, as keys, on the similarities of the centre `a` with the vectors in `ball`.

    The result is a lower and an upper bound. A vector with a NaN has the similarity NaN with both
    centres. The product of a vector's norm and a centre's norm is assumed neither to overflow nor
    to underflow. If the norm of a centre is not between 1e-6 and 1e6, this is uncertain, so the
    bounds lie beyond all keys.

    Args:
        a: the centre of the ball to compare with.
        b: the centre of `ball`.
        ball: a cosine ball.
        error: bound on the relative error of a float32 sum of products.
    """
    norms = float(np.linalg.norm(a)), float(np.linalg.norm(b))
    if not all(_SMALLEST_NORM < norm < 1 / _SMALLEST_NORM for norm in norms):
        return _BEYOND_ALL_KEYS
    lowest, highest = _score_interval(ball)
    slack = 4 * error
    angle = float(np.arccos(np.clip(a @ b / (norms[0] * norms[1]), -1, 1)))
    inner_angle = 0.0 if math.isnan(highest) else float(np.arccos(np.clip(highest + slack, -1, 1)))
    outer_angle = float(np.arccos(np.clip(lowest - slack, -1, 1)))
    smallest = max(0.0, angle - outer_angle, inner_angle - angle)
    largest = min(np.pi, angle + outer_angle, 2 * np.pi - angle - inner_angle)
    low, high = (
        _round_outward(np.cos(largest) - slack, False),
        _round_outward(np.cos(smallest) + slack, True),
    )
    return low, int(_DOMAIN.high) if math.isnan(highest) else high


def _round_outward(number: float, up: bool) -> int:
    """Return the key of the largest float32 ≤ `number`; with `up`, of the smallest one ≥ it."""
    with np.errstate(over="ignore"):
        rounded = np.float32(number)
    key = int(encode_floats(np.array([rounded]))[0])
    if up and float(rounded) < number:
        return key + 1
    return key - 1 if not up and float(rounded) > number else key


def _enclose_balls(a: tuple[int, list[Ball]], b: tuple[int, list[Ball]]) -> list[Ball]:
    """Return balls whose intersection contains every vector that one of two constraints admits.

    A constraint is its states and its balls. If one constraint admits no vector, return the balls
    of the other. If each has exactly one l2 ball, with a finite radius and no lower bound, return
    one ball that encloses both, or an empty list if the centres are too far apart. Otherwise return
    the balls if both constraints have the same, and an empty list if they differ. An empty list
    means that every vector is admitted.
    """
    for (states, _), (_, balls) in ((a, b), (b, a)):
        if not states & ValueState.VALUE:
            return balls
    if not all(len(balls) == 1 and _is_l2_ball(balls[0]) for _, balls in (a, b)):
        return a[1] if a[1] == b[1] else []
    first, second = a[1][0], b[1][0]
    for outer, inner in ((first, second), (second, first)):
        if outer.covers(inner):
            return [outer]
    p, q = np.array(first.centre), np.array(second.centre)
    r, s, distance = (
        _score_interval(first)[1],
        _score_interval(second)[1],
        float(np.linalg.norm(p - q)),
    )
    if not 0 < distance < _HUGE:
        return []
    centre = (p + (q - p) * ((distance + s - r) / (2 * distance))).astype(np.float32)
    enclosing = Ball(Metric.L2, tuple(centre.tolist()), 0, 0)
    upper = max(enclosing._score_bounds_of(ball)[1] for ball in (first, second))
    return [enclosing._replace(upper=upper)]


def _is_l2_ball(ball: Ball) -> bool:
    """Return whether a ball is an l2 ball with a finite radius and no positive lower bound."""
    return ball.metric is Metric.L2 and ball.lower == 0 and ball.upper < _DOMAIN.high - 1
