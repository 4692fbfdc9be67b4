"""Constraints on one vector attribute: vectors whose score with a centre lies in an interval.

A score is `vector_l2_distance` or `vector_cosine_similarity` as Spark computes it, its interval one
of float32 keys. A ball is the usual case, `0 ≤ distance ≤ radius`; its outside and shells are the
others. A row admits some states (null, vectors, malformed ones) and, of the vectors, those that
satisfy all of its balls.

`contains` is exact to the bit. Relations between two centres use float64 and widen every interval
by what float32 can be wrong by: `covers` never claims a cover that is none, and may miss one within
a relative 1e-5 of touching; `overlaps` errs the other way. Cosine relations suppose that the
product of two norms neither overflows nor underflows float32. Between several balls of one row
relations are decided ball by ball, l2 and cosine are not compared with each other.
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
_TINY = 1e-20  # absolute error where squares underflow
_HUGE = 1e18  # squares beyond this overflow float32
_SMALLEST_NORM = 1e-6  # of a centre, for relations of cosines


class Ball(NamedTuple):
    """Vectors whose score with `centre` is between two float32 keys, both included.

    With `is_point` it is the one vector `centre` itself; a ball of radius 0 holds more, as small
    differences underflow.
    """

    metric: Metric
    centre: tuple[float, ...]
    lower: int
    upper: int
    is_point: bool = False

    def covers(self, inner: Ball) -> bool:
        """Whether every vector in `inner` is in this one."""
        if self.is_point:
            return inner.is_point and np.array_equal(self.centre, inner.centre, equal_nan=True)
        low, high = self._score_bounds_of(inner)
        return self.lower <= low and high <= self.upper

    def overlaps(self, other: Ball) -> bool:
        """Whether some vector may be in both."""
        if self.is_point and not other.is_point:
            return other.overlaps(self)
        low, high = self._score_bounds_of(other)
        return low <= self.upper and self.lower <= high

    def _score_bounds_of(self, other: Ball) -> tuple[int, int]:
        """Between which keys the scores with this centre lie, of all vectors in `other`.

        Where a score may be null, beyond all keys: no interval holds it.
        """
        if other.is_point:
            return self._score_vector(other.centre)
        if self.metric != other.metric:
            return _BEYOND_ALL_KEYS if self.metric is Metric.COSINE else (0, int(_DOMAIN.high))
        if self.centre == other.centre:
            return other.lower, other.upper
        a, b = np.array(self.centre, np.float64), np.array(other.centre, np.float64)
        seen = _distance_bounds if self.metric is Metric.L2 else _cosine_bounds
        return seen(a, b, other, relative_error_bound(len(a)))

    def _score_vector(self, vector: tuple[float, ...]) -> tuple[int, int]:
        """The score of one vector, as Spark computes it."""
        a, b = np.array([vector], np.float32), np.array([self.centre], np.float32)
        scores, defined = score_rows(self.metric, a, b)
        key = int(encode_floats(scores)[0])
        return (key, key) if defined[0] else _BEYOND_ALL_KEYS


_BEYOND_ALL_KEYS = (int(_DOMAIN.low) - 1, int(_DOMAIN.high) + 1)


@dataclass(frozen=True, slots=True)
class Balls:
    """A batch of constraints on one vector attribute, one a row.

    `balls` holds, for a row, its numbers in `metrics`, `centres`, `lower` and `upper`.
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
        """From (states, balls) of each row, in their one spelling."""
        tidied = [_normalize_row(states, balls) for states, balls in rows]
        flat = [ball for _, balls in tidied for ball in balls]
        counts = np.array([len(balls) for _, balls in tidied], np.int64)
        return cls(
            np.array([states for states, _ in tidied], np.uint8),
            RaggedArray.from_lengths(counts, np.arange(len(flat))),
            np.array([ball.metric for ball in flat], np.uint8),
            np.array([ball.centre for ball in flat], np.float32).reshape(len(flat), length),
            np.array([ball.lower for ball in flat], np.int64),
            np.array([ball.upper for ball in flat], np.int64),
            np.array([ball.is_point for ball in flat], np.bool_),
        )

    @classmethod
    def build_unconstrained(cls, count: int, length: int) -> Balls:
        """No constraint at all, `count` times."""
        return cls.from_rows([(_ANY_STATE, ())] * count, length)

    @classmethod
    def concat(cls, batches: Sequence[Balls]) -> Balls:
        """The rows of all parts, one after another."""
        metrics, centres, lower, upper, points = (
            np.concatenate([getattr(part, name) for part in batches])
            for name in ("metrics", "centres", "lower", "upper", "points")
        )
        offsets = RaggedArray.concat([part.balls for part in batches]).offsets
        balls = RaggedArray(offsets, np.arange(len(metrics)))
        states = np.concatenate([part.states for part in batches])
        return cls(states, balls, metrics, centres, lower, upper, points)

    def __len__(self) -> int:
        return len(self.states)

    def take(self, rows: Rows) -> Balls:
        """The given rows in the given order."""
        taken = self.balls.take(rows)
        chosen = taken.values
        return Balls(
            self.states[rows], RaggedArray(taken.offsets, np.arange(len(chosen))),
            self.metrics[chosen], self.centres[chosen], self.lower[chosen], self.upper[chosen],
            self.points[chosen],
        )  # fmt: skip

    def row(self, i: int) -> tuple[int, list[Ball]]:
        """Row i as (states, balls)."""
        return int(self.states[i]), [
            Ball(
                Metric(int(self.metrics[j])), tuple(self.centres[j].tolist()),
                int(self.lower[j]), int(self.upper[j]), bool(self.points[j]),
            )
            for j in self.balls.row(i)
        ]  # fmt: skip

    @property
    def is_empty(self) -> Bools:
        """Rows that admit nothing."""
        empty: Bools = self.states == 0
        return empty

    @property
    def is_unconstrained(self) -> Bools:
        """Rows that admit every vector and null."""
        everything: Bools = (self.states == _ANY_STATE) & (self.balls.lengths == 0)
        return everything

    def contains(self, vectors: NDArray[np.float32], states: NDArray[np.uint8]) -> Bools:
        """Whether row i admits vector i, whose state is `states[i]`: what Spark would say."""
        admitted: Bools = (self.states & states) > 0
        owner = np.repeat(np.arange(len(self)), self.balls.lengths)
        asked = np.flatnonzero((states[owner] == ValueState.VALUE) & admitted[owner])
        for metric in Metric:
            chosen = asked[self.metrics[asked] == metric]
            scores, defined = score_rows(metric, vectors[owner[chosen]], self.centres[chosen])
            keys = encode_floats(scores)
            inside = defined & (self.lower[chosen] <= keys) & (keys <= self.upper[chosen])
            mine, given = self.centres[chosen], vectors[owner[chosen]]
            same = ((given == mine) | (np.isnan(given) & np.isnan(mine))).all(axis=1)
            inside = np.where(self.points[chosen], same, inside)
            admitted[owner[chosen[~inside]]] = False
        return admitted

    def covers(self, inner: Balls) -> Bools:
        """Whether row i admits all that row i of `inner` admits (never wrongly; see above)."""
        return self._decide_pairwise(inner, _row_covers)

    def overlaps(self, other: Balls) -> Bools:
        """Whether some vector, or null, may be admitted by row i of both (see above)."""
        return self._decide_pairwise(other, _rows_overlap)

    def _decide_pairwise(self, other: Balls, decide: Any) -> Bools:
        pairs = ((self.row(i), other.row(i)) for i in range(len(self)))
        return np.array([decide(*a, *b) for a, b in pairs], np.bool_)

    def intersect(self, other: Balls) -> Balls:
        """What both row i's admit."""
        pairs = [(self.row(i), other.row(i)) for i in range(len(self))]
        rows = [(a[0] & b[0], a[1] + b[1]) for a, b in pairs]
        return Balls.from_rows(rows, self.centres.shape[1])

    def hull(self, groups: Rows) -> Balls:
        """One row a group that covers the group's rows: a ball round balls, else any vector."""
        rows: dict[int, tuple[int, list[Ball]]] = {}
        for i, group in enumerate(groups.tolist()):
            states, balls = self.row(i)
            if group not in rows:
                rows[group] = states, balls
            else:
                before = rows[group]
                rows[group] = states | before[0], _enclose_balls(before, (states, balls))
        return Balls.from_rows(list(rows.values()), self.centres.shape[1])


def _normalize_row(states: int, balls: Sequence[Ball]) -> tuple[int, list[Ball]]:
    """The same constraint in its one spelling; balls round one centre become one."""
    by_centre: dict[tuple[Metric, tuple[float, ...], bool], Ball] = {}
    for ball in balls if states & ValueState.VALUE else ():
        floor = 0 if ball.metric is Metric.L2 else _DOMAIN.low
        name = (ball.metric, ball.centre, ball.is_point)
        known = by_centre.get(name, ball)
        lower, upper = max(ball.lower, known.lower, floor), min(ball.upper, known.upper)
        by_centre[name] = ball._replace(lower=lower, upper=upper)
    tidied = [
        ball
        for ball in by_centre.values()
        if ball.metric is Metric.COSINE or (ball.lower, ball.upper) != _ALL_L2
    ]
    if any(ball.lower > ball.upper for ball in tidied):
        return states & ~ValueState.VALUE, []
    return states, sorted(tidied)


_ALL_L2 = (0, _DOMAIN.high)


def _row_covers(states: int, outer: list[Ball], inner_states: int, inner: list[Ball]) -> bool:
    if inner_states & ~states:
        return False
    return not inner_states & ValueState.VALUE or all(
        any(a.covers(b) for b in inner) for a in outer
    )


def _rows_overlap(states: int, balls: list[Ball], other_states: int, others: list[Ball]) -> bool:
    common = states & other_states
    return bool(common & ~ValueState.VALUE) or bool(
        common and all(a.overlaps(b) for a in balls for b in others)
    )


def _score_interval(ball: Ball) -> tuple[float, float]:
    low, high = decode_floats(np.array([ball.lower, ball.upper]), FLOAT)
    return float(low), float(high)


def _distance_bounds(
    a: NDArray[np.float64], b: NDArray[np.float64], ball: Ball, error: float
) -> tuple[int, int]:
    """Distances from `a` of all vectors in a ball round `b`."""
    apart = float(np.linalg.norm(a - b))
    nearest, farthest = _score_interval(ball)
    near = min(nearest * (1 - error) - _TINY, _HUGE)  # beyond, distances overflow
    far = np.inf if math.isnan(farthest) else farthest * (1 + error) + _TINY
    least = max(0.0, apart - far, near - apart)
    low = _round_outward(max(0.0, least * (1 - error) - _TINY), False)
    most = apart + far
    if not most < _HUGE:
        return low, int(_DOMAIN.high)
    return low, _round_outward(most * (1 + error) + _TINY, True)


def _cosine_bounds(
    a: NDArray[np.float64], b: NDArray[np.float64], ball: Ball, error: float
) -> tuple[int, int]:
    """Similarities with `a` of all vectors in a ball of similarities with `b`.

    A vector of NaN has the similarity NaN with both. Norms are taken to be such that neither
    product of two overflows or underflows; centres for which that is too much to ask say nothing.
    """
    norms = float(np.linalg.norm(a)), float(np.linalg.norm(b))
    if not all(_SMALLEST_NORM < norm < 1 / _SMALLEST_NORM for norm in norms):
        return _BEYOND_ALL_KEYS
    lowest, highest = _score_interval(ball)
    slack = 4 * error
    apart = float(np.arccos(np.clip(a @ b / (norms[0] * norms[1]), -1, 1)))
    near = 0.0 if math.isnan(highest) else float(np.arccos(np.clip(highest + slack, -1, 1)))
    far = float(np.arccos(np.clip(lowest - slack, -1, 1)))
    least = max(0.0, apart - far, near - apart)
    most = min(np.pi, apart + far, 2 * np.pi - apart - near)
    low, high = (
        _round_outward(np.cos(most) - slack, False),
        _round_outward(np.cos(least) + slack, True),
    )
    return low, int(_DOMAIN.high) if math.isnan(highest) else high


def _round_outward(number: float, up: bool) -> int:
    """The key of the next float32 at or beyond a number."""
    with np.errstate(over="ignore"):
        near = np.float32(number)
    key = int(encode_floats(np.array([near]))[0])
    if up and float(near) < number:
        return key + 1
    return key - 1 if not up and float(near) > number else key


def _enclose_balls(a: tuple[int, list[Ball]], b: tuple[int, list[Ball]]) -> list[Ball]:
    """A ball round two rows' balls, or nothing where a row is not one l2 ball."""
    for (states, _), (_, balls) in ((a, b), (b, a)):
        if not states & ValueState.VALUE:
            return balls
    if not all(len(balls) == 1 and _is_l2_ball(balls[0]) for _, balls in (a, b)):
        return a[1] if a[1] == b[1] else []
    one, two = a[1][0], b[1][0]
    for outer, inner in ((one, two), (two, one)):
        if outer.covers(inner):
            return [outer]
    p, q = np.array(one.centre), np.array(two.centre)
    r, s, apart = _score_interval(one)[1], _score_interval(two)[1], float(np.linalg.norm(p - q))
    if not 0 < apart < _HUGE:
        return []
    centre = (p + (q - p) * ((apart + s - r) / (2 * apart))).astype(np.float32)
    round_both = Ball(Metric.L2, tuple(centre.tolist()), 0, 0)
    upper = max(round_both._score_bounds_of(ball)[1] for ball in (one, two))
    return [round_both._replace(upper=upper)]


def _is_l2_ball(ball: Ball) -> bool:
    return ball.metric is Metric.L2 and ball.lower == 0 and ball.upper < _DOMAIN.high - 1
