"""Subsumption: regions within the union of others, decided by exact subtraction.

At the start, a region is one piece. In each round every piece of an undecided region gives a point,
and the stored boxes that contain it are searched. If there is none, the point is a witness that the
union does not contain the region, and the region remains. Otherwise the box that takes most of the
piece is subtracted from it, and the remainder forms the pieces of the next round. If no piece
remains, the region is absorbed by the subtracted boxes. The region also remains if the number of
subtractions reaches its limit, or if too many boxes contain a point to consider all of them, and
none of those considered may absorb it.

Only boxes that come before a region in a fixed order, larger ones first, may absorb it, whether or
not they are absorbed themselves. Therefore the first region of all remains. If the remaining
regions of the first n have the union of the first n, then the next one either remains or is within
that union. By induction the union of the remaining regions is the union of all, however the query
rows are divided over calls and machines.

Cost: for each round and piece of an undecided region, a search in the index. If boxes say little
(most regions have residual constraints of their own), nothing is found.
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
    """Result for query rows: which are absorbed, and by which boxes.

    A row without absorbers remains: because a witness was found, or because the limit was reached.

    Args:
        query_rows: the rows of the boxes that were tested.
        absorbers: for each query row the rows of the boxes whose union contains it; empty if it is
            not absorbed.
        is_witnessed: whether a point of the row was found that no other box contains.
    """

    query_rows: Rows
    absorbers: RaggedArray
    is_witnessed: Bools

    @property
    def is_absorbed(self) -> Bools:
        """True for rows within the union of other boxes."""
        absorbed: Bools = self.absorbers.lengths > 0
        return absorbed

    @property
    def is_out_of_budget(self) -> Bools:
        """True for rows that remain because the limit of subtractions or candidates was reached."""
        return ~(self.is_absorbed | self.is_witnessed)


def find_subsumed(
    absorber_index: AbsorberIndex, query_rows: Rows, max_subtractions: int
) -> Subsumption:
    """Return which query rows are within the union of others.

    At most `max_subtractions` boxes are subtracted from each.
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
    """Return for each piece the box that takes most of it, of those that contain its point.

    The result is -1 if no box may absorb it, and -2 if that is unknown because more boxes contain
    the point than were considered. The largest boxes are considered first, all others only if none
    of these may absorb the piece.
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
    """Return for each piece the box that takes most of it, of the given pairs, or -1."""
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
    """Return the distinct absorbers of each query row, ascending."""
    pairs = Pairs.from_unsorted(query_positions, absorber_rows).drop_duplicates()
    return RaggedArray.from_lengths(
        np.bincount(pairs.query_rows, minlength=query_count), pairs.stored_rows
    )
