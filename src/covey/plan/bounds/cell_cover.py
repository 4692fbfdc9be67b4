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

from covey.plan.groups.demand_groups import DemandGroups
from covey.plan.groups.event_grid import EventGrid
from covey.plan.groups.leaf_sets import find_unique_rows
from covey.plan.lp.solver import compute_dual_bound
from covey.plan.model.problem import Problem

__all__ = ["compute_cell_bound"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

_MAX_CELLS = 10_000
_CHUNK_SETS = 512  # sets that are compared with all others at once


def compute_cell_bound(problem: Problem, demand: DemandGroups) -> float:
    """The bandwidth that all cells together need at least.

    Cost: a linear program for each of some thousand cells at most, with a row for each set of
    leaves and a column for each broker.
    """
    lower, upper = demand.grid.to_coordinates(demand.box_classes)
    d = lower.shape[1]
    cells = EventGrid.from_boxes(lower, upper, max_boundaries=1 + int(_MAX_CELLS ** (1 / d)))
    masses = _measure_cells(problem, cells)
    wants = _find_wanted_cells(cells, lower, upper)[:, masses > 0]
    masses = masses[masses > 0]
    alike, of = find_unique_rows(np.packbits(wants, axis=0).T)
    wants = np.unpackbits(alike, axis=1, count=len(lower)).view(np.bool_)
    weights = np.bincount(of, masses, minlength=len(alike))
    within = _find_subsets(demand.leaf_sets)
    room = np.maximum(1, problem.compute_capacities(problem.max_load))
    needed = [_count_needed_brokers(problem, demand, kinds, within, room) for kinds in wants]
    return float(weights @ np.array(needed))


def _measure_cells(problem: Problem, grid: EventGrid) -> Floats:
    """The bandwidth of each cell; an event on a cut is in the cell after it."""
    if problem.event_sample is None:
        masses = np.ones(1)
        for axis in grid.axes:
            masses = np.outer(masses, np.diff(axis)).ravel()
        return masses
    place, inside = (
        np.zeros(len(problem.event_sample), np.int64),
        np.ones(len(problem.event_sample), np.bool_),
    )
    for k, axis in enumerate(grid.axes):
        slot = np.searchsorted(axis, problem.event_sample[:, k], side="right") - 1
        slot = np.where(problem.event_sample[:, k] == axis[-1], len(axis) - 2, slot)
        inside &= (slot >= 0) & (slot < len(axis) - 1)
        place = place * (len(axis) - 1) + slot
    shape = int(np.prod([len(axis) - 1 for axis in grid.axes]))
    return np.bincount(place[inside], minlength=shape) / len(problem.event_sample)


def _find_wanted_cells(grid: EventGrid, lower: Floats, upper: Floats) -> Bools:
    """Which kinds of boxes contain each cell: a row for each kind, a column for each cell."""
    wants = np.ones((len(lower), 1), np.bool_)
    for k, axis in enumerate(grid.axes):
        on_axis = (lower[:, k, None] <= axis[:-1]) & (upper[:, k, None] >= axis[1:])
        wants = (wants[:, :, None] & on_axis[:, None, :]).reshape(len(lower), -1)
    return wants


def _find_subsets(leaf_sets: Bools) -> Any:
    """Which sets have no leaf that another has not: a row for each of the others."""
    from scipy.sparse import csr_matrix, vstack

    sizes, numbers = leaf_sets.sum(axis=1), leaf_sets.astype(np.float32)
    found = []
    for start in range(0, len(leaf_sets), _CHUNK_SETS):
        common = numbers[start : start + _CHUNK_SETS] @ numbers.T
        found.append(csr_matrix(common == sizes))
    return vstack(found).tocsr()


def _count_needed_brokers(
    problem: Problem,
    demand: DemandGroups,
    is_wanted_class: Bools,
    subset_matrix: Any,
    capacities: NDArray[np.int64],
) -> float:
    """How many brokers must get what some kinds want."""
    groups = is_wanted_class[demand.class_of_group]
    counts = np.bincount(
        demand.leaf_set_of_group[groups],
        demand.group_sizes[groups],
        minlength=len(demand.leaf_sets),
    )
    used = np.flatnonzero(counts)
    if not len(used):
        return 0.0
    # Of sets that others are within, the others say more, but for their number.
    inside = np.asarray(subset_matrix[used] @ counts).ravel()
    needed = np.maximum(1.0, inside / capacities.max())
    is_least = np.asarray(subset_matrix[used][:, used].sum(axis=1)).ravel() == 1
    kept = is_least | (needed > 1)
    rows, ends = demand.leaf_sets[used[kept]].astype(np.float64), needed[kept]
    rows = np.vstack([rows, np.ones(rows.shape[1])])
    ends = np.r_[ends, counts.sum() / capacities.max()]
    return _solve_broker_cover(problem, rows, ends)


def _solve_broker_cover(problem: Problem, rows: Floats, row_lower: Floats) -> float:
    """The fewest brokers, in parts, so that leaves of each row add up to what it needs."""
    tree = problem.tree
    matrix = np.zeros((len(rows), len(tree)))
    matrix[:, tree.leaves] = rows
    below = np.flatnonzero(tree.parents >= 0)
    above = np.zeros((len(below), len(tree)))
    above[np.arange(len(below)), tree.parents[below]] = 1.0
    above[np.arange(len(below)), below] = -1.0
    found = compute_dual_bound(
        np.ones(len(tree)), np.vstack([matrix, above]), np.r_[row_lower, np.zeros(len(below))]
    )
    return max(0.0, found * (1 - 1e-7))  # the solver's tolerance
