"""Linear programs by HiGHS."""

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
    """HiGHS, with the program of the least costs at which rows of a matrix are within bounds.

    Columns are 0 at least.
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
    found = highspy.Highs()  # type: ignore[no-untyped-call]
    found.setOptionValue("output_flag", False)
    found.passModel(lp)
    return found


def compute_dual_bound(costs: Floats, rows: Floats, row_lower: Floats) -> float:
    """The least costs of columns between 0 and 1 whose rows are at least so much; by the dual.

    Prices of rows that no column can exceed are a bound, whatever the solver's tolerance.
    """
    run = make_solver(costs, np.ones(len(costs)), rows, row_lower, np.full(len(row_lower), np.inf))
    run.run()
    prices = np.maximum(0.0, np.asarray(run.getSolution().row_dual))
    beyond = np.maximum(0.0, prices @ rows - costs)  # columns that are at 1
    return float(prices @ row_lower - beyond.sum())
