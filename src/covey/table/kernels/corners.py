"""Points that are at most others in every coordinate, one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.compiled import kernel

__all__ = ["dominating", "write_ends"]

_TOP = np.iinfo(np.int64).max


@kernel
def write_ends(
    rows: NDArray[np.int64], lower: NDArray[np.int64], upper: NDArray[np.int64],
    nulls: NDArray[np.bool_], ends: NDArray[np.int64], leaves_null_out: NDArray[np.int64],
) -> None:  # fmt: skip
    """Writes two coordinates and whether null is left out; what has no value is beyond all."""
    for i in range(len(rows)):
        row, is_empty = rows[i], lower[i] > upper[i]
        ends[0, row] = _TOP if is_empty else lower[i]
        ends[1, row] = _TOP if is_empty else ~upper[i]
        leaves_null_out[row] = not nulls[i]


@kernel
def dominating(
    stored: NDArray[np.int64], count: int, exact: NDArray[np.bool_], alive: NDArray[np.bool_],
    asked: NDArray[np.int64], asked_exact: NDArray[np.bool_], among: bool,
    found: NDArray[np.int64], doubts: NDArray[np.int64],
) -> int:  # fmt: skip
    """For each asked point the first stored one that is at most it and says all, else -1.

    Points that are asked `among` themselves are no answer to themselves: of equal ones the first is
    at most the others. Where there is none and others may cover, these are `doubts`, in pairs as
    far as there is room; gives how many there are.
    """
    left, doubted = np.empty(count + 8, np.int64), 0
    may = np.zeros((count + 7) // 8 * 8, np.bool_)
    for i in range(asked.shape[1]):
        found[i] = -1
        n = _at_most(stored, count, asked, i, may, left)
        first = doubted
        for j in range(n):
            row = left[j]
            if not alive[row] or (among and row == i):
                continue
            if exact[row] and asked_exact[i]:
                if among and row > i and (stored[:, i] == stored[:, row]).all():
                    continue
                found[i] = row
                doubted = first
                break
            if doubted < doubts.shape[1]:
                doubts[0, doubted], doubts[1, doubted] = i, row
            doubted += 1
    return doubted


@kernel
def _at_most(stored: Any, count: Any, asked: Any, i: Any, may: Any, left: Any) -> Any:
    """Writes which of the stored points are at most an asked one; gives how many.

    The first coordinates of all are compared at once, the others of those that are left. `may` is
    room for a flag each, and for seven more that are never set.
    """
    if len(stored) >= 4:
        a, b, c, d = asked[0, i], asked[1, i], asked[2, i], asked[3, i]
        for j in range(count):
            may[j] = (
                (stored[0, j] <= a)
                & (stored[1, j] <= b)
                & (stored[2, j] <= c)
                & (stored[3, j] <= d)
            )
    else:
        for j in range(count):
            may[j] = True
    n: Any = 0
    words = may.view(np.uint64)
    for w in range((count + 7) >> 3):
        if words[w]:
            for j in range(8 * w, 8 * w + 8):
                left[n] = j
                n += np.int64(may[j])
    for k in range(4 if len(stored) >= 4 else 0, len(stored)):
        kept: Any = 0
        for j in range(n):
            left[kept] = left[j]
            kept += np.int64(stored[k, left[j]] <= asked[k, i])
        n = kept
    return n
