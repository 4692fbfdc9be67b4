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
union of what is kept is the union of all, however the asked rows are split over calls and machines.

Cost: for each round and open piece a search in the index. Where boxes say little (most regions have
a rest of their own) nothing is found.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.compact.absorbing import MANY, Absorbing
from covey.compact.kernels.subtraction import remaining, takers
from covey.errors import TooManyPairs
from covey.index import Pairs
from covey.space.ragged import Ragged

__all__ = ["Subsumption", "subsumed"]

Rows = NDArray[np.int64]
Bools = NDArray[np.bool_]
Codes = NDArray[np.int32]
_AT_ONCE = 1 << 14


@dataclass(frozen=True, slots=True)
class Subsumption:
    """What became of the asked rows: `absorbers` has the rows whose union holds each, if absorbed.

    A row without absorbers is kept: for a witness, or because the budget ended.
    """

    rows: Rows
    absorbers: Ragged
    is_witnessed: Bools

    @property
    def is_absorbed(self) -> Bools:
        absorbed: Bools = self.absorbers.lengths > 0
        return absorbed

    @property
    def is_out_of_budget(self) -> Bools:
        """Whether it is kept because more would have had to be taken out of it."""
        return ~(self.is_absorbed | self.is_witnessed)


def subsumed(absorbing: Absorbing, rows: Rows, budget: int) -> Subsumption:
    """What becomes of the asked rows if at most `budget` boxes are taken out of each."""
    starts = range(0, max(1, len(rows)), _AT_ONCE)
    parts = [_some(absorbing, rows[start : start + _AT_ONCE], budget) for start in starts]
    return Subsumption(
        rows,
        Ragged.concat([part.absorbers for part in parts]),
        np.concatenate([part.is_witnessed for part in parts]),
    )


def _some(absorbing: Absorbing, rows: Rows, budget: int) -> Subsumption:
    """The same for as many as are looked at together."""
    boxes = absorbing.boxes
    owner, low, high = np.arange(len(rows)), boxes.lower[rows], boxes.upper[rows]
    is_witnessed, is_open = np.zeros(len(rows), np.bool_), np.ones(len(rows), np.bool_)
    spent = np.zeros(len(rows), np.int64)
    taken_of, taken_by = [owner[:0]], [owner[:0]]
    while True:
        spent += np.bincount(owner, minlength=len(rows))  # every piece will cost one at least
        is_open &= spent <= budget
        kept = np.flatnonzero(is_open[owner])
        if not len(kept):
            break
        owner, low, high = owner[kept], low[kept], high[kept]
        middle = low + (high - low) // 2  # corners take half again as long, and absorb no more
        best = _best(absorbing, rows[owner], low, high, middle)
        is_witnessed[owner[best == -1]] = True
        is_open[owner[best < 0]] = False
        kept = np.flatnonzero(is_open[owner])
        owner, best = owner[kept], best[kept]
        taken_of.append(owner)
        taken_by.append(best)
        of, low, high = remaining(low[kept], high[kept], best, boxes.lower, boxes.upper)
        owner = owner[of]
    of, by = np.concatenate(taken_of), np.concatenate(taken_by)
    absorbed = is_open[of]
    return Subsumption(rows, _each_once(len(rows), of[absorbed], by[absorbed]), is_witnessed)


def _best(absorbing: Absorbing, of: Rows, low: Codes, high: Codes, points: Codes) -> Rows:
    """For each piece the box that takes most of it, of those that hold its point.

    -1 if none does, -2 if that is not known, because more hold it than were looked at. Leaders are
    looked at first, and all only where none of those counts.
    """
    try:
        best = _taker(absorbing, absorbing.leaders_holding(points), of, low, high)
        left = np.flatnonzero(best < 0)
        pairs = absorbing.holding(points[left])
    except TooManyPairs:
        halves = np.array_split(np.arange(len(of)), 2)
        found = [_best(absorbing, of[h], low[h], high[h], points[h]) for h in halves]
        return np.concatenate(found)
    best[left] = _taker(absorbing, pairs, of[left], low[left], high[left])
    if absorbing.is_crowded:
        is_full = np.bincount(pairs.asked, minlength=len(left)) >= MANY
        best[left[is_full & (best[left] < 0)]] = -2
    return best


def _taker(absorbing: Absorbing, pairs: Pairs, of: Rows, low: Codes, high: Codes) -> Rows:
    boxes = absorbing.boxes
    found: Rows = takers(
        pairs.asked, pairs.stored, of, low, high, boxes.lower, boxes.upper, absorbing.ranks,
        boxes.rest,
    )  # fmt: skip
    return found


def _each_once(count: int, owner: Rows, values: Rows) -> Ragged:
    """Rows of values, ascending and each once."""
    pairs = Pairs.of(owner, values).once()
    return Ragged.from_lengths(np.bincount(pairs.asked, minlength=count), pairs.stored)
