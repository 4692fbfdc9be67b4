"""Distances between vectors, bit for bit as Spark 4.2 computes them.

Spark works in float32: eight products are added from left to right, each such sum is added to the
total, what remains is added one by one. (A root taken in float64 and rounded, as Java does, is the
float32 root.) Whoever decides a close call must use the same arithmetic, or will disagree with
`where` at the boundary.

Cost: one pass over both matrices, some nanoseconds per coordinate.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

__all__ = ["Metric", "relative_error", "score"]

Matrix = NDArray[np.float32]

_SMALLEST_NORMAL = np.finfo(np.float32).tiny


class Metric(IntEnum):
    """How a vector is compared with a centre."""

    L2 = 0  # vector_l2_distance
    COSINE = 1  # vector_cosine_similarity


def score(metric: Metric, a: Matrix, b: Matrix) -> tuple[Matrix, NDArray[np.bool_]]:
    """The scores of row i of `a` with row i of `b`, and which of them are not null.

    >>> score(Metric.L2, np.float32([[0, 0]]), np.float32([[3, 4]]))[0]
    array([5.], dtype=float32)
    """
    with np.errstate(all="ignore"):
        if metric is Metric.L2:
            difference = a - b
            total = _sum(difference * difference)
            return np.sqrt(total), np.ones(len(a), np.bool_)
        squares = _sum(a * a) * _sum(b * b)
        norms = np.sqrt(squares)
        defined: NDArray[np.bool_] = ~(norms < _SMALLEST_NORMAL)
        return np.divide(_sum(a * b), norms, dtype=np.float32), defined


def relative_error(length: int) -> float:
    """A bound on the relative error of a float32 distance between vectors of this length."""
    return (length / 8 + 16) * 2.0**-24


def _sum(products: Matrix) -> Matrix:
    """Row sums in Spark's order of additions."""
    total = np.zeros(len(products), np.float32)
    whole = products.shape[1] // 8 * 8
    for start in range(0, whole, 8):
        block = products[:, start] + products[:, start + 1]
        for k in range(2, 8):
            block += products[:, start + k]
        total += block
    for k in range(whole, products.shape[1]):
        total += products[:, k]
    return total
