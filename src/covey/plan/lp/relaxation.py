"""Linear program of the assignment paper: fractions of rectangles in the filters of brokers.

The paper calls the value of the program "fractional". This value is not a lower bound for all
plans: the program contains only the subscribers of a sample and some candidate rectangles, counts
the volume of overlaps several times, and does not allow two rectangles to cover a box jointly.
(papers: assignment)
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.plan.lp.solver import make_solver

__all__ = ["RelaxationResult", "solve_relaxation"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RelaxationResult:
    """Solution of one linear program, with its size.

    Args:
        fractions: `fractions[i, k]` is the fraction of rectangle k in the filter of broker i.
        objective_value: the sum of fraction times volume over all brokers and rectangles.
        rows: the number of constraints.
        columns: the number of variables.
        nonzeros: the number of nonzero coefficients.
        seconds: the time to build and solve the program.
    """

    fractions: Floats
    objective_value: float
    rows: int
    columns: int
    nonzeros: int
    seconds: float


def solve_relaxation(
    max_rectangles: int,
    allowed: Bools,
    contains: Bools,
    volumes: Floats,
    balanced_count: int,
    capacities: Ints,
    max_seconds: float,
) -> RelaxationResult | None:
    """Return the solution of the linear program; None if it has no solution or time runs out.

    Args:
        max_rectangles: the largest sum of the fractions of one broker.
        allowed: the brokers (columns) that may serve each subscriber (row).
        contains: the rectangles (columns) that contain the box of each subscriber (row).
        volumes: the volume of each rectangle.
        balanced_count: capacities apply only to the first `balanced_count` subscribers.
        capacities: how many of the first `balanced_count` subscribers each broker may serve.
        max_seconds: the time limit of the solver; less than one second counts as one.
    """
    from scipy.sparse import coo_matrix

    start_s = time.monotonic()
    (s, n), u = allowed.shape, contains.shape[1]
    subscriber, broker = np.nonzero(allowed)  # allowed pairs, one column each
    assignment_columns = n * u + np.arange(len(subscriber))
    pair, rectangle = np.nonzero(contains[subscriber])
    is_balanced = subscriber < balanced_count
    rows = [
        np.repeat(np.arange(n), u),
        n + subscriber,
        n + s + broker[is_balanced],
        n + s + n + pair,
        n + s + n + np.arange(len(subscriber)),
    ]
    columns = [
        np.arange(n * u),
        assignment_columns,
        assignment_columns[is_balanced],
        broker[pair] * u + rectangle,
        assignment_columns,
    ]
    values = [np.ones(len(r)) for r in rows[:4]] + [-np.ones(len(subscriber))]
    height, width = n + s + n + len(subscriber), n * u + len(subscriber)
    matrix = coo_matrix(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), (height, width)
    ).tocsc()
    infinity = np.inf
    row_lower = np.r_[
        np.full(n, -infinity), np.ones(s), np.full(n, -infinity), np.zeros(len(subscriber))
    ]
    row_upper = np.r_[
        np.full(n, max_rectangles),
        np.full(s, infinity),
        capacities,
        np.full(len(subscriber), infinity),
    ]
    costs = np.r_[np.tile(volumes, n), np.zeros(len(subscriber))]
    run = make_solver(costs, np.ones(width), matrix, row_lower, row_upper)
    run.setOptionValue("solver", "ipm")
    run.setOptionValue("run_crossover", "off")
    run.setOptionValue("time_limit", max(1.0, max_seconds))
    run.run()
    if run.modelStatusToString(run.getModelStatus()) != "Optimal":
        return None
    fractions = np.asarray(run.getSolution().col_value)[: n * u].reshape(n, u)
    value = float(run.getInfo().objective_function_value)
    return RelaxationResult(
        np.clip(fractions, 0, 1), value, height, width, int(matrix.nnz), time.monotonic() - start_s
    )
