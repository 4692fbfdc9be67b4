"""Inner products of events and balls, and what balls demand of them.

Demands are those of `covey.index.segment.balls.ball_demands`, a column a ball; an event brings its
norm and half the square of it. Sums of products may be taken in any order, demands allow for that.
Loops that only compare write marks and nothing else, so that they compile to vector instructions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey._jit import kernel

__all__ = ["confirm_products", "find_near_members", "mark_admitted", "mark_reached"]

Matrix = NDArray[np.float32]
Vector = NDArray[np.float32]
Numbers = NDArray[np.int64]


@kernel
def mark_reached(along: Matrix, norms: Vector, bins: NDArray[np.int64], limits: Matrix) -> Any:
    """Where `along` is at least the norm of its row times the limit of its column.

    `limits` has a row for each bin of norms.
    """
    marks = np.empty(along.shape, np.bool_)
    for i in range(along.shape[0]):
        norm, limit = norms[i], limits[bins[i]]
        for j in range(along.shape[1]):
            marks[i, j] = along[i, j] >= norm * limit[j]
    return marks


@kernel(fastmath={"contract"})
def mark_admitted(
    products: Matrix, sign: Vector, square: Vector, linear: Vector, constant: Vector,
    norms: Vector, halves: Vector,
) -> Any:  # fmt: skip
    """Where the product of a row and a column meets the column's demand."""
    marks = np.empty(products.shape, np.bool_)
    for i in range(products.shape[0]):
        norm, half = norms[i], halves[i]
        for j in range(products.shape[1]):
            needed = square[j] * half + linear[j] * norm + constant[j]
            marks[i, j] = sign[j] * products[i, j] >= needed
    return marks


@kernel
def find_near_members(
    events: Numbers, clusters: Numbers, along: Vector, across: Vector, norms: Vector,
    halves: Vector, starts: NDArray[np.int64], points: Matrix, demands: Matrix,
) -> Any:  # fmt: skip
    """Events and members of their clusters that half planes do not tell apart.

    `along` and `across` are the points of the events, `points` those of the members. Counted
    first, by the same strict arithmetic, so that no array has to grow.
    """
    counts = np.empty(len(events), np.int64)
    for k in range(len(events)):
        event, first = events[k], starts[clusters[k]]
        x, y, norm, half, hits = along[k], across[k], norms[event], halves[event], 0
        for j in range(starts[clusters[k] + 1] - first):
            at = np.uint64(first + j)
            needed = demands[1, at] * half + demands[2, at] * norm + demands[3, at]
            hits += x * points[0, at] + y * points[1, at] >= needed
        counts[k] = hits
    total = counts.sum()
    rows, places = np.empty(total + 1, np.int64), np.empty(total + 1, np.int64)
    found = np.uint64(0)
    for k in range(len(events)):
        if counts[k] == 0:
            continue
        event, first = events[k], starts[clusters[k]]
        x, y, norm, half = along[k], across[k], norms[event], halves[event]
        for j in range(starts[clusters[k] + 1] - first):
            at = np.uint64(first + j)
            needed = demands[1, at] * half + demands[2, at] * norm + demands[3, at]
            rows[found], places[found] = event, first + j
            found += np.uint64(x * points[0, at] + y * points[1, at] >= needed)
    return rows[:total], places[:total]


@kernel(fastmath={"contract", "reassoc"})
def confirm_products(
    vectors: Matrix, events: Numbers, centres: Matrix, ordinals: Numbers, demands: Matrix,
    norms: Vector, halves: Vector,
) -> Any:  # fmt: skip
    """Whether the inner product of each event and ball, given by its ordinal, meets the demand."""
    met = np.empty(len(events), np.bool_)
    for k in range(len(events)):
        event, place = np.uint64(events[k]), np.uint64(ordinals[k])
        product = np.float32(0)
        for at in range(vectors.shape[1]):
            product += vectors[event, at] * centres[place, at]
        sign, square, linear, constant = demands[:, place]
        met[k] = sign * product >= square * halves[event] + linear * norms[event] + constant
    return met
