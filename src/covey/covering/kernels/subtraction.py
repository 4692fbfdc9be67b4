"""What takes most of a piece, and what is left of it then."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey._jit import kernel

__all__ = ["choose_largest_takers", "subtract_boxes"]

Codes = NDArray[np.int32]
Rows = NDArray[np.int64]


@kernel
def choose_largest_takers(
    piece_rows: Codes,
    stored_rows: Codes,
    query_rows: Rows,
    piece_lower: Codes,
    piece_upper: Codes,
    box_lower: Codes,
    box_upper: Codes,
    ranks: Codes,
    residual_ids: Codes,
) -> Rows:
    """For each piece, which is of box `query_rows[piece]`, the box that takes most of it, or -1.

    Pairs say which boxes hold a point of a piece. Those count that come before the piece's own box
    and have no residual constraints or the same as that.
    """
    axes = piece_lower.shape[1]
    best, most = np.full(len(query_rows), -1, np.int64), np.zeros(len(query_rows))
    for i in range(len(piece_rows)):
        piece, box = piece_rows[i], stored_rows[i]
        mine = query_rows[piece]
        if ranks[box] >= ranks[mine] or (
            residual_ids[box] != 0 and residual_ids[box] != residual_ids[mine]
        ):
            continue
        share = 1.0
        for k in range(axes):
            both = (
                min(piece_upper[piece, k], box_upper[box, k])
                - max(piece_lower[piece, k], box_lower[box, k])
                + 1
            )
            share *= both / (piece_upper[piece, k] - piece_lower[piece, k] + 1)
        before = best[piece]
        if (
            before < 0
            or share > most[piece]
            or (share == most[piece] and ranks[box] < ranks[before])
        ):
            best[piece], most[piece] = box, share
    return best


@kernel
def subtract_boxes(
    piece_lower: Codes, piece_upper: Codes, box_rows: Rows, box_lower: Codes, box_upper: Codes
) -> tuple[Rows, Codes, Codes]:
    """What is left of each piece without its box: disjoint pieces, and which piece they are of."""
    count, axes = piece_lower.shape
    of = np.empty(2 * axes * count, np.int64)
    lows, highs = np.empty((len(of), axes), np.int32), np.empty((len(of), axes), np.int32)
    left = 0
    first, last = np.empty(axes, np.int32), np.empty(axes, np.int32)
    for i in range(count):
        first[:], last[:] = piece_lower[i], piece_upper[i]
        for k in range(axes):
            start, end = box_lower[box_rows[i], k], box_upper[box_rows[i], k]
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
