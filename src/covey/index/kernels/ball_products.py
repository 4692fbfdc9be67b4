"""Inner products of events and balls, compared with the demands of balls.

Demands and half-plane points are explained in `covey.index.segment.balls.ball_demands`; the demand
of a ball is one column. For each event, `norms` has the norm of its vector, and `halves` half of
the square of the norm. The terms of a product may be summed in any order, because demands allow for
the difference. Loops that compare products write only booleans, so that they compile to vector
instructions.
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
    """Return a mask of the clusters (columns) that each event (row) reaches.

    `along` has the component of each event along the direction of each cluster. An event reaches a
    cluster if this component is at least the norm of the event times the limit of the cluster.
    `limits` has one row per bin of norms and one column per cluster; `bins` has the bin of the norm
    of each event.
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
    """Return for each inner product whether it meets the demand of its ball.

    `products` and the result have a row per event and a column per ball. `sign`, `square`, `linear`
    and `constant` are the demands of the balls.
    """
    marks = np.empty(products.shape, np.bool_)
    for i in range(products.shape[0]):
        norm, half = norms[i], halves[i]
        for j in range(products.shape[1]):
            demanded = square[j] * half + linear[j] * norm + constant[j]
            marks[i, j] = sign[j] * products[i, j] >= demanded
    return marks


@kernel
def find_near_members(
    events: Numbers, clusters: Numbers, along: Vector, across: Vector, norms: Vector,
    halves: Vector, starts: NDArray[np.int64], points: Matrix, demands: Matrix,
) -> Any:  # fmt: skip
    """Return the pairs of an event and a ball whose half-plane points allow a match.

    Event `events[k]` reaches cluster `clusters[k]`, and is compared with all balls of the cluster.
    `along` and `across` are the two coordinates of its point relative to the direction of the
    cluster; `points` has those of the balls. The pairs are counted before they are written, so that
    no array must be enlarged.
    """
    counts = np.empty(len(events), np.int64)
    for k in range(len(events)):
        event, first = events[k], starts[clusters[k]]
        x, y, norm, half, near_count = along[k], across[k], norms[event], halves[event], 0
        for j in range(starts[clusters[k] + 1] - first):
            ball = np.uint64(first + j)
            demanded = demands[1, ball] * half + demands[2, ball] * norm + demands[3, ball]
            near_count += x * points[0, ball] + y * points[1, ball] >= demanded
        counts[k] = near_count
    total = counts.sum()
    rows, balls = np.empty(total + 1, np.int64), np.empty(total + 1, np.int64)
    count = np.uint64(0)
    for k in range(len(events)):
        if counts[k] == 0:
            continue
        event, first = events[k], starts[clusters[k]]
        x, y, norm, half = along[k], across[k], norms[event], halves[event]
        for j in range(starts[clusters[k] + 1] - first):
            ball = np.uint64(first + j)
            demanded = demands[1, ball] * half + demands[2, ball] * norm + demands[3, ball]
            rows[count], balls[count] = event, first + j
            count += np.uint64(x * points[0, ball] + y * points[1, ball] >= demanded)
    return rows[:total], balls[:total]


@kernel(fastmath={"contract", "reassoc"})
def confirm_products(
    vectors: Matrix, events: Numbers, centres: Matrix, ordinals: Numbers, demands: Matrix,
    norms: Vector, halves: Vector,
) -> Any:  # fmt: skip
    """Return for each i whether the inner product of an event and a ball meets the ball's demand.

    The event is `events[i]`, and the ball is `ordinals[i]`.
    """
    is_met = np.empty(len(events), np.bool_)
    for k in range(len(events)):
        event, ball = np.uint64(events[k]), np.uint64(ordinals[k])
        product = np.float32(0)
        for dimension in range(vectors.shape[1]):
            product += vectors[event, dimension] * centres[ball, dimension]
        sign, square, linear, constant = demands[:, ball]
        is_met[k] = sign * product >= square * halves[event] + linear * norms[event] + constant
    return is_met
