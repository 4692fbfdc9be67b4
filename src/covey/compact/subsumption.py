"""Regions within the union of others, by exact subtraction.

A region is a piece to begin with. In each round every piece of the regions that are still open
gives a point, and the stored boxes that hold it are found. None: the point is a witness that the
union does not have all of the region, which is kept. Otherwise the box that takes most of the piece
is taken out of it, and what is left are pieces of the next round. No piece left: the region is
absorbed by the boxes that were taken out. More than a budget of them: it is kept.

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

from covey.compact.absorbing import Absorbing
from covey.compact.boxes import Boxes
from covey.compact.kernels.subtraction import remaining, takers
from covey.index import Pairs
from covey.space.ragged import Ragged

__all__ = ["Subsumption", "resolved", "subsumed"]

Rows = NDArray[np.int64]
Bools = NDArray[np.bool_]
_AT_ONCE = 1 << 15


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


def resolved(absorbers: Ragged, boxes: Boxes) -> Ragged:
    """Absorbers that are absorbed themselves replaced by theirs, until all are kept ones.

    `absorbers` and `boxes` are of all rows. Of what replaces an absorber, only that counts which
    meets the row: the rest of it holds nothing of it.
    """
    while True:
        is_absorbed = absorbers.lengths > 0
        owner = np.repeat(np.arange(len(absorbers)), absorbers.lengths)
        passed = is_absorbed[absorbers.values]
        if not passed.any():
            return absorbers
        places, of = absorbers.places(absorbers.values[passed])
        instead, whose = absorbers.values[places], owner[passed][of]
        meets = (boxes.lower[instead] <= boxes.upper[whose]).all(axis=1)
        meets &= (boxes.lower[whose] <= boxes.upper[instead]).all(axis=1)
        absorbers = _each_once(
            len(absorbers),
            np.concatenate([owner[~passed], whose[meets]]),
            np.concatenate([absorbers.values[~passed], instead[meets]]),
        )


def _some(absorbing: Absorbing, rows: Rows, budget: int) -> Subsumption:
    """The same for as many as are looked at together."""
    boxes, ranks = absorbing.boxes, absorbing.ranks
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
        pairs = absorbing.holding(middle)
        best = takers(
            pairs.asked, pairs.stored, rows[owner], low, high, boxes.lower, boxes.upper, ranks,
            boxes.rest,
        )  # fmt: skip
        is_witnessed[owner[best < 0]] = True
        is_open &= ~is_witnessed
        kept = np.flatnonzero(is_open[owner])
        owner, best = owner[kept], best[kept]
        taken_of.append(owner)
        taken_by.append(best)
        of, low, high = remaining(low[kept], high[kept], best, boxes.lower, boxes.upper)
        owner = owner[of]
    of, by = np.concatenate(taken_of), np.concatenate(taken_by)
    absorbed = is_open[of]
    return Subsumption(rows, _each_once(len(rows), of[absorbed], by[absorbed]), is_witnessed)


def _each_once(count: int, owner: Rows, values: Rows) -> Ragged:
    """Rows of values, ascending and each once."""
    pairs = Pairs.of(owner, values)
    first = np.ones(len(pairs), np.bool_)
    first[1:] = (np.diff(pairs.asked) != 0) | (np.diff(pairs.stored) != 0)
    return Ragged.from_lengths(
        np.bincount(pairs.asked[first], minlength=count), pairs.stored[first]
    )
