"""Linear programs, solved by HiGHS."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.errors import CoveyError

__all__ = ["compute_dual_bound", "make_solver"]

Floats = NDArray[np.float64]


def make_solver(
    costs: Floats, column_upper: Floats, matrix: Any, row_lower: Floats, row_upper: Floats
) -> Any:
    """Return a HiGHS solver with a linear program that minimizes the total cost of columns.

    Args:
        costs: the cost of each column, per unit of its value.
        column_upper: the largest value of each column; the smallest is 0.
        matrix: the coefficients, dense or sparse.
        row_lower: the smallest value of each row.
        row_upper: the largest value of each row.

    Raises:
        CoveyError: if highspy is not installed.
    """
    try:
        import highspy
    except ImportError as missing:
        raise CoveyError("linear programs need highspy: pip install 'covey[plan]'") from missing
    from scipy.sparse import csc_matrix

    columns = csc_matrix(matrix)
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = columns.shape
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = costs, np.zeros(len(costs)), column_upper
    lp.row_lower_, lp.row_upper_ = row_lower, row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_ = columns.indptr, columns.indices
    lp.a_matrix_.value_ = columns.data
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.setOptionValue("output_flag", False)
    solver.passModel(lp)
    return solver


def compute_dual_bound(costs: Floats, rows: Floats, row_lower: Floats) -> float:
    """Return a lower bound of `costs @ x` over all x from 0 to 1 with `rows @ x >= row_lower`.

    It is computed from dual prices, so it holds even if the solution is inexact. Where the prices
    of a column's rows exceed its cost, the excess is subtracted.
    """
    run = make_solver(costs, np.ones(len(costs)), rows, row_lower, np.full(len(row_lower), np.inf))
    run.run()
    prices = np.maximum(0.0, np.asarray(run.getSolution().row_dual))
    excess = np.maximum(0.0, prices @ rows - costs)  # of columns at their limit of 1
    return float(prices @ row_lower - excess.sum())
