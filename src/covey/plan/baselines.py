"""Baseline plans for comparison: the nearest broker, or the most even loads.

Each baseline considers a single criterion, distance or load. Its bandwidth is much larger than that
of plans that also consider the boxes of subscribers. (papers: assignment)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey._argument_checks import check_arguments
from covey.plan.capacity.max_flow import find_min_load_factor
from covey.plan.groups.assignment_counts import (
    count_by_leaf,
    expand_to_subscribers,
    fit_filter_state,
)
from covey.plan.groups.demand_groups import DemandGroups
from covey.plan.groups.filter_state import to_plan
from covey.plan.groups.leaf_sets import rank_within_key
from covey.plan.model.plan import Plan
from covey.plan.model.problem import Problem

__all__ = ["assign_nearest", "balance_loads"]


@check_arguments
def assign_nearest(problem: Problem, *, with_capacity: bool = True) -> Plan:
    """Return the plan in which each subscriber is served by the nearest leaf.

    The nearest leaf has the smallest distance to the subscriber; the path above the leaf does not
    count. `max_delay` and `allowed_leaves` are ignored. In most cases the delay at the nearest leaf
    is within `max_delay`.

    Args:
        problem: what to plan for.
        with_capacity: respect the capacities at `max_load`. A subscriber is then served by the
            nearest leaf that is not full. If all leaves are full, the remaining subscribers are
            served by the nearest leaf.
    """
    leaves, positions = problem.tree.leaves, problem.subscribers.positions
    capacities = (
        problem.compute_capacities(problem.max_load)
        if with_capacity
        else np.full(len(leaves), len(positions))
    )
    free_capacities = capacities.copy()
    leaf_of = np.full(len(positions), -1, np.int64)
    unassigned = np.arange(len(positions))
    while len(unassigned):
        if not (free_capacities > 0).any():  # all leaves are full: exceed capacities
            free_capacities[:] = len(positions)
        is_open = np.flatnonzero(free_capacities > 0)
        nearest = is_open[
            _find_nearest(positions[unassigned], problem.tree.brokers[leaves[is_open]])
        ]
        fits = rank_within_key(nearest) < free_capacities[nearest]
        leaf_of[unassigned[fits]] = nearest[fits]
        free_capacities -= np.bincount(nearest[fits], minlength=len(leaves))
        unassigned = unassigned[~fits]
    demand = DemandGroups.from_problem(problem)
    group_counts = count_by_leaf(leaf_of, len(leaves), demand)
    return to_plan(
        problem, demand, leaf_of.astype(np.int32), fit_filter_state(problem, demand, group_counts)
    )


@check_arguments
def balance_loads(problem: Problem) -> Plan:
    """Return a plan whose leaves have loads as even as the limit on delay allows.

    The load factor of the plan is minimized; it is at most a thousandth larger than necessary.
    The assignment ignores the boxes of subscribers; filters are fitted afterwards.

    Raises:
        CoveyError: if scipy is not installed.
    """
    demand = DemandGroups.from_problem(problem)
    _, counts_by_leaf_set = find_min_load_factor(
        demand.leaf_sets, demand.subscribers_by_leaf_set, problem.fair_shares
    )
    group_counts = _split_by_group(counts_by_leaf_set, demand)
    return to_plan(
        problem,
        demand,
        expand_to_subscribers(group_counts, demand),
        fit_filter_state(problem, demand, group_counts),
    )


def _find_nearest(
    positions: NDArray[np.float64], brokers: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return the index of the nearest broker for each position."""
    best, nearest = np.full(len(positions), np.inf), np.zeros(len(positions), np.int64)
    for number, broker in enumerate(brokers):
        differences = positions - broker
        squared = np.einsum("ij,ij->i", differences, differences)
        is_nearer = squared < best
        best[is_nearer], nearest[is_nearer] = squared[is_nearer], number
    return nearest


def _split_by_group(by_leaf_set: NDArray[np.int64], demand: DemandGroups) -> NDArray[np.int32]:
    """Distribute numbers of subscribers per leaf set over the groups that have the leaf set.

    `by_leaf_set[s, l]` is the number of subscribers with leaf set s that leaf l serves. The result
    is the number of subscribers of each group (column) that each leaf (row) serves.
    """
    group_counts = np.zeros((by_leaf_set.shape[1], len(demand.group_sizes)), np.int32)
    for number, row in enumerate(by_leaf_set):
        groups = np.flatnonzero(demand.leaf_set_of_group == number)
        leaves = np.flatnonzero(row)
        # Groups, and also leaves, divide the subscribers of a set into runs: split at both ends.
        group_ends, leaf_ends = np.cumsum(demand.group_sizes[groups]), np.cumsum(row[leaves])
        ends = np.union1d(group_ends, leaf_ends)
        lengths = np.diff(np.r_[0, ends])
        matching_groups = groups[np.searchsorted(group_ends, ends)]
        group_counts[leaves[np.searchsorted(leaf_ends, ends)], matching_groups] += lengths.astype(
            np.int32
        )
    return group_counts
