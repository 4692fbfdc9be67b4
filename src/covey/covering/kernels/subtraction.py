"""Subtraction of boxes: which box contains most of a piece, and the remainder of the piece."""

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
    """Return for each piece the row of the box that contains the largest share of it.

    The result is -1 if no box may absorb the piece. A box may absorb a piece only if its rank is
    smaller than that of the piece's own box, and if it has either no residual constraints or the
    same ones as the piece's own box. Of boxes with equal shares, the one with the smallest rank is
    chosen.

    Args:
        piece_rows: the pieces of the candidates, which are pairs of a piece and a box that contains
            a point of the piece.
        stored_rows: the boxes of these pairs.
        query_rows: for each piece the row of its own box, of which the piece is a remainder.
        piece_lower: lower codes of the pieces.
        piece_upper: upper codes of the pieces.
        box_lower: lower codes of the boxes.
        box_upper: upper codes of the boxes.
        ranks: the position of each box in the order by volume, largest first.
        residual_ids: the residual id of each box.
    """
    axes = piece_lower.shape[1]
    best, largest_share = np.full(len(query_rows), -1, np.int64), np.zeros(len(query_rows))
    for i in range(len(piece_rows)):
        piece, box = piece_rows[i], stored_rows[i]
        own_box = query_rows[piece]
        if ranks[box] >= ranks[own_box] or (
            residual_ids[box] != 0 and residual_ids[box] != residual_ids[own_box]
        ):
            continue
        share = 1.0
        for k in range(axes):
            overlap = (
                min(piece_upper[piece, k], box_upper[box, k])
                - max(piece_lower[piece, k], box_lower[box, k])
                + 1
            )
            share *= overlap / (piece_upper[piece, k] - piece_lower[piece, k] + 1)
        previous = best[piece]
        if (
            previous < 0
            or share > largest_share[piece]
            or (share == largest_share[piece] and ranks[box] < ranks[previous])
        ):
            best[piece], largest_share[piece] = box, share
    return best


@kernel
def subtract_boxes(
    piece_lower: Codes, piece_upper: Codes, box_rows: Rows, box_lower: Codes, box_upper: Codes
) -> tuple[Rows, Codes, Codes]:
    """Subtract a box from each piece, and return the remainders as disjoint pieces.

    Args:
        piece_lower: lower codes of the pieces.
        piece_upper: upper codes of the pieces.
        box_rows: for each piece the row of the box to subtract, which overlaps the piece.
        box_lower: lower codes of the boxes.
        box_upper: upper codes of the boxes.

    Returns:
        For each new piece the old piece of which it is a remainder, and its lower and upper codes.
    """
    count, axes = piece_lower.shape
    source_pieces = np.empty(2 * axes * count, np.int64)
    lows = np.empty((len(source_pieces), axes), np.int32)
    highs = np.empty((len(source_pieces), axes), np.int32)
    piece_count = 0
    first, last = np.empty(axes, np.int32), np.empty(axes, np.int32)
    for i in range(count):
        first[:], last[:] = piece_lower[i], piece_upper[i]
        for k in range(axes):
            start, end = box_lower[box_rows[i], k], box_upper[box_rows[i], k]
            if first[k] < start:
                source_pieces[piece_count], lows[piece_count], highs[piece_count] = i, first, last
                highs[piece_count, k] = start - 1
                first[k] = start
                piece_count += 1
            if end < last[k]:
                source_pieces[piece_count], lows[piece_count], highs[piece_count] = i, first, last
                lows[piece_count, k] = end + 1
                last[k] = end
                piece_count += 1
    return source_pieces[:piece_count].copy(), lows[:piece_count].copy(), highs[:piece_count].copy()
