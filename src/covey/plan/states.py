"""Filters while they are being made, in cells, and the plan that they are in the end."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.errors import ValueRefused
from covey.plan.demand import Demand
from covey.plan.filters import Filters
from covey.plan.kernels.climb import State
from covey.plan.kernels.unions import union
from covey.plan.plan import Plan
from covey.plan.problem import Problem

__all__ = ["copied", "empty_state", "filters_of", "planned", "state_of"]


def empty_state(problem: Problem) -> State:
    """Filters without a rectangle."""
    brokers, d = len(problem.tree), problem.subscribers.lower.shape[1]
    filters = np.zeros((brokers, problem.alpha, 2 * d), np.int32)
    return State(filters, np.zeros(brokers, np.int64), np.zeros(brokers))


def copied(state: State) -> State:
    """The same, which does not change when the other does."""
    return State(state.filters.copy(), state.counts.copy(), state.volumes.copy())


def filters_of(state: State, demand: Demand) -> Filters:
    """The filters as they are in event space."""
    lower, upper = demand.cells.ends(state.filters)
    return Filters(lower, upper, state.counts.copy())


def planned(problem: Problem, demand: Demand, leaf_of: NDArray[np.int32], state: State) -> Plan:
    """The plan with the leaf of each subscriber, by its number among leaves, and these filters."""
    broker_of = problem.tree.leaves[leaf_of].astype(np.int32)
    return Plan(problem, broker_of, filters_of(state, demand))


def state_of(given: Filters, alpha: int, demand: Demand) -> State:
    """Filters in the cells of a demand, at most `alpha` rectangles each.

    Ends that are no cuts are widened.
    """
    most = given.counts.max()
    if most > alpha:
        raise ValueRefused(
            f"a filter has {most} rectangles, and alpha is {alpha}: start from a simpler plan"
        )
    d, brokers = len(demand.cells.axes), len(given)
    filters = np.zeros((brokers, alpha, 2 * d), np.int32)
    is_there = np.arange(alpha) < given.counts[:, None]  # what is beyond may be anywhere
    filters[is_there] = demand.cells.boxes(*given.rectangles)
    common = np.empty((alpha, 2 * d), np.int32)
    volumes = [
        union(rows, int(count), demand.measure, common)
        for rows, count in zip(filters, given.counts, strict=True)
    ]
    return State(filters, given.counts.astype(np.int64), np.array(volumes))
