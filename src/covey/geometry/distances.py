"""Distances and similarities of vectors, with the same bits as in Spark 4.2.

Spark computes in float32. Each block of eight products is summed from left to right, the sums of
blocks are added to the total in order, and the products after the last block are added one by one.
(Java computes the square root in float64 and rounds it, which gives the same result as a square
root in float32.) Code that decides whether a vector lies in a ball must use the same arithmetic;
otherwise it disagrees with Spark's `where` at the boundary.

Cost: some nanoseconds per coordinate of each pair of vectors.
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
    """The functions that compute the score of a vector and a centre: distance or similarity."""

    L2 = 0  # vector_l2_distance
    COSINE = 1  # vector_cosine_similarity


def score_rows(metric: Metric, a: Matrix, b: Matrix) -> tuple[Matrix, NDArray[np.bool_]]:
    """Return for each i the score of row i of `a` with row i of `b`, and whether it is not null.

    A similarity is null if the product of the two norms is below the smallest normal float32. A
    distance is never null.

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
    """Return for each k the score of row `a_rows[k]` of `a` with row `b_rows[k]` of `b`.

    Scores have the same bits as those of `score_rows`, but no row is copied.

    Args:
        metrics: the `Metric` of each row of `b`.
        a: vectors.
        a_rows: a row of `a` for each pair.
        b: centres.
        b_rows: a row of `b` for each pair.

    Returns:
        The scores, and for each score whether it is not null.

    >>> a, b = np.float32([[0, 0], [1, 1]]), np.float32([[3, 4]])
    >>> score_pairs(np.uint8([Metric.L2]), a, np.array([1, 0]), b, np.array([0, 0]))[0]
    array([3.6055512, 5.       ], dtype=float32)
    """
    scores, defined = np.empty(len(a_rows), np.float32), np.empty(len(a_rows), np.bool_)
    _write_pair_scores(metrics, a, a_rows, b, b_rows, scores, defined)
    return scores, defined


def relative_error_bound(length: int) -> float:
    """Return a bound on the relative error of a float32 distance.

    Args:
        length: number of coordinates of the vectors.
    """
    return (length / 8 + 16) * 2.0**-24


def _sum_rows(products: Matrix) -> Matrix:
    """Return the sum of each row; terms are added in Spark's order."""
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
    """Write the score of each pair into `scores`, and whether it is not null into `is_defined`.

    The compiler may not fuse or reorder operations, so that scores have the same bits as in Spark.
    """
    length = a.shape[1]
    terms, blocks = np.empty(length, np.float32), np.empty(length // 8, np.float32)
    for k in range(len(a_rows)):
        x, y = a[a_rows[k]], b[b_rows[k]]
        if metrics[b_rows[k]] == 0:
            for i in range(length):
                difference = x[i] - y[i]
                terms[i] = difference * difference
            scores[k], is_defined[k] = np.sqrt(_sum_terms(terms, blocks)), True
        else:
            x_square = _dot_product(x, x, terms, blocks)
            y_square = _dot_product(y, y, terms, blocks)
            norms = np.sqrt(x_square * y_square)
            scores[k] = _dot_product(x, y, terms, blocks) / norms
            is_defined[k] = not norms < _SMALLEST_NORMAL


@kernel
def _dot_product(x: Matrix, y: Matrix, terms: Matrix, blocks: Matrix) -> Any:
    """Return the inner product of two vectors; `terms` and `blocks` are working memory."""
    for i in range(len(x)):
        terms[i] = x[i] * y[i]
    return _sum_terms(terms, blocks)


@kernel
def _sum_terms(terms: Matrix, blocks: Matrix) -> Any:
    """Return the sum of `terms` in Spark's order; `blocks` is working memory for sums of eight.

    All blocks are summed before the total, because their sums do not depend on each other and
    the processor can compute several at a time.
    """
    for k in range(len(blocks)):
        block = terms[8 * k]
        for i in range(8 * k + 1, 8 * k + 8):
            block += terms[i]
        blocks[k] = block
    total = np.float32(0)
    for block in blocks:
        total += block
    for i in range(8 * len(blocks), len(terms)):
        total += terms[i]
    return total
