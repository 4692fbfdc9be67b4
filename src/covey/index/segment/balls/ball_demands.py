"""Demands of balls: lower bounds of inner products, which allow for all rounding errors.

A ball with centre c contains a vector x only if s · (x·c) ≥ a · |x|²/2 + b · |x| + k. The numbers
s, a, b and k are the demand of the ball (s is a sign, and a is about -1, 0 or 1). For a distance,
the inequality follows from the expansion of |x - c|²; for a similarity, from multiplying the bound
of the cosine by both norms. The demand is widened by the possible errors of float32 products, of
Spark's arithmetic and of the comparison itself, so that a vector which does not meet it is
certainly outside the ball.

Relative to a direction u, a vector is a point of a half plane: its component along u, and the
length of its component orthogonal to u. The inner product of two vectors is at most that of their
points. For vectors of equal length this bound is the triangle inequality of angles, which excludes
more balls than the triangle inequality of distances; for other vectors the bound holds as well.

The bounds hold only for norms for which `is_plain` is true. Other vectors and balls are decided one
by one with Spark's arithmetic.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from covey.geometry.distances import Metric, relative_error_bound
from covey.space.keys import decode_floats
from covey.space.types import FLOAT

__all__ = [
    "bound_product_error",
    "choose_norm_edges",
    "compute_demands",
    "compute_norms",
    "compute_orthogonal_part",
    "compute_reach_angles",
    "find_norm_bins",
    "is_plain",
]

Floats = NDArray[np.float64]
Matrix = NDArray[np.float32]
Keys = NDArray[np.int64]

MAX_NORM = 1e9
"""Largest norm, and inverse of the smallest norm, for which Spark's similarities are accurate."""
_TINY = 1e-20  # absolute error of distances, as squares may underflow
_SLACK = 2.0**-21  # relative error of the comparison itself
_NO_ANGLE = 1e-30  # excludes exactly the vectors of norm zero, which have no similarity
_MAX_BINS = 16
_MIN_NORM_RATIO = 1.01  # norms within this factor are regarded as equal


def compute_norms(vectors: Matrix) -> Floats:
    """Return the norm of each row; it is infinite or NaN if an element is infinite or NaN."""
    norms: Floats = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    return norms


def is_plain(norms: Floats) -> NDArray[np.bool_]:
    """Return for each norm whether it is 0, or from 1 / `MAX_NORM` to `MAX_NORM`.

    For vectors with such norms, demands allow for all errors of float32 arithmetic.
    """
    plain: NDArray[np.bool_] = (norms == 0) | ((1 / MAX_NORM <= norms) & (norms <= MAX_NORM))
    return plain


def bound_product_error(length: int) -> float:
    """Return a bound of the error of a float32 inner product, relative to the product of norms.

    It holds for every order of summation.
    """
    return (length + 16) * 2.0**-24


def compute_demands(
    metrics: NDArray[np.uint8], norms: Floats, lower: Keys, upper: Keys, length: int
) -> Matrix:
    """Return the demands of balls: 4 rows, one column per ball.

    `norms` are those of the centres, `lower` and `upper` are the keys of the scores that a ball
    admits, and `length` is the number of dimensions. The demand of a ball with two bounds expresses
    only one of them: the outer radius of a distance, or the tighter bound of a similarity.
    """
    ends = (decode_floats(keys, FLOAT).astype(np.float64) for keys in (lower, upper))
    # In the order of keys NaN is above all numbers, so that as an end it is infinite.
    low, high = (np.where(np.isnan(end), np.inf, end) for end in ends)
    with np.errstate(over="ignore", invalid="ignore"):
        distances = _distance_demands(norms, low, high, length)
        cosines = _cosine_demands(norms, low, high, length)
        demands: Matrix = np.where(metrics == Metric.L2, distances, cosines).astype(np.float32)
    return demands


def _distance_demands(norms: Floats, low: Floats, high: Floats, length: int) -> Floats:
    """Return demands of l2 balls: `2 x·c ≥ |x|² + |c|² - r²` with the outer radius r.

    Without an outer radius, the demand is the opposite inequality with the inner radius.
    """
    is_bounded, error = high < np.inf, relative_error_bound(length)
    outer = (np.maximum(high, 0) + _TINY) / (1 - error)
    inner = np.maximum(low - _TINY, 0) / (1 + error)
    sign = np.where(is_bounded, 1.0, -1.0)
    within = norms**2 * (1 - _SLACK) - outer**2 * (1 + _SLACK)
    beyond = inner**2 * (1 - _SLACK) - norms**2 * (1 + _SLACK)
    constant = (
        np.where(is_bounded, within, beyond) / 2 - length * 2.0**-125
    )  # products may underflow
    return np.stack([sign, sign - _SLACK, -bound_product_error(length) * norms, constant])


def _cosine_demands(norms: Floats, low: Floats, high: Floats, length: int) -> Floats:
    """Return demands of cosine balls: `x·c ≥ t |x| |c|`, where t is the smallest cosine.

    If the largest cosine t is farther from 1 than the smallest is from -1, the demand is
    `-x·c ≥ -t |x| |c|` instead.
    """
    is_lower = low >= -high
    error = 4 * relative_error_bound(length) + bound_product_error(length) + _SLACK
    min_cosine = np.where(is_lower, low, -high) - error
    zeros = np.zeros(len(norms))
    return np.stack([np.where(is_lower, 1.0, -1.0), zeros, min_cosine * norms, zeros + _NO_ANGLE])


def choose_norm_edges(norms: Floats) -> Floats:
    """Return the edges of at most 16 bins of event norms, which cover most norms of centres."""
    positive_norms = norms[norms > 0]
    if not len(positive_norms):
        return np.ones(1)
    if positive_norms.max() <= positive_norms.min() * _MIN_NORM_RATIO:
        return np.array(
            [positive_norms.min() / _MIN_NORM_RATIO, positive_norms.max() * _MIN_NORM_RATIO]
        )
    first, last = np.quantile(positive_norms, [0.01, 0.99])
    count = int(np.clip(np.log(last / first) / np.log(_MIN_NORM_RATIO), 1, _MAX_BINS))
    edges: Floats = np.geomspace(first / _MIN_NORM_RATIO, last * _MIN_NORM_RATIO, count + 1)
    return edges


def find_norm_bins(norms: Floats, edges: Floats) -> Keys:
    """Return the bin number of each norm; bin 0 is below the first edge."""
    return np.searchsorted(edges, norms, side="right")


def compute_reach_angles(demands: Matrix, norms: Floats, edges: Floats) -> Matrix:
    """Return the largest angle between the centre of a ball and a vector in it, in radians.

    The result has one row per bin of norms of vectors and one column per ball. It is negative if
    the ball contains no vector with a norm in the bin. Norms of centres must not be zero.
    """
    _, square, linear, constant = demands.astype(np.float64)
    ends = np.concatenate([[0.0], edges, [MAX_NORM]])
    with np.errstate(divide="ignore", invalid="ignore"):
        lowest = np.sqrt(
            np.maximum(2 * constant / square, 0)
        )  # the norm at which the required cosine is lowest

        def needed(norm: Floats | float) -> Floats:
            return np.asarray((square * norm / 2 + linear + constant / norm) / norms)

        angles = np.empty((len(edges) + 1, demands.shape[1]), np.float32)
        for i, (start, stop) in enumerate(pairwise(ends)):
            has_lowest = (square > 0) & (start < lowest) & (lowest < stop)
            cosine = np.minimum(needed(start), needed(stop))
            cosine = np.where(has_lowest, np.minimum(cosine, needed(lowest)), cosine)
            cosine = np.clip(np.nan_to_num(cosine, nan=-1), -1, 2)
            angles[i] = np.where(cosine > 1, -np.pi, np.arccos(np.minimum(cosine, 1)) + _SLACK)
    return angles


def compute_orthogonal_part(along: Floats | Matrix, norms: Floats, error: float) -> Matrix:
    """Return, for each vector, an upper bound on its component orthogonal to a direction.

    `along` is the component along the direction; its error is at most `error` times the norm.
    """
    squares = np.maximum(norms**2 - along.astype(np.float64) ** 2, 0) + 3 * error * norms**2
    return np.sqrt(squares).astype(np.float32)
