"""Lower bound from cells of event space: how many brokers must receive the events of each cell.

A subscriber that wants a cell must be served by a leaf that may serve it and receives the cell. The
leaves that receive the cell therefore include at least one from the leaf set of every such
subscriber, and their capacities together suffice for these subscribers. All brokers above these
leaves receive the cell, too. A linear program for each cell gives a lower bound of the number of
brokers that receive it. The bound holds for filters with any number of rectangles.
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
_CHUNK_SETS = 512  # leaf sets that are compared with all others at the same time


def compute_cell_bound(problem: Problem, demand: DemandGroups) -> float:
    """Return a lower bound of the bandwidth, summed over the cells of event space.

    Each cell adds its volume, or its share of the event sample, times a lower bound of the number
    of brokers that must receive it.

    Cost: at most 10,000 linear programs. Cells that are in the same box classes share one; it has a
    row for each leaf set and a column for each broker.
    """
    lower, upper = demand.grid.to_coordinates(demand.box_classes)
    d = lower.shape[1]
    cells = EventGrid.from_boxes(lower, upper, max_boundaries=1 + int(_MAX_CELLS ** (1 / d)))
    masses = _measure_cells(problem, cells)
    is_wanted = _find_wanted_cells(cells, lower, upper)[:, masses > 0]
    masses = masses[masses > 0]
    distinct_patterns, pattern_of_cell = find_unique_rows(np.packbits(is_wanted, axis=0).T)
    is_wanted = np.unpackbits(distinct_patterns, axis=1, count=len(lower)).view(np.bool_)
    weights = np.bincount(pattern_of_cell, masses, minlength=len(distinct_patterns))
    subset_matrix = _find_subsets(demand.leaf_sets)
    capacities = np.maximum(1, problem.compute_capacities(problem.max_load))
    broker_counts = [
        _count_needed_brokers(problem, demand, wanted_classes, subset_matrix, capacities)
        for wanted_classes in is_wanted
    ]
    return float(weights @ np.array(broker_counts))


def _measure_cells(problem: Problem, grid: EventGrid) -> Floats:
    """Return the volume of each cell, or the share of the sampled events in it.

    An event on a boundary is in the cell after it, or in the last cell.
    """
    if problem.event_sample is None:
        masses = np.ones(1)
        for axis in grid.axes:
            masses = np.outer(masses, np.diff(axis)).ravel()
        return masses
    cell_number, is_inside = (
        np.zeros(len(problem.event_sample), np.int64),
        np.ones(len(problem.event_sample), np.bool_),
    )
    for k, axis in enumerate(grid.axes):
        slot = np.searchsorted(axis, problem.event_sample[:, k], side="right") - 1
        slot = np.where(problem.event_sample[:, k] == axis[-1], len(axis) - 2, slot)
        is_inside &= (slot >= 0) & (slot < len(axis) - 1)
        cell_number = cell_number * (len(axis) - 1) + slot
    cell_count = int(np.prod([len(axis) - 1 for axis in grid.axes]))
    return np.bincount(cell_number[is_inside], minlength=cell_count) / len(problem.event_sample)


def _find_wanted_cells(grid: EventGrid, lower: Floats, upper: Floats) -> Bools:
    """Return a table that says which box classes (rows) contain each cell (column)."""
    is_wanted = np.ones((len(lower), 1), np.bool_)
    for k, axis in enumerate(grid.axes):
        on_axis = (lower[:, k, None] <= axis[:-1]) & (upper[:, k, None] >= axis[1:])
        is_wanted = (is_wanted[:, :, None] & on_axis[:, None, :]).reshape(len(lower), -1)
    return is_wanted


def _find_subsets(leaf_sets: Bools) -> Any:
    """Return a sparse matrix in which entry (i, j) is True if leaf set j is a subset of set i."""
    from scipy.sparse import csr_matrix, vstack

    sizes, numbers = leaf_sets.sum(axis=1), leaf_sets.astype(np.float32)
    blocks = []
    for start in range(0, len(leaf_sets), _CHUNK_SETS):
        common = numbers[start : start + _CHUNK_SETS] @ numbers.T
        blocks.append(csr_matrix(common == sizes))
    return vstack(blocks).tocsr()


def _count_needed_brokers(
    problem: Problem,
    demand: DemandGroups,
    is_wanted_class: Bools,
    subset_matrix: Any,
    capacities: NDArray[np.int64],
) -> float:
    """Return a lower bound of the number of brokers that must receive a cell.

    Args:
        problem: the problem; only its tree is used.
        demand: the groups.
        is_wanted_class: the box classes that contain the cell.
        subset_matrix: the subsets of each leaf set, as `_find_subsets` returns them.
        capacities: the capacity of each leaf, at least 1.
    """
    groups = is_wanted_class[demand.class_of_group]
    counts = np.bincount(
        demand.leaf_set_of_group[groups],
        demand.group_sizes[groups],
        minlength=len(demand.leaf_sets),
    )
    used = np.flatnonzero(counts)
    if not len(used):
        return 0.0
    # A set that contains another used set adds a condition only if it needs more than one leaf.
    subscribers_within = np.asarray(subset_matrix[used] @ counts).ravel()
    needed = np.maximum(1.0, subscribers_within / capacities.max())
    is_minimal = np.asarray(subset_matrix[used][:, used].sum(axis=1)).ravel() == 1
    is_binding = is_minimal | (needed > 1)
    rows, row_lower = demand.leaf_sets[used[is_binding]].astype(np.float64), needed[is_binding]
    rows = np.vstack([rows, np.ones(rows.shape[1])])
    row_lower = np.r_[row_lower, counts.sum() / capacities.max()]
    return _solve_broker_cover(problem, rows, row_lower)


def _solve_broker_cover(problem: Problem, rows: Floats, row_lower: Floats) -> float:
    """Return a lower bound of the number of brokers that are needed to satisfy all leaf sets.

    The linear program may choose fractions of brokers. The fraction of a broker is at least the
    fraction of each of its children.

    Args:
        problem: the problem; only its tree is used.
        rows: one row for each leaf set, with 1.0 for each of its leaves.
        row_lower: how many leaves each set needs.
    """
    tree = problem.tree
    matrix = np.zeros((len(rows), len(tree)))
    matrix[:, tree.leaves] = rows
    non_top_brokers = np.flatnonzero(tree.parents >= 0)
    parent_rows = np.zeros((len(non_top_brokers), len(tree)))
    parent_rows[np.arange(len(non_top_brokers)), tree.parents[non_top_brokers]] = 1.0
    parent_rows[np.arange(len(non_top_brokers)), non_top_brokers] = -1.0
    broker_count = compute_dual_bound(
        np.ones(len(tree)),
        np.vstack([matrix, parent_rows]),
        np.r_[row_lower, np.zeros(len(non_top_brokers))],
    )
    return max(0.0, broker_count * (1 - 1e-7))  # margin for the tolerance of the solver
