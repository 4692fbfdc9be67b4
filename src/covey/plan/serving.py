"""Who is served where while it is being planned: how many of each group, by leaf."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.plan.demand import Demand
from covey.plan.filters import Filters
from covey.plan.kernels.climb import State
from covey.plan.kernels.refit import Groups, Network, refitted
from covey.plan.problem import Problem
from covey.plan.states import empty_state, filters_of, state_of

__all__ = [
    "by_kind",
    "counted",
    "fitted_filters",
    "fitted_state",
    "groups_of",
    "leaf_of",
    "network_of",
]


def counted(
    leaves: NDArray[np.int64], count: int, demand: Demand, weights: NDArray[np.int64] | None = None
) -> NDArray[np.int32]:
    """How many of each group each of so many leaves serves, from the leaf of each subscriber."""
    served = np.zeros((count, len(demand.counts)), np.int32)
    np.add.at(served, (leaves, demand.group_of), 1 if weights is None else weights)
    return served


def leaf_of(served: NDArray[np.int32], demand: Demand) -> NDArray[np.int32]:
    """A leaf for each subscriber, as many of each group at each leaf as it serves."""
    by_group = np.argsort(demand.group_of, kind="stable")
    groups, leaves = np.nonzero(served.T)
    found = np.empty(len(by_group), np.int32)
    found[by_group] = np.repeat(leaves, served.T[groups, leaves])
    return found


def network_of(problem: Problem, demand: Demand) -> Network:
    """The tree as compiled loops take it."""
    tree = problem.tree
    inner = [b for b in tree.bottom_up.tolist() if (tree.parents == b).any()]
    children = [np.flatnonzero(tree.parents == broker) for broker in inner]
    starts = np.cumsum([0, *map(len, children)])
    flat = np.concatenate([np.empty(0, np.int64), *children]).astype(np.int64)
    return Network(np.array(inner, np.int64), flat, starts.astype(np.int64), _related(demand))


def _related(demand: Demand) -> NDArray[np.int64]:
    """For each leaf the others, by how many subscribers both could serve."""
    sets = demand.sets.astype(np.float64)
    common = (sets * demand.set_counts[:, None]).T @ sets
    np.fill_diagonal(common, -1.0)
    return np.argsort(-common, axis=1, kind="stable")[:, :-1].astype(np.int64)


def by_kind(served: NDArray[np.int32], demand: Demand) -> NDArray[np.int64]:
    """How many of each kind of box each leaf serves."""
    found = np.zeros((len(served), len(demand.kinds)), np.int64)
    for leaf, row in enumerate(served):
        found[leaf] = np.bincount(demand.kind_of, row, minlength=len(demand.kinds))
    return found


def groups_of(demand: Demand) -> Groups:
    """The groups as compiled loops take them."""
    return Groups(demand.kinds, demand.sets, demand.kind_of, demand.set_of)


def fitted_filters(problem: Problem, leaves: NDArray[np.int64], filters: Filters) -> Filters:
    """Filters of a plan shrunk to what is served, where a fit is better, by the leaf of each."""
    demand = Demand.of(problem, filters=filters)
    state = state_of(filters, problem.alpha, demand)
    served = counted(leaves, len(problem.tree.leaves), demand)
    _refit(problem, demand, served, state)
    return filters_of(state, demand)


def fitted_state(problem: Problem, demand: Demand, served: NDArray[np.int32]) -> State:
    """Filters for what each leaf serves, and for the brokers above."""
    state = empty_state(problem)
    state.volumes[:] = np.inf
    _refit(problem, demand, served, state)
    return state


def _refit(problem: Problem, demand: Demand, served: NDArray[np.int32], state: State) -> None:
    scratch = np.empty((5, problem.alpha + 1, demand.kinds.shape[1]), np.int32)
    refitted(
        by_kind(served, demand), np.ones(len(served), np.bool_), state, groups_of(demand),
        problem.tree.paths, network_of(problem, demand), demand.measure, 0, scratch,
    )  # fmt: skip
