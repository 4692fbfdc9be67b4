"""Assignments as counts: the number of subscribers of each group that each leaf serves."""

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
    """Return the number of subscribers of each group that each leaf serves.

    Args:
        leaf_of: the leaf of each subscriber, as an index into the leaves of the tree.
        leaf_count: the number of leaves.
        demand: the groups.
        weights: the number of subscribers that each row represents; by default 1.

    Returns:
        One row for each leaf and one column for each group.
    """
    group_counts = np.zeros((leaf_count, len(demand.group_sizes)), np.int32)
    np.add.at(
        group_counts, (leaf_of, demand.group_of_subscriber), 1 if weights is None else weights
    )
    return group_counts


def expand_to_subscribers(
    group_counts: NDArray[np.int32], demand: DemandGroups
) -> NDArray[np.int32]:
    """Return a leaf for each subscriber, such that leaf l serves `group_counts[l, g]` of group g.

    A leaf is an index into the leaves of the tree. Within a group, the first subscribers, in row
    order, are assigned to the first leaf.
    """
    by_group = np.argsort(demand.group_of_subscriber, kind="stable")
    groups, leaves = np.nonzero(group_counts.T)
    leaf_of = np.empty(len(by_group), np.int32)
    leaf_of[by_group] = np.repeat(leaves, group_counts.T[groups, leaves])
    return leaf_of


def to_tree_arrays(problem: Problem, demand: DemandGroups) -> TreeArrays:
    """Return the broker tree as arrays for kernels."""
    tree = problem.tree
    inner = [b for b in tree.bottom_up.tolist() if (tree.parents == b).any()]
    children = [np.flatnonzero(tree.parents == broker) for broker in inner]
    starts = np.cumsum([0, *map(len, children)])
    flat = np.concatenate([np.empty(0, np.int64), *children]).astype(np.int64)
    return TreeArrays(
        np.array(inner, np.int64), flat, starts.astype(np.int64), _rank_related_leaves(demand)
    )


def _rank_related_leaves(demand: DemandGroups) -> NDArray[np.int64]:
    """Return for each leaf (row) the other leaves, the most closely related ones first.

    Leaves are sorted by the number of subscribers that both the leaf of the row and they may serve.
    """
    sets = demand.leaf_sets.astype(np.float64)
    common = (sets * demand.subscribers_by_leaf_set[:, None]).T @ sets
    np.fill_diagonal(common, -1.0)
    return np.argsort(-common, axis=1, kind="stable")[:, :-1].astype(np.int64)


def count_by_box_class(group_counts: NDArray[np.int32], demand: DemandGroups) -> NDArray[np.int64]:
    """Return the number of subscribers of each box class (column) that each leaf (row) serves."""
    class_counts = np.zeros((len(group_counts), len(demand.box_classes)), np.int64)
    for leaf, row in enumerate(group_counts):
        class_counts[leaf] = np.bincount(
            demand.class_of_group, row, minlength=len(demand.box_classes)
        )
    return class_counts


def to_group_arrays(demand: DemandGroups) -> GroupArrays:
    """Return the groups as arrays for kernels."""
    return GroupArrays(
        demand.box_classes, demand.leaf_sets, demand.class_of_group, demand.leaf_set_of_group
    )


def fit_filters(
    problem: Problem, leaf_of: NDArray[np.int64], filters: BrokerFilters
) -> BrokerFilters:
    """Return filters that are fitted to the subscribers of each leaf.

    A filter is replaced if the fitted one has less bandwidth. The filter of an inner broker is also
    replaced if it does not cover the filters below it.

    Args:
        problem: the subscribers and the tree.
        leaf_of: the leaf of each subscriber, as an index into the leaves of the tree.
        filters: the filters to start from; each leaf's filter covers the boxes of its subscribers.
    """
    demand = DemandGroups.from_problem(problem, filters=filters)
    state = to_filter_state(filters, problem.max_rectangles, demand)
    served = count_by_leaf(leaf_of, len(problem.tree.leaves), demand)
    _refit_state(problem, demand, served, state)
    return to_filters(state, demand)


def fit_filter_state(
    problem: Problem, demand: DemandGroups, group_counts: NDArray[np.int32]
) -> FilterState:
    """Return filters for the leaves, fitted to their subscribers, and for the brokers above them.

    `group_counts` contains the number of subscribers of each group (column) that each leaf (row)
    serves.
    """
    state = make_empty_state(problem)
    state.bandwidths[:] = np.inf
    _refit_state(problem, demand, group_counts, state)
    return state


def _refit_state(
    problem: Problem, demand: DemandGroups, group_counts: NDArray[np.int32], state: FilterState
) -> None:
    """Fit the filters of all leaves and of the brokers above them; `state` is changed in place."""
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
