"""What takes most of a piece, and what is left of it then."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.compiled import kernel

__all__ = ["remaining", "takers"]

Codes = NDArray[np.int32]
Rows = NDArray[np.int64]


@kernel
def takers(
    asked: Codes, stored: Codes, owner: Rows, low: Codes, high: Codes, lower: Codes, upper: Codes,
    ranks: Codes, rests: Codes,
) -> Rows:  # fmt: skip
    """For each piece, which is of box `owner`, the box that takes most of it, or -1.

    Pairs say which boxes hold a point of a piece. Those count that come before the owner and have
    no rest or the owner's.
    """
    axes = low.shape[1]
    best, most = np.full(len(owner), -1, np.int64), np.zeros(len(owner))
    for i in range(len(asked)):
        piece, box = asked[i], stored[i]
        mine = owner[piece]
        if ranks[box] >= ranks[mine] or (rests[box] != 0 and rests[box] != rests[mine]):
            continue
        share = 1.0
        for k in range(axes):
            both = min(high[piece, k], upper[box, k]) - max(low[piece, k], lower[box, k]) + 1
            share *= both / (high[piece, k] - low[piece, k] + 1)
        before = best[piece]
        if before < 0 or share > most[piece] or (
            share == most[piece] and ranks[box] < ranks[before]
        ):  # fmt: skip
            best[piece], most[piece] = box, share
    return best


@kernel
def remaining(
    low: Codes, high: Codes, box: Rows, lower: Codes, upper: Codes
) -> tuple[Rows, Codes, Codes]:
    """What is left of each piece without its box: disjoint pieces, and which piece they are of."""
    count, axes = low.shape
    of = np.empty(2 * axes * count, np.int64)
    lows, highs = np.empty((len(of), axes), np.int32), np.empty((len(of), axes), np.int32)
    left = 0
    first, last = np.empty(axes, np.int32), np.empty(axes, np.int32)
    for i in range(count):
        first[:], last[:] = low[i], high[i]
        for k in range(axes):
            start, end = lower[box[i], k], upper[box[i], k]
            if first[k] < start:
                of[left], lows[left], highs[left] = i, first, last
                highs[left, k] = start - 1
                first[k] = start
                left += 1
            if end < last[k]:
                of[left], lows[left], highs[left] = i, first, last
                lows[left, k] = end + 1
                last[k] = end
                left += 1
    return of[:left].copy(), lows[:left].copy(), highs[:left].copy()
