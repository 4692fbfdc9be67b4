"""Which region comes first for each run of the curve, and the absorbers that follow from it."""

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
    """The first row that has each run: each run is painted once, and skipped from then on."""
    owners, after = np.full(run_count, -1), np.arange(run_count + 1)
    for row in range(len(offsets) - 1):
        for r in range(offsets[row], offsets[row + 1]):
            at = starts[r]
            while True:
                while after[at] != at:
                    after[at] = after[after[at]]
                    at = after[at]
                if at >= stops[r]:
                    break
                owners[at] = row
                after[at] = at + 1
    return owners


@kernel
def collect_absorbers(
    offsets: Numbers, starts: Numbers, stops: Numbers, covering_rows: Numbers, query_rows: Numbers
) -> tuple[Numbers, Numbers]:
    """The first rows of the runs of each query row, each once, ascending; or the row alone."""
    found = np.empty(4 * len(query_rows) + 16, np.int64)
    bounds, seen = np.zeros(len(query_rows) + 1, np.int64), np.full(len(offsets), -1)
    count = 0
    for i in range(len(query_rows)):
        row, begun, own = query_rows[i], count, False
        for r in range(offsets[row], offsets[row + 1]):
            for s in range(starts[r], stops[r]):
                owner = covering_rows[s]
                own |= owner == row
                if seen[owner] == i:
                    continue
                seen[owner] = i
                if count == len(found):
                    found = np.concatenate((found, np.empty_like(found)))
                found[count] = owner
                count += 1
        if own:
            found[begun] = row
            count = begun + 1
        found[begun:count].sort()
        bounds[i + 1] = count
    return bounds, found[:count].copy()
