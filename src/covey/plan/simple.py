"""Plans that look at one thing only, to compare with: the nearest broker, or equal loads.

They have much more bandwidth than plans that look at what is wanted. (papers: assignment)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.plan.demand import Demand
from covey.plan.flow import least_factor
from covey.plan.plan import Plan
from covey.plan.problem import Problem
from covey.plan.reach import ranks
from covey.plan.serving import counted, fitted_state, leaf_of
from covey.plan.states import planned

__all__ = ["balance", "closest"]


def closest(problem: Problem, *, with_balance: bool = True) -> Plan:
    """Each subscriber at the nearest leaf; with balance, at the nearest that still has room.

    Latency is not looked at, which the nearest leaf keeps to more often than not. If all rooms
    together are too small, those who are left go to the nearest.
    """
    leaves, places = problem.tree.leaves, problem.subscribers.positions
    most = problem.most(problem.most_load) if with_balance else np.full(len(leaves), len(places))
    room = most.copy()
    found = np.full(len(places), -1, np.int64)
    waiting = np.arange(len(places))
    while len(waiting):
        if not (room > 0).any():  # brokers have too little room for all: some serve more
            room[:] = len(places)
        is_open = np.flatnonzero(room > 0)
        near = is_open[_nearest(places[waiting], problem.tree.brokers[leaves[is_open]])]
        fits = ranks(near) < room[near]
        found[waiting[fits]] = near[fits]
        room -= np.bincount(near[fits], minlength=len(leaves))
        waiting = waiting[~fits]
    demand = Demand.of(problem)
    served = counted(found, len(leaves), demand)
    return planned(problem, demand, found.astype(np.int32), fitted_state(problem, demand, served))


def balance(problem: Problem) -> Plan:
    """The most even loads that latency allows, whatever is wanted."""
    demand = Demand.of(problem)
    _, by_set = least_factor(demand.sets, demand.set_counts, problem.shares)
    served = _by_group(by_set, demand)
    return planned(problem, demand, leaf_of(served, demand), fitted_state(problem, demand, served))


def _nearest(places: NDArray[np.float64], brokers: NDArray[np.float64]) -> NDArray[np.int64]:
    best, found = np.full(len(places), np.inf), np.zeros(len(places), np.int64)
    for number, broker in enumerate(brokers):
        away = places - broker
        squared = np.einsum("ij,ij->i", away, away)
        is_nearer = squared < best
        best[is_nearer], found[is_nearer] = squared[is_nearer], number
    return found


def _by_group(by_set: NDArray[np.int64], demand: Demand) -> NDArray[np.int32]:
    """What each leaf serves of each set, divided among the groups of the set."""
    served = np.zeros((by_set.shape[1], len(demand.counts)), np.int32)
    for number, row in enumerate(by_set):
        groups = np.flatnonzero(demand.set_of == number)
        leaves = np.flatnonzero(row)
        # Both in a row, cut where either ends.
        of_groups, of_leaves = np.cumsum(demand.counts[groups]), np.cumsum(row[leaves])
        ends = np.union1d(of_groups, of_leaves)
        lengths = np.diff(np.r_[0, ends])
        some = groups[np.searchsorted(of_groups, ends)]
        served[leaves[np.searchsorted(of_leaves, ends)], some] += lengths.astype(np.int32)
    return served
