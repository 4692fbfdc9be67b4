"""Large neighbourhoods: empty a few brokers that can stand in for each other, and fill them anew.

A step takes some brokers, of any level, drops all of what is served below them or what only one of
their rectangles was for, assigns it again greedily in a random manner, fits the filters that
changed, and is undone if the whole became worse than allowed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey._jit import kernel
from covey.plan.kernels.box_unions import BandwidthMeasure, measure_box
from covey.plan.kernels.destroy_repair import AssignmentState, destroy, repair, rollback
from covey.plan.kernels.filter_refit import GroupArrays, TreeArrays, refit_filters
from covey.plan.kernels.leaf_costs import LeafArrays, invalidate_costs, make_cost_cache
from covey.plan.kernels.path_widening import FilterState

__all__ = ["run_lns"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_MAX_RELATED_LEAVES = (
    24  # leaves that share most subscribers with one, of which others are emptied with it
)


@kernel
def run_lns(
    assignment: AssignmentState,
    leaves: LeafArrays,
    state: FilterState,
    groups: GroupArrays,
    tree: TreeArrays,
    measure: BandwidthMeasure,
    steps: int,
    max_destroyed: int,
    slack_start: float,
    slack_end: float,
    max_moved: int,
    seed: int,
) -> int:
    """So many steps; gives how many were kept. What is served, loads and filters change.

    A step may make the whole worse by `slack`, which falls to `slack_end`; it empties up to
    `widest` brokers. At most `max_moved` of those that leaves served at first go elsewhere.
    """
    np.random.seed(seed)
    costs = make_cost_cache(len(groups.box_classes), len(leaves.paths))
    sizes = np.empty(len(groups.box_classes))
    for kind in range(len(sizes)):
        sizes[kind] = measure_box(groups.box_classes[kind], measure)
    choices = groups.leaf_sets.sum(axis=1)
    scratch = np.empty((5, state.filters.shape[1] + 1, groups.box_classes.shape[1]), np.int32)
    total, kept = state.bandwidths.sum(), 0
    for step in range(steps):
        allowed = total * (1 + slack_start + (slack_end - slack_start) * step / steps)
        before = costs.leaf_stamps.copy()
        filters, counts, volumes = (
            state.filters.copy(),
            state.box_counts.copy(),
            state.bandwidths.copy(),
        )
        chosen = _choose_brokers(state, leaves.paths, tree, 1 + np.random.randint(max_destroyed))
        log = destroy(chosen, assignment, leaves, state, groups, tree, measure, scratch)
        is_touched = _find_leaves_below(chosen, leaves.paths)
        for leaf in np.flatnonzero(is_touched):
            path = leaves.paths[leaf]
            invalidate_costs(leaves.paths, path, len(path), costs)
        order = _order_groups(np.array([group for _, group, _ in log]), groups, sizes, choices)
        is_kept = repair(
            order,
            log,
            assignment,
            leaves,
            state,
            groups,
            measure,
            costs,
            1.05 * allowed,
            is_touched,
            scratch,
        )
        if is_kept:
            refit_filters(
                assignment.by_class,
                is_touched,
                state,
                groups,
                leaves.paths,
                tree,
                measure,
                step,
                scratch,
            )
            is_kept = state.bandwidths.sum() <= allowed and assignment.moved_count[0] <= max_moved
        if is_kept:
            costs.last_stamp[0] += 1
            costs.leaf_stamps[costs.leaf_stamps != before] = costs.last_stamp[0]
            total = state.bandwidths.sum()
            kept += 1
            continue
        rollback(log, assignment, leaves, groups)
        costs.leaf_stamps[:] = before
        state.filters[:], state.box_counts[:], state.bandwidths[:] = filters, counts, volumes
    return kept


@kernel
def _choose_brokers(state: FilterState, paths: Ints, tree: TreeArrays, max_brokers: int) -> Ints:
    """A broker, most likely one with much bandwidth, and some of its level that are related."""
    ends = np.cumsum(state.bandwidths)
    drawn = int(np.searchsorted(ends, np.random.random() * ends[-1]))
    chosen = np.full(max_brokers, -1, np.int64)
    chosen[0], found = min(len(ends) - 1, drawn), 1
    below, levels = np.nonzero(paths == chosen[0])
    one = np.random.randint(len(below)) if len(below) > 1 else 0
    near = min(_MAX_RELATED_LEAVES, tree.related_leaves.shape[1])
    for _ in range(max_brokers - 1 if near else 0):
        leaf = tree.related_leaves[below[one], np.random.randint(near)]
        other = paths[leaf, levels[one]]
        if other >= 0 and not (chosen[:found] == other).any():
            chosen[found] = other
            found += 1
    return chosen[:found]


@kernel
def _find_leaves_below(brokers: Ints, paths: Ints) -> Bools:
    """Which leaves some brokers are on the way to, themselves included."""
    is_below = np.zeros(len(paths), np.bool_)
    for leaf in range(len(paths)):
        for broker in brokers:
            is_below[leaf] |= (paths[leaf] == broker).any()
    return is_below


@kernel
def _order_groups(
    unassigned_groups: Ints, groups: GroupArrays, sizes: Floats, choices: Ints
) -> Ints:
    """Groups in one of four random manners: few choices first, large boxes first, or anyhow."""
    some = np.unique(unassigned_groups)
    manner, largest = np.random.randint(4), 1e-300 + sizes.max()
    keys = np.empty(len(some))
    for i in range(len(some)):
        size, few = (
            sizes[groups.class_of_group[some[i]]],
            choices[groups.leaf_set_of_group[some[i]]],
        )
        if manner == 0:
            keys[i] = few - size / largest
        elif manner == 1:
            keys[i] = -size * (0.5 + np.random.random())
        elif manner == 2:
            keys[i] = np.random.random()
        else:
            keys[i] = few * (0.2 + np.random.random())
    return some[np.argsort(keys)]
