"""Balls as demands on inner products, which no rounding error can make too strict.

A ball round c holds a vector x only if s · (x·c) ≥ a · |x|²/2 + b · |x| + k. These four numbers are
the ball's demand (s is a sign, a one of -1, 0 and 1): |x - c|² spelled out for a distance, cosine
times both norms for a similarity. They are widened by what float32 products, Spark's arithmetic
and the comparison itself can be wrong by, so that what does not meet them is outside for certain.

Seen from a direction u, a vector is a point of a half plane: how far along u, how far across. Two
vectors have at most the inner product of their points. For vectors of equal length this is the
triangle inequality of angles, which prunes where that of distances does not; it holds for all.

All of it supposes `is_plain` norms; what is beyond is decided one by one, by Spark's arithmetic.
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
"""Beyond this norm, or below its inverse, Spark's similarities are no longer near the true ones."""
_TINY = 1e-20  # absolute error of distances, where squares underflow
_SLACK = 2.0**-21  # of the comparison itself
_NO_ANGLE = 1e-30  # keeps out vectors of norm zero, which have no similarity, and no others
_MAX_BINS = 16
_MIN_NORM_RATIO = 1.01  # norms within this factor are as good as equal


def compute_norms(vectors: Matrix) -> Floats:
    """Lengths of rows; infinite or NaN where a row has no length."""
    norms: Floats = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    return norms


def is_plain(norms: Floats) -> NDArray[np.bool_]:
    """Whether float32 arithmetic on vectors of these norms is what the demands allow for."""
    plain: NDArray[np.bool_] = (norms == 0) | ((1 / MAX_NORM <= norms) & (norms <= MAX_NORM))
    return plain


def bound_product_error(length: int) -> float:
    """A bound on the error of a float32 inner product, in any order, per product of norms."""
    return (length + 16) * 2.0**-24


def compute_demands(
    metrics: NDArray[np.uint8], norms: Floats, lower: Keys, upper: Keys, length: int
) -> Matrix:
    """The four numbers of each ball, a column each; of two sides of a shell, the outer one."""
    ends = (decode_floats(keys, FLOAT).astype(np.float64) for keys in (lower, upper))
    low, high = (np.where(np.isnan(end), np.inf, end) for end in ends)  # as ordered as NaN
    with np.errstate(over="ignore", invalid="ignore"):
        distances = _distance_demands(norms, low, high, length)
        cosines = _cosine_demands(norms, low, high, length)
        demands: Matrix = np.where(metrics == Metric.L2, distances, cosines).astype(np.float32)
    return demands


def _distance_demands(norms: Floats, low: Floats, high: Floats, length: int) -> Floats:
    """`2 x·c ≥ |x|² + |c|² - r²` for those within a radius r, its opposite for all others."""
    near, error = high < np.inf, relative_error_bound(length)
    outer = (np.maximum(high, 0) + _TINY) / (1 - error)
    inner = np.maximum(low - _TINY, 0) / (1 + error)
    sign = np.where(near, 1.0, -1.0)
    within = norms**2 * (1 - _SLACK) - outer**2 * (1 + _SLACK)
    beyond = inner**2 * (1 - _SLACK) - norms**2 * (1 + _SLACK)
    constant = np.where(near, within, beyond) / 2 - length * 2.0**-125  # products may underflow
    return np.stack([sign, sign - _SLACK, -bound_product_error(length) * norms, constant])


def _cosine_demands(norms: Floats, low: Floats, high: Floats, length: int) -> Floats:
    """`x·c ≥ t |x| |c|`, or `-x·c ≥ -t |x| |c|` where that is the smaller cap."""
    near = low >= -high
    error = 4 * relative_error_bound(length) + bound_product_error(length) + _SLACK
    least = np.where(near, low, -high) - error
    zero = np.zeros(len(norms))
    return np.stack([np.where(near, 1.0, -1.0), zero, least * norms, zero + _NO_ANGLE])


def choose_norm_edges(norms: Floats) -> Floats:
    """Where norms of events are told apart: closely where balls' centres have theirs."""
    some = norms[norms > 0]
    if not len(some):
        return np.ones(1)
    if some.max() <= some.min() * _MIN_NORM_RATIO:
        return np.array([some.min() / _MIN_NORM_RATIO, some.max() * _MIN_NORM_RATIO])
    first, last = np.quantile(some, [0.01, 0.99])
    count = int(np.clip(np.log(last / first) / np.log(_MIN_NORM_RATIO), 1, _MAX_BINS))
    edges: Floats = np.geomspace(first / _MIN_NORM_RATIO, last * _MIN_NORM_RATIO, count + 1)
    return edges


def find_norm_bins(norms: Floats, edges: Floats) -> Keys:
    """Between which edges norms lie."""
    return np.searchsorted(edges, norms, side="right")


def compute_reach_angles(demands: Matrix, norms: Floats, edges: Floats) -> Matrix:
    """How far from its centre each ball reaches, as an angle: a row a bin of events' norms.

    Negative where it reaches no vector of such a norm; norms of centres are not zero.
    """
    _, square, linear, constant = demands.astype(np.float64)
    ends = np.concatenate([[0.0], edges, [MAX_NORM]])
    with np.errstate(divide="ignore", invalid="ignore"):
        lowest = np.sqrt(np.maximum(2 * constant / square, 0))  # norm at which least is needed

        def needed(norm: Floats | float) -> Floats:
            return np.asarray((square * norm / 2 + linear + constant / norm) / norms)

        angles = np.empty((len(edges) + 1, demands.shape[1]), np.float32)
        for i, (start, stop) in enumerate(pairwise(ends)):
            inside = (square > 0) & (start < lowest) & (lowest < stop)
            cosine = np.minimum(needed(start), needed(stop))
            cosine = np.where(inside, np.minimum(cosine, needed(lowest)), cosine)
            cosine = np.clip(np.nan_to_num(cosine, nan=-1), -1, 2)
            angles[i] = np.where(cosine > 1, -np.pi, np.arccos(np.minimum(cosine, 1)) + _SLACK)
    return angles


def compute_orthogonal_part(along: Floats | Matrix, norms: Floats, error: float) -> Matrix:
    """How far vectors are from a direction that they follow this far, give or take an error."""
    rest = np.maximum(norms**2 - along.astype(np.float64) ** 2, 0) + 3 * error * norms**2
    return np.sqrt(rest).astype(np.float32)
