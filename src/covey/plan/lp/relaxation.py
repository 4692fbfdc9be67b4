"""The linear program of the assignment paper: which rectangles brokers should have, in parts.

Its value is what the paper calls fractional. It is no bound for all plans: it knows only the
subscribers of a sample and some candidates, adds volumes up where rectangles overlap, and has no
subscription that two rectangles cover together. (papers: assignment)
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
    """`parts[i, k]` of rectangle k is in the filter of broker i; and what the program was."""

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
    """The solution for subscribers that may be served by `may[j]` and are within `has[j]`.

    Of the first `balanced` of them, broker i serves at most `share[i]`. None if there is no
    solution, or no time for it.
    """
    from scipy.sparse import coo_matrix

    began = time.monotonic()
    (s, n), u = allowed.shape, contains.shape[1]
    at, broker = np.nonzero(allowed)  # pairs of subscriber and broker, one x each
    x = n * u + np.arange(len(at))
    pair, rectangle = np.nonzero(contains[at])
    some = at < balanced_count
    rows = [
        np.repeat(np.arange(n), u),
        n + at,
        n + s + broker[some],
        n + s + n + pair,
        n + s + n + np.arange(len(at)),
    ]
    columns = [np.arange(n * u), x, x[some], broker[pair] * u + rectangle, x]
    values = [np.ones(len(r)) for r in rows[:4]] + [-np.ones(len(at))]
    height, width = n + s + n + len(at), n * u + len(at)
    matrix = coo_matrix(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), (height, width)
    ).tocsc()
    endless = np.inf
    low = np.r_[np.full(n, -endless), np.ones(s), np.full(n, -endless), np.zeros(len(at))]
    high = np.r_[
        np.full(n, max_rectangles), np.full(s, endless), capacities, np.full(len(at), endless)
    ]
    costs = np.r_[np.tile(volumes, n), np.zeros(len(at))]
    run = make_solver(costs, np.ones(width), matrix, low, high)
    run.setOptionValue("solver", "ipm")
    run.setOptionValue("run_crossover", "off")
    run.setOptionValue("time_limit", max(1.0, max_seconds))
    run.run()
    if run.modelStatusToString(run.getModelStatus()) != "Optimal":
        return None
    found = np.asarray(run.getSolution().col_value)[: n * u].reshape(n, u)
    value = float(run.getInfo().objective_function_value)
    return RelaxationResult(
        np.clip(found, 0, 1), value, height, width, int(matrix.nnz), time.monotonic() - began
    )
