"""Distances between vectors, bit for bit as Spark 4.2 computes them.

Spark works in float32: eight products are added from left to right, each such sum is added to the
total, what remains is added one by one. (A root taken in float64 and rounded, as Java does, is the
float32 root.) Whoever decides a close call must use the same arithmetic, or will disagree with
`where` at the boundary.

Cost: one pass over both matrices, some nanoseconds per coordinate.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey._jit import kernel

__all__ = ["Metric", "relative_error_bound", "score_pairs", "score_rows"]

Matrix = NDArray[np.float32]
Rows = NDArray[np.int64]

_SMALLEST_NORMAL = np.finfo(np.float32).tiny


class Metric(IntEnum):
    """How a vector is compared with a centre."""

    L2 = 0  # vector_l2_distance
    COSINE = 1  # vector_cosine_similarity


def score_rows(metric: Metric, a: Matrix, b: Matrix) -> tuple[Matrix, NDArray[np.bool_]]:
    """The scores of row i of `a` with row i of `b`, and which of them are not null.

    >>> score_rows(Metric.L2, np.float32([[0, 0]]), np.float32([[3, 4]]))[0]
    array([5.], dtype=float32)
    """
    with np.errstate(all="ignore"):
        if metric is Metric.L2:
            difference = a - b
            total = _sum_rows(difference * difference)
            return np.sqrt(total), np.ones(len(a), np.bool_)
        squares = _sum_rows(a * a) * _sum_rows(b * b)
        norms = np.sqrt(squares)
        defined: NDArray[np.bool_] = ~(norms < _SMALLEST_NORMAL)
        return np.divide(_sum_rows(a * b), norms, dtype=np.float32), defined


def score_pairs(
    metrics: NDArray[np.uint8], a: Matrix, a_rows: Rows, b: Matrix, b_rows: Rows
) -> tuple[Matrix, NDArray[np.bool_]]:
    """The scores of rows `a_rows[k]` of `a` and `b_rows[k]` of `b`, by the metric of the latter.

    The bits of `score_rows` on those rows, which are not copied; as there, also which are not null.

    >>> a, b = np.float32([[0, 0], [1, 1]]), np.float32([[3, 4]])
    >>> score_pairs(np.uint8([Metric.L2]), a, np.array([1, 0]), b, np.array([0, 0]))[0]
    array([3.6055512, 5.       ], dtype=float32)
    """
    scores, defined = np.empty(len(a_rows), np.float32), np.empty(len(a_rows), np.bool_)
    _write_pair_scores(metrics, a, a_rows, b, b_rows, scores, defined)
    return scores, defined


def relative_error_bound(length: int) -> float:
    """A bound on the relative error of a float32 distance between vectors of this length."""
    return (length / 8 + 16) * 2.0**-24


def _sum_rows(products: Matrix) -> Matrix:
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


@kernel(error_model="numpy")
def _write_pair_scores(
    metrics: NDArray[np.uint8], a: Matrix, a_rows: Rows, b: Matrix, b_rows: Rows, scores: Matrix,
    is_defined: NDArray[np.bool_],
) -> None:  # fmt: skip
    """Writes the scores of pairs of rows; nothing is fused or reordered."""
    length = a.shape[1]
    terms, blocks = np.empty(length, np.float32), np.empty(length // 8, np.float32)
    for k in range(len(a_rows)):
        x, y = a[a_rows[k]], b[b_rows[k]]
        if metrics[b_rows[k]] == 0:
            for at in range(length):
                difference = x[at] - y[at]
                terms[at] = difference * difference
            scores[k], is_defined[k] = np.sqrt(_sum_terms(terms, blocks)), True
        else:
            of_x, of_y = _dot_product(x, x, terms, blocks), _dot_product(y, y, terms, blocks)
            norms = np.sqrt(of_x * of_y)
            scores[k] = _dot_product(x, y, terms, blocks) / norms
            is_defined[k] = not norms < _SMALLEST_NORMAL


@kernel
def _dot_product(x: Matrix, y: Matrix, terms: Matrix, blocks: Matrix) -> Any:
    for at in range(len(x)):
        terms[at] = x[at] * y[at]
    return _sum_terms(terms, blocks)


@kernel
def _sum_terms(terms: Matrix, blocks: Matrix) -> Any:
    """The sum in Spark's order; blocks of eight first, since they do not wait for each other."""
    for k in range(len(blocks)):
        block = terms[8 * k]
        for at in range(8 * k + 1, 8 * k + 8):
            block += terms[at]
        blocks[k] = block
    total = np.float32(0)
    for block in blocks:
        total += block
    for at in range(8 * len(blocks), len(terms)):
        total += terms[at]
    return total
