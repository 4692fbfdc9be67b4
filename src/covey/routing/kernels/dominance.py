"""Dominance of points: write points, and find the stored points that dominate a query point.

A point dominates another point if no coordinate of it is larger.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey._jit import kernel

__all__ = ["find_dominating", "write_ends"]

_MAX_INT = np.iinfo(np.int64).max


@kernel
def write_ends(
    rows: NDArray[np.int64], lower: NDArray[np.int64], upper: NDArray[np.int64],
    nulls: NDArray[np.bool_], ends: NDArray[np.int64], leaves_null_out: NDArray[np.int64],
) -> None:  # fmt: skip
    """Write for each constraint its coordinates to `ends`, and to `leaves_null_out`.

    The coordinates are the lower end, the complement of the upper end, and whether null is
    excluded. If a constraint admits no value, both ends are the largest number, so that the points
    of all other constraints dominate.
    """
    for i in range(len(rows)):
        row, is_empty = rows[i], lower[i] > upper[i]
        ends[0, row] = _MAX_INT if is_empty else lower[i]
        ends[1, row] = _MAX_INT if is_empty else ~upper[i]
        leaves_null_out[row] = not nulls[i]


@kernel
def find_dominating(
    stored_points: NDArray[np.int64],
    stored_count: int,
    stored_exact: NDArray[np.bool_],
    alive: NDArray[np.bool_],
    query_points: NDArray[np.int64],
    query_exact: NDArray[np.bool_],
    exclude_self: bool,
    covering_rows: NDArray[np.int64],
    doubtful_pairs: NDArray[np.int64],
) -> int:
    """Write for each query point the first stored row that certainly covers it, or -1.

    A stored point certainly covers a query point if none of its coordinates is larger and both
    points are exact. Stored rows for which `alive` is False are ignored. If no stored point
    certainly covers a query point, the pairs of the query row and a stored row that may cover it
    are written to `doubtful_pairs`, as far as there is space. With `exclude_self`, the query points
    are the stored points; a point does not cover itself, and of equal points the first covers the
    others.

    Returns:
        The number of doubtful pairs, including pairs for which there was no space.
    """
    selected_rows, doubtful_count = np.empty(stored_count + 8, np.int64), 0
    flags = np.zeros((stored_count + 7) // 8 * 8, np.bool_)
    for i in range(query_points.shape[1]):
        covering_rows[i] = -1
        n = _select_at_most(stored_points, stored_count, query_points, i, flags, selected_rows)
        first = doubtful_count
        for j in range(n):
            row = selected_rows[j]
            if not alive[row] or (exclude_self and row == i):
                continue
            if stored_exact[row] and query_exact[i]:
                if (
                    exclude_self
                    and row > i
                    and (stored_points[:, i] == stored_points[:, row]).all()
                ):
                    continue
                covering_rows[i] = row
                doubtful_count = first
                break
            if doubtful_count < doubtful_pairs.shape[1]:
                doubtful_pairs[0, doubtful_count], doubtful_pairs[1, doubtful_count] = i, row
            doubtful_count += 1
    return doubtful_count


@kernel
def _select_at_most(
    stored_points: Any,
    stored_count: Any,
    query_points: Any,
    query_row: Any,
    flags: Any,
    selected_rows: Any,
) -> Any:
    """Write the rows of stored points none of whose coordinates exceeds that of a query point.

    The first four coordinates of all points are compared together; the other coordinates are
    compared only for points that remain. `flags` has one item per point, and up to seven more that
    are never set.

    Returns:
        The number of rows.
    """
    if len(stored_points) >= 4:
        a, b, c, d = (
            query_points[0, query_row],
            query_points[1, query_row],
            query_points[2, query_row],
            query_points[3, query_row],
        )
        for j in range(stored_count):
            flags[j] = (
                (stored_points[0, j] <= a)
                & (stored_points[1, j] <= b)
                & (stored_points[2, j] <= c)
                & (stored_points[3, j] <= d)
            )
    else:
        for j in range(stored_count):
            flags[j] = True
    n: Any = 0
    words = flags.view(np.uint64)
    for w in range((stored_count + 7) >> 3):
        if words[w]:
            for j in range(8 * w, 8 * w + 8):
                selected_rows[n] = j
                n += np.int64(flags[j])
    for k in range(4 if len(stored_points) >= 4 else 0, len(stored_points)):
        remaining: Any = 0
        for j in range(n):
            selected_rows[remaining] = selected_rows[j]
            remaining += np.int64(stored_points[k, selected_rows[j]] <= query_points[k, query_row])
        n = remaining
    return n
