"""The first region that contains each run of positions, and the absorbers of regions.

The absorbers of a region are the first regions of its runs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey._jit import kernel

__all__ = ["collect_absorbers", "find_first_covering_rows"]

Numbers = NDArray[np.int64]


@kernel
def find_first_covering_rows(
    offsets: Numbers, starts: Numbers, stops: Numbers, run_count: int
) -> Numbers:
    """Return for each run the first row with a range that contains it, or -1.

    Row i has the ranges from `offsets[i]` to `offsets[i + 1]` - 1, and range r contains the runs
    from `starts[r]` to `stops[r]` - 1. Once the first row of a run is known, later rows skip it.
    """
    first_rows, next_open = np.full(run_count, -1), np.arange(run_count + 1)
    for row in range(len(offsets) - 1):
        for r in range(offsets[row], offsets[row + 1]):
            run = starts[r]
            while True:
                while next_open[run] != run:
                    next_open[run] = next_open[next_open[run]]
                    run = next_open[run]
                if run >= stops[r]:
                    break
                first_rows[run] = row
                next_open[run] = run + 1
    return first_rows


@kernel
def collect_absorbers(
    offsets: Numbers, starts: Numbers, stops: Numbers, covering_rows: Numbers, query_rows: Numbers
) -> tuple[Numbers, Numbers]:
    """Return for each query row the first rows of its runs, from `find_first_covering_rows`.

    `covering_rows` is the result of that function; the first three arguments are the same. The rows
    of a query row are distinct and ascending. If the query row itself is among them, only the query
    row is returned.

    Returns:
        The offsets by query row, and the rows of all query rows.
    """
    absorber_rows = np.empty(4 * len(query_rows) + 16, np.int64)
    result_offsets, seen = np.zeros(len(query_rows) + 1, np.int64), np.full(len(offsets), -1)
    count = 0
    for i in range(len(query_rows)):
        row, begin, is_first = query_rows[i], count, False
        for r in range(offsets[row], offsets[row + 1]):
            for s in range(starts[r], stops[r]):
                first_row = covering_rows[s]
                is_first |= first_row == row
                if seen[first_row] == i:
                    continue
                seen[first_row] = i
                if count == len(absorber_rows):
                    absorber_rows = np.concatenate((absorber_rows, np.empty_like(absorber_rows)))
                absorber_rows[count] = first_row
                count += 1
        if is_first:
            absorber_rows[begin] = row
            count = begin + 1
        absorber_rows[begin:count].sort()
        result_offsets[i + 1] = count
    return result_offsets, absorber_rows[:count].copy()
