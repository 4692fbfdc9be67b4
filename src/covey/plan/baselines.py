"""Plans that look at one thing only, to compare with: the nearest broker, or equal loads.

They have much more bandwidth than plans that look at what is wanted. (papers: assignment)
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
    """Each subscriber at the nearest leaf; with balance, at the nearest that still has room.

    Latency is not looked at, which the nearest leaf keeps to more often than not. If all rooms
    together are too small, those who are left go to the nearest.
    """
    leaves, places = problem.tree.leaves, problem.subscribers.positions
    most = (
        problem.compute_capacities(problem.max_load)
        if with_capacity
        else np.full(len(leaves), len(places))
    )
    room = most.copy()
    found = np.full(len(places), -1, np.int64)
    waiting = np.arange(len(places))
    while len(waiting):
        if not (room > 0).any():  # brokers have too little room for all: some serve more
            room[:] = len(places)
        is_open = np.flatnonzero(room > 0)
        near = is_open[_find_nearest(places[waiting], problem.tree.brokers[leaves[is_open]])]
        fits = rank_within_key(near) < room[near]
        found[waiting[fits]] = near[fits]
        room -= np.bincount(near[fits], minlength=len(leaves))
        waiting = waiting[~fits]
    demand = DemandGroups.from_problem(problem)
    served = count_by_leaf(found, len(leaves), demand)
    return to_plan(
        problem, demand, found.astype(np.int32), fit_filter_state(problem, demand, served)
    )


@check_arguments
def balance_loads(problem: Problem) -> Plan:
    """The most even loads that latency allows, whatever is wanted."""
    demand = DemandGroups.from_problem(problem)
    _, by_set = find_min_load_factor(
        demand.leaf_sets, demand.subscribers_by_leaf_set, problem.fair_shares
    )
    served = _split_by_group(by_set, demand)
    return to_plan(
        problem,
        demand,
        expand_to_subscribers(served, demand),
        fit_filter_state(problem, demand, served),
    )


def _find_nearest(
    positions: NDArray[np.float64], brokers: NDArray[np.float64]
) -> NDArray[np.int64]:
    best, found = np.full(len(positions), np.inf), np.zeros(len(positions), np.int64)
    for number, broker in enumerate(brokers):
        away = positions - broker
        squared = np.einsum("ij,ij->i", away, away)
        is_nearer = squared < best
        best[is_nearer], found[is_nearer] = squared[is_nearer], number
    return found


def _split_by_group(by_leaf_set: NDArray[np.int64], demand: DemandGroups) -> NDArray[np.int32]:
    """What each leaf serves of each set, divided among the groups of the set."""
    served = np.zeros((by_leaf_set.shape[1], len(demand.group_sizes)), np.int32)
    for number, row in enumerate(by_leaf_set):
        groups = np.flatnonzero(demand.leaf_set_of_group == number)
        leaves = np.flatnonzero(row)
        # Both in a row, cut where either ends.
        of_groups, of_leaves = np.cumsum(demand.group_sizes[groups]), np.cumsum(row[leaves])
        ends = np.union1d(of_groups, of_leaves)
        lengths = np.diff(np.r_[0, ends])
        some = groups[np.searchsorted(of_groups, ends)]
        served[leaves[np.searchsorted(of_leaves, ends)], some] += lengths.astype(np.int32)
    return served
