"""Regions within the union of others, by exact subtraction.

A region is a piece to begin with. In each round every piece of the regions that are still open
gives a point, and the stored boxes that hold it are found. None: the point is a witness that the
union does not have all of the region, which is kept. Otherwise the box that takes most of the piece
is taken out of it, and what is left are pieces of the next round. No piece left: the region is
absorbed by the boxes that were taken out. More than a budget of them, or a point that very many
hold of whom those that were looked at do not count: it is kept.

Only boxes that come before a region in a fixed order, larger ones first, may absorb it, whether or
not they are absorbed themselves. So the first of all is kept; and if what is kept of the first n
has the union of the first n, then the next is either kept or within that union. By induction the
union of what is kept is the union of all, however the query rows are split over calls and machines.

Cost: for each round and open piece a search in the index. Where boxes say little (most regions have
residual constraints of their own) nothing is found.
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
    """What became of the query rows: `absorbers` has the rows whose union holds each, if absorbed.

    A row without absorbers is kept: for a witness, or because the budget ended.
    """

    query_rows: Rows
    absorbers: RaggedArray
    is_witnessed: Bools

    @property
    def is_absorbed(self) -> Bools:
        absorbed: Bools = self.absorbers.lengths > 0
        return absorbed

    @property
    def is_out_of_budget(self) -> Bools:
        """Whether it is kept because more would have had to be taken out of it."""
        return ~(self.is_absorbed | self.is_witnessed)


def find_subsumed(
    absorber_index: AbsorberIndex, query_rows: Rows, max_subtractions: int
) -> Subsumption:
    """What becomes of the query rows if at most `max_subtractions` are taken out of each."""
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
    """What becomes of as many query rows as are looked at together."""
    boxes = absorber_index.boxes
    owner, low, high = np.arange(len(query_rows)), boxes.lower[query_rows], boxes.upper[query_rows]
    is_witnessed, is_open = np.zeros(len(query_rows), np.bool_), np.ones(len(query_rows), np.bool_)
    spent = np.zeros(len(query_rows), np.int64)
    taken_of, taken_by = [owner[:0]], [owner[:0]]
    while True:
        spent += np.bincount(owner, minlength=len(query_rows))  # every piece will cost one at least
        is_open &= spent <= max_subtractions
        kept = np.flatnonzero(is_open[owner])
        if not len(kept):
            break
        owner, low, high = owner[kept], low[kept], high[kept]
        middle = low + (high - low) // 2  # corners take half again as long, and absorb no more
        best = _find_best_absorbers(absorber_index, query_rows[owner], low, high, middle)
        is_witnessed[owner[best == -1]] = True
        is_open[owner[best < 0]] = False
        kept = np.flatnonzero(is_open[owner])
        owner, best = owner[kept], best[kept]
        taken_of.append(owner)
        taken_by.append(best)
        of, low, high = subtract_boxes(low[kept], high[kept], best, boxes.lower, boxes.upper)
        owner = owner[of]
    of, by = np.concatenate(taken_of), np.concatenate(taken_by)
    absorbed = is_open[of]
    return Subsumption(
        query_rows, _distinct_by_query(len(query_rows), of[absorbed], by[absorbed]), is_witnessed
    )


def _find_best_absorbers(
    absorber_index: AbsorberIndex,
    query_rows: Rows,
    piece_lower: Codes,
    piece_upper: Codes,
    points: Codes,
) -> Rows:
    """For each piece the box that takes most of it, of those that hold its point.

    -1 if none does, -2 if that is not known, because more hold it than were looked at. The largest
    boxes are looked at first, and all only where none of those counts.
    """
    try:
        best = _choose_largest_takers(
            absorber_index,
            absorber_index.find_largest_containing(points),
            query_rows,
            piece_lower,
            piece_upper,
        )
        left = np.flatnonzero(best < 0)
        pairs = absorber_index.find_containing(points[left])
    except ResultTooLargeError:
        halves = np.array_split(np.arange(len(query_rows)), 2)
        found = [
            _find_best_absorbers(
                absorber_index, query_rows[h], piece_lower[h], piece_upper[h], points[h]
            )
            for h in halves
        ]
        return np.concatenate(found)
    best[left] = _choose_largest_takers(
        absorber_index, pairs, query_rows[left], piece_lower[left], piece_upper[left]
    )
    if absorber_index.is_crowded:
        is_full = np.bincount(pairs.query_rows, minlength=len(left)) >= MAX_CANDIDATES
        best[left[is_full & (best[left] < 0)]] = -2
    return best


def _choose_largest_takers(
    absorber_index: AbsorberIndex,
    pairs: Pairs,
    query_rows: Rows,
    piece_lower: Codes,
    piece_upper: Codes,
) -> Rows:
    boxes = absorber_index.boxes
    found: Rows = choose_largest_takers(
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
    return found


def _distinct_by_query(query_count: int, query_positions: Rows, absorber_rows: Rows) -> RaggedArray:
    """Rows of values, ascending and each once."""
    pairs = Pairs.from_unsorted(query_positions, absorber_rows).drop_duplicates()
    return RaggedArray.from_lengths(
        np.bincount(pairs.query_rows, minlength=query_count), pairs.stored_rows
    )
