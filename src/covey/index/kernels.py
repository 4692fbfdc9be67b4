"""The compiled loops of the box tree. Private; each has a NumPy twin in the tests.

Compiled once and cached, in a folder that can be written even where the installation cannot.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["check", "fill_bitmaps", "propose"]

WORDS = 16
BUCKETS = 64


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def fill_bitmaps(
    lower: NDArray[np.uint16], upper: NDArray[np.uint16], base: NDArray[np.int64],
    shift: NDArray[np.int64], bitmaps: NDArray[np.uint64],
) -> None:  # fmt: skip
    """Sets, per attribute and bucket of a node, the bits of the children that meet it."""
    for k in range(lower.shape[1]):
        for i in range(lower.shape[0]):
            first = _bucket(lower[i, k], base[k], shift[k])
            last = _bucket(upper[i, k], base[k], shift[k])
            bit = np.uint64(1) << np.uint64(i & 63)
            for b in range(first, last + 1):
                bitmaps[k, b, i >> 6] |= bit


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _bucket(code: int, base: int, shift: int) -> int:
    if code < base:
        return 0
    return min(1 + ((code - base) >> shift), BUCKETS - 1)


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def propose(
    low: NDArray[np.uint16], high: NDArray[np.uint16], asked: NDArray[np.int64],
    starts: NDArray[np.int64], base: NDArray[np.int64], shift: NDArray[np.int64],
    bitmaps: NDArray[np.uint64], free: NDArray[np.bool_], first_child: NDArray[np.int64],
) -> Any:  # fmt: skip
    """Children that may contain both corners of what is asked.

    `asked[starts[n] : starts[n + 1]]` are the rows that reached node n. Gives pairs of a row and a
    child; every pair that holds is among them.
    """
    capacity = max(1024, 4 * len(asked))
    rows, children = np.empty(capacity, np.int64), np.empty(capacity, np.int64)
    found = 0
    words = np.empty(WORDS, np.uint64)
    attributes = low.shape[1]
    for n in range(len(starts) - 1):
        for at in range(starts[n], starts[n + 1]):
            row = asked[at]
            words[:] = ~np.uint64(0)
            for k in range(attributes):
                if free[n, k]:
                    continue
                one = bitmaps[n, k, _bucket(low[row, k], base[n, k], shift[n, k])]
                two = bitmaps[n, k, _bucket(high[row, k], base[n, k], shift[n, k])]
                some = np.uint64(0)
                for w in range(WORDS):
                    words[w] &= one[w] & two[w]
                    some |= words[w]
                if some == 0:
                    break
            count = first_child[n + 1] - first_child[n]
            if found + count > capacity:
                capacity = 2 * capacity + count
                rows, children = _grown(rows, capacity), _grown(children, capacity)
            for w in range(WORDS):
                left = words[w]
                while left:
                    child = (w << 6) + _trailing_zeros(left)
                    left &= left - np.uint64(1)
                    if child < count:
                        rows[found], children[found] = row, first_child[n] + child
                        found += 1
    return rows[:found], children[:found]


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def check(
    low: NDArray[np.uint16], high: NDArray[np.uint16], rows: NDArray[np.int64],
    boxes: NDArray[np.int64], lower: NDArray[np.uint16], upper: NDArray[np.uint16],
) -> NDArray[np.int8]:  # fmt: skip
    """For pairs: 0 the box does not contain both corners, 1 codes cannot tell, 2 it does."""
    answer = np.empty(len(rows), np.int8)
    for i in range(len(rows)):
        row, box = rows[i], boxes[i]
        state = np.int8(2)
        for k in range(low.shape[1]):
            a, b, c, d = lower[box, k], low[row, k], high[row, k], upper[box, k]
            if b < a or c > d:
                state = np.int8(0)
                break
            if (a == b and a & 1) or (c == d and d & 1 and d != 65535):
                state = np.int8(1)
        answer[i] = state
    return answer


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _grown(array: NDArray[np.int64], capacity: int) -> NDArray[np.int64]:
    larger = np.empty(capacity, np.int64)
    larger[: len(array)] = array
    return larger


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _trailing_zeros(word: Any) -> int:
    count = 0
    if word & np.uint64(0xFFFFFFFF) == 0:
        count += 32
        word >>= np.uint64(32)
    if word & np.uint64(0xFFFF) == 0:
        count += 16
        word >>= np.uint64(16)
    if word & np.uint64(0xFF) == 0:
        count += 8
        word >>= np.uint64(8)
    if word & np.uint64(0xF) == 0:
        count += 4
        word >>= np.uint64(4)
    if word & np.uint64(0x3) == 0:
        count += 2
        word >>= np.uint64(2)
    return count + (1 if word & np.uint64(1) == 0 else 0)
