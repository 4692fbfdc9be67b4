"""Who is served where while it is being planned: how many of each group, by leaf."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.plan.groups.demand_groups import DemandGroups
from covey.plan.groups.filter_state import make_empty_state, to_filter_state, to_filters
from covey.plan.kernels.filter_refit import GroupArrays, TreeArrays, refit_filters
from covey.plan.kernels.path_widening import FilterState
from covey.plan.model.filters import BrokerFilters
from covey.plan.model.problem import Problem

__all__ = [
    "count_by_box_class",
    "count_by_leaf",
    "expand_to_subscribers",
    "fit_filter_state",
    "fit_filters",
    "to_group_arrays",
    "to_tree_arrays",
]


def count_by_leaf(
    leaf_of: NDArray[np.int64],
    leaf_count: int,
    demand: DemandGroups,
    *,
    weights: NDArray[np.int64] | None = None,
) -> NDArray[np.int32]:
    """How many of each group each of so many leaves serves, from the leaf of each subscriber."""
    served = np.zeros((leaf_count, len(demand.group_sizes)), np.int32)
    np.add.at(served, (leaf_of, demand.group_of_subscriber), 1 if weights is None else weights)
    return served


def expand_to_subscribers(
    group_counts: NDArray[np.int32], demand: DemandGroups
) -> NDArray[np.int32]:
    """A leaf for each subscriber, as many of each group at each leaf as it serves."""
    by_group = np.argsort(demand.group_of_subscriber, kind="stable")
    groups, leaves = np.nonzero(group_counts.T)
    found = np.empty(len(by_group), np.int32)
    found[by_group] = np.repeat(leaves, group_counts.T[groups, leaves])
    return found


def to_tree_arrays(problem: Problem, demand: DemandGroups) -> TreeArrays:
    """The tree as compiled loops take it."""
    tree = problem.tree
    inner = [b for b in tree.bottom_up.tolist() if (tree.parents == b).any()]
    children = [np.flatnonzero(tree.parents == broker) for broker in inner]
    starts = np.cumsum([0, *map(len, children)])
    flat = np.concatenate([np.empty(0, np.int64), *children]).astype(np.int64)
    return TreeArrays(
        np.array(inner, np.int64), flat, starts.astype(np.int64), _rank_related_leaves(demand)
    )


def _rank_related_leaves(demand: DemandGroups) -> NDArray[np.int64]:
    """For each leaf the others, by how many subscribers both could serve."""
    sets = demand.leaf_sets.astype(np.float64)
    common = (sets * demand.subscribers_by_leaf_set[:, None]).T @ sets
    np.fill_diagonal(common, -1.0)
    return np.argsort(-common, axis=1, kind="stable")[:, :-1].astype(np.int64)


def count_by_box_class(group_counts: NDArray[np.int32], demand: DemandGroups) -> NDArray[np.int64]:
    """How many of each kind of box each leaf serves."""
    found = np.zeros((len(group_counts), len(demand.box_classes)), np.int64)
    for leaf, row in enumerate(group_counts):
        found[leaf] = np.bincount(demand.class_of_group, row, minlength=len(demand.box_classes))
    return found


def to_group_arrays(demand: DemandGroups) -> GroupArrays:
    """The groups as compiled loops take them."""
    return GroupArrays(
        demand.box_classes, demand.leaf_sets, demand.class_of_group, demand.leaf_set_of_group
    )


def fit_filters(
    problem: Problem, leaf_of: NDArray[np.int64], filters: BrokerFilters
) -> BrokerFilters:
    """Filters of a plan shrunk to what is served, where a fit is better, by the leaf of each."""
    demand = DemandGroups.from_problem(problem, filters=filters)
    state = to_filter_state(filters, problem.max_rectangles, demand)
    served = count_by_leaf(leaf_of, len(problem.tree.leaves), demand)
    _refit_state(problem, demand, served, state)
    return to_filters(state, demand)


def fit_filter_state(
    problem: Problem, demand: DemandGroups, group_counts: NDArray[np.int32]
) -> FilterState:
    """Filters for what each leaf serves, and for the brokers above."""
    state = make_empty_state(problem)
    state.bandwidths[:] = np.inf
    _refit_state(problem, demand, group_counts, state)
    return state


def _refit_state(
    problem: Problem, demand: DemandGroups, group_counts: NDArray[np.int32], state: FilterState
) -> None:
    scratch = np.empty((5, problem.max_rectangles + 1, demand.box_classes.shape[1]), np.int32)
    refit_filters(
        count_by_box_class(group_counts, demand),
        np.ones(len(group_counts), np.bool_),
        state,
        to_group_arrays(demand),
        problem.tree.leaf_paths,
        to_tree_arrays(problem, demand),
        demand.measure,
        0,
        scratch,
    )
