"""A bound from points of event space: how many brokers must get what is published there.

Whoever wants a cell of event space must be served by a broker that gets it, and near enough. So the
brokers that get a cell hit every set of leaves that somebody who wants it has, and are as many as
are needed for how many these are; and the brokers above them get it, too. A linear program for each
cell says how many at least. It holds for filters of any number of rectangles.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.plan.cells import Cells
from covey.plan.demand import Demand
from covey.plan.highs import least
from covey.plan.problem import Problem
from covey.plan.reach import distinct

__all__ = ["cell_bound"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

_CELLS = 10_000
_PORTION = 512  # sets that are compared with all others at once


def cell_bound(problem: Problem, demand: Demand) -> float:
    """The bandwidth that all cells together need at least.

    Cost: a linear program for each of some thousand cells at most, with a row for each set of
    leaves and a column for each broker.
    """
    lower, upper = demand.cells.ends(demand.kinds)
    d = lower.shape[1]
    cells = Cells.of(lower, upper, 1 + int(_CELLS ** (1 / d)))
    masses = _masses(problem, cells)
    wants = _wants(cells, lower, upper)[:, masses > 0]
    masses = masses[masses > 0]
    alike, of = distinct(np.packbits(wants, axis=0).T)
    wants = np.unpackbits(alike, axis=1, count=len(lower)).view(np.bool_)
    weights = np.bincount(of, masses, minlength=len(alike))
    within = _within(demand.sets)
    room = np.maximum(1, problem.most(problem.most_load))
    needed = [_brokers(problem, demand, kinds, within, room) for kinds in wants]
    return float(weights @ np.array(needed))


def _masses(problem: Problem, cells: Cells) -> Floats:
    """The bandwidth of each cell; an event on a cut is in the cell after it."""
    if problem.events is None:
        masses = np.ones(1)
        for axis in cells.axes:
            masses = np.outer(masses, np.diff(axis)).ravel()
        return masses
    place, inside = np.zeros(len(problem.events), np.int64), np.ones(len(problem.events), np.bool_)
    for k, axis in enumerate(cells.axes):
        slot = np.searchsorted(axis, problem.events[:, k], side="right") - 1
        slot = np.where(problem.events[:, k] == axis[-1], len(axis) - 2, slot)
        inside &= (slot >= 0) & (slot < len(axis) - 1)
        place = place * (len(axis) - 1) + slot
    shape = int(np.prod([len(axis) - 1 for axis in cells.axes]))
    return np.bincount(place[inside], minlength=shape) / len(problem.events)


def _wants(cells: Cells, lower: Floats, upper: Floats) -> Bools:
    """Which kinds of boxes contain each cell: a row for each kind, a column for each cell."""
    wants = np.ones((len(lower), 1), np.bool_)
    for k, axis in enumerate(cells.axes):
        on_axis = (lower[:, k, None] <= axis[:-1]) & (upper[:, k, None] >= axis[1:])
        wants = (wants[:, :, None] & on_axis[:, None, :]).reshape(len(lower), -1)
    return wants


def _within(sets: Bools) -> Any:
    """Which sets have no leaf that another has not: a row for each of the others."""
    from scipy.sparse import csr_matrix, vstack

    sizes, numbers = sets.sum(axis=1), sets.astype(np.float32)
    found = []
    for start in range(0, len(sets), _PORTION):
        common = numbers[start : start + _PORTION] @ numbers.T
        found.append(csr_matrix(common == sizes))
    return vstack(found).tocsr()


def _brokers(
    problem: Problem, demand: Demand, kinds: Bools, within: Any, room: NDArray[np.int64]
) -> float:
    """How many brokers must get what some kinds want."""
    groups = kinds[demand.kind_of]
    counts = np.bincount(demand.set_of[groups], demand.counts[groups], minlength=len(demand.sets))
    used = np.flatnonzero(counts)
    if not len(used):
        return 0.0
    # Of sets that others are within, the others say more, but for their number.
    inside = np.asarray(within[used] @ counts).ravel()
    needed = np.maximum(1.0, inside / room.max())
    is_least = np.asarray(within[used][:, used].sum(axis=1)).ravel() == 1
    kept = is_least | (needed > 1)
    rows, ends = demand.sets[used[kept]].astype(np.float64), needed[kept]
    rows = np.vstack([rows, np.ones(rows.shape[1])])
    ends = np.r_[ends, counts.sum() / room.max()]
    return _least_brokers(problem, rows, ends)


def _least_brokers(problem: Problem, rows: Floats, ends: Floats) -> float:
    """The fewest brokers, in parts, so that leaves of each row add up to what it needs."""
    tree = problem.tree
    matrix = np.zeros((len(rows), len(tree)))
    matrix[:, tree.leaves] = rows
    below = np.flatnonzero(tree.parents >= 0)
    above = np.zeros((len(below), len(tree)))
    above[np.arange(len(below)), tree.parents[below]] = 1.0
    above[np.arange(len(below)), below] = -1.0
    found = least(np.ones(len(tree)), np.vstack([matrix, above]), np.r_[ends, np.zeros(len(below))])
    return max(0.0, found * (1 - 1e-7))  # the solver's tolerance
