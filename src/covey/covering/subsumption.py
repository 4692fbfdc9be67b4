"""Subsumption: regions within the union of other regions, decided by exact subtraction.

At the start, a region is one piece. In each round, the middle of every piece of an undecided region
is a point, and the boxes that contain the point are searched for. If no box that may absorb the
region contains the point, the point is a witness that the union does not contain the region, and
the region remains. Otherwise, of the boxes that may absorb the region, the one that contains the
largest share of the piece is subtracted from it, and the remainder is divided into pieces of the
next round. If no piece is left, the region is absorbed by the subtracted boxes. A region also
remains if the number of subtractions exceeds its limit. If a point is in too many boxes, only some
of them are considered; if none of these may absorb the region, the region remains as well.

All regions have a fixed order, in which regions with larger boxes come first. Only earlier regions
may absorb a region, whether or not they are absorbed themselves. Therefore the first region
remains. Suppose that the remaining regions among the first n have the same union as the first n.
Then the next region either remains or is within this union. By induction, the union of the
remaining regions is the union of all regions, however the query rows are divided over calls and
machines.

Cost: a search in the index for each round and each piece of an undecided region. If most regions
have different residual constraints, few subsumed regions are found, because a box with residual
constraints absorbs only regions with the same ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.covering.absorber_index import MAX_CANDIDATES, AbsorberIndex
from covey.covering.kernels.subtraction import choose_largest_takers, subtract_boxes
from covey.errors import ResultTooLargeError
from covey.index import Pairs
from covey.space.ragged_array import RaggedArray

__all__ = ["Subsumption", "find_subsumed"]

Rows = NDArray[np.int64]
Bools = NDArray[np.bool_]
Codes = NDArray[np.int32]
_BATCH_ROWS = 1 << 14


@dataclass(frozen=True, slots=True)
class Subsumption:
    """Result of a test for subsumption: which query rows are absorbed, and by which boxes.

    A row without absorbers remains: a witness was found, or a limit was reached.

    Args:
        query_rows: the rows of the boxes that were tested.
        absorbers: for each query row the rows of boxes whose union contains its box; none if the
            row is not absorbed.
        is_witnessed: for each query row whether a point of its box was found that is in no box
            that may absorb the row.
    """

    query_rows: Rows
    absorbers: RaggedArray
    is_witnessed: Bools

    @property
    def is_absorbed(self) -> Bools:
        """For each query row whether its box is within the union of its absorbers."""
        absorbed: Bools = self.absorbers.lengths > 0
        return absorbed

    @property
    def is_out_of_budget(self) -> Bools:
        """For each query row whether it remains because a limit was reached.

        There is a limit for the number of subtractions and one for the candidates of a point.
        """
        return ~(self.is_absorbed | self.is_witnessed)


def find_subsumed(
    absorber_index: AbsorberIndex, query_rows: Rows, max_subtractions: int
) -> Subsumption:
    """Return which query rows are within the union of other boxes, and which boxes these are.

    Args:
        absorber_index: the boxes, which may absorb each other.
        query_rows: the rows of the boxes to test.
        max_subtractions: largest number of subtractions of other boxes from the pieces of one box.
    """
    starts = range(0, max(1, len(query_rows)), _BATCH_ROWS)
    parts = [
        _find_subsumed_in_batch(
            absorber_index, query_rows[start : start + _BATCH_ROWS], max_subtractions
        )
        for start in starts
    ]
    return Subsumption(
        query_rows,
        RaggedArray.concat([part.absorbers for part in parts]),
        np.concatenate([part.is_witnessed for part in parts]),
    )


def _find_subsumed_in_batch(
    absorber_index: AbsorberIndex, query_rows: Rows, max_subtractions: int
) -> Subsumption:
    """Return the subsumption of one batch of query rows."""
    boxes = absorber_index.boxes
    query_of_piece = np.arange(len(query_rows))
    low, high = boxes.lower[query_rows], boxes.upper[query_rows]
    is_witnessed, is_open = np.zeros(len(query_rows), np.bool_), np.ones(len(query_rows), np.bool_)
    subtractions = np.zeros(len(query_rows), np.int64)
    absorbed_queries, absorber_rows = [query_of_piece[:0]], [query_of_piece[:0]]
    while True:
        # Each piece costs at least one subtraction.
        subtractions += np.bincount(query_of_piece, minlength=len(query_rows))
        is_open &= subtractions <= max_subtractions
        open_pieces = np.flatnonzero(is_open[query_of_piece])
        if not len(open_pieces):
            break
        query_of_piece, low, high = query_of_piece[open_pieces], low[open_pieces], high[open_pieces]
        points = low + (high - low) // 2  # corners take 1.5 times as long and absorb no more
        best = _find_best_absorbers(absorber_index, query_rows[query_of_piece], low, high, points)
        is_witnessed[query_of_piece[best == -1]] = True
        is_open[query_of_piece[best < 0]] = False
        open_pieces = np.flatnonzero(is_open[query_of_piece])
        query_of_piece, best = query_of_piece[open_pieces], best[open_pieces]
        absorbed_queries.append(query_of_piece)
        absorber_rows.append(best)
        source_pieces, low, high = subtract_boxes(
            low[open_pieces], high[open_pieces], best, boxes.lower, boxes.upper
        )
        query_of_piece = query_of_piece[source_pieces]
    all_queries, all_absorbers = np.concatenate(absorbed_queries), np.concatenate(absorber_rows)
    absorbed = is_open[all_queries]
    return Subsumption(
        query_rows,
        _distinct_by_query(len(query_rows), all_queries[absorbed], all_absorbers[absorbed]),
        is_witnessed,
    )


def _find_best_absorbers(
    absorber_index: AbsorberIndex,
    query_rows: Rows,
    piece_lower: Codes,
    piece_upper: Codes,
    points: Codes,
) -> Rows:
    """Return for each piece the row of the box to subtract from it.

    Of the boxes that contain the point of the piece and may absorb the piece, it is the one that
    contains the largest share of the piece. The result is -1 if there is no such box. It is -2 if
    this is unknown, because more boxes contain the point than were considered. The largest boxes
    are considered first; all boxes are considered only if none of the largest may absorb the piece.

    Args:
        absorber_index: the boxes.
        query_rows: for each piece the row of the box to which it belongs.
        piece_lower: lower codes of the pieces.
        piece_upper: upper codes of the pieces.
        points: for each piece the codes of a point in it.
    """
    try:
        best = _choose_largest_takers(
            absorber_index,
            absorber_index.find_largest_containing(points),
            query_rows,
            piece_lower,
            piece_upper,
        )
        undecided = np.flatnonzero(best < 0)
        pairs = absorber_index.find_containing(points[undecided])
    except ResultTooLargeError:
        halves = np.array_split(np.arange(len(query_rows)), 2)
        best_of_halves = [
            _find_best_absorbers(
                absorber_index, query_rows[h], piece_lower[h], piece_upper[h], points[h]
            )
            for h in halves
        ]
        return np.concatenate(best_of_halves)
    best[undecided] = _choose_largest_takers(
        absorber_index, pairs, query_rows[undecided], piece_lower[undecided], piece_upper[undecided]
    )
    if absorber_index.is_crowded:
        is_full = np.bincount(pairs.query_rows, minlength=len(undecided)) >= MAX_CANDIDATES
        best[undecided[is_full & (best[undecided] < 0)]] = -2
    return best


def _choose_largest_takers(
    absorber_index: AbsorberIndex,
    pairs: Pairs,
    query_rows: Rows,
    piece_lower: Codes,
    piece_upper: Codes,
) -> Rows:
    """Return for each piece the candidate that contains the largest share of it.

    The result is -1 if no candidate may absorb the piece. `pairs` contains the candidates: pairs of
    a piece and a box that contains the point of the piece. The other arguments are those of
    `_find_best_absorbers`.
    """
    boxes = absorber_index.boxes
    takers: Rows = choose_largest_takers(
        pairs.query_rows,
        pairs.stored_rows,
        query_rows,
        piece_lower,
        piece_upper,
        boxes.lower,
        boxes.upper,
        absorber_index.ranks,
        boxes.residual_ids,
    )
    return takers


def _distinct_by_query(query_count: int, query_positions: Rows, absorber_rows: Rows) -> RaggedArray:
    """Return the distinct absorbers of each query row, ascending.

    `query_positions` and `absorber_rows` are parallel: a position in the query rows, and the row of
    a box that was subtracted.
    """
    pairs = Pairs.from_unsorted(query_positions, absorber_rows).drop_duplicates()
    return RaggedArray.from_lengths(
        np.bincount(pairs.query_rows, minlength=query_count), pairs.stored_rows
    )
