"""Large neighbourhood search: unassign subscribers of a few brokers, and assign them again.

A step chooses some brokers of one level, removes rectangles of their filters, unassigns the
subscribers whose boxes are no longer covered, assigns them again greedily in a random order, and
fits the filters that changed. If the bandwidth is then larger than allowed, the step is rolled
back.
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

_MAX_RELATED_LEAVES = 24  # a step draws its other brokers from the paths of this many leaves


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
    """Run steps of the search; return how many were not rolled back.

    Args:
        assignment: the number of subscribers of each group that each leaf serves; changed in
            place.
        leaves: the leaves; their loads are changed in place.
        state: the filters; changed in place.
        groups: the groups of subscribers.
        tree: the broker tree.
        measure: the bandwidth of boxes.
        steps: the number of steps.
        max_destroyed: largest number of brokers from which one step removes rectangles.
        slack_start: the share by which the first step may increase the bandwidth.
        slack_end: the value that this share reaches after the last step; it changes linearly.
        max_moved: largest number of subscribers that may be moved from their original leaves; used
            only if `assignment` has original leaves.
        seed: the seed of all random choices.
    """
    np.random.seed(seed)
    costs = make_cost_cache(len(groups.box_classes), len(leaves.paths))
    sizes = np.empty(len(groups.box_classes))
    for box_class in range(len(sizes)):
        sizes[box_class] = measure_box(groups.box_classes[box_class], measure)
    choices = groups.leaf_sets.sum(axis=1)
    scratch = np.empty((5, state.filters.shape[1] + 1, groups.box_classes.shape[1]), np.int32)
    total, kept_steps = state.bandwidths.sum(), 0
    for step in range(steps):
        allowed = total * (1 + slack_start + (slack_end - slack_start) * step / steps)
        stamps_before = costs.leaf_stamps.copy()
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
        is_accepted = repair(
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
        if is_accepted:
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
            is_accepted = (
                state.bandwidths.sum() <= allowed and assignment.moved_count[0] <= max_moved
            )
        if is_accepted:
            costs.last_stamp[0] += 1
            costs.leaf_stamps[costs.leaf_stamps != stamps_before] = costs.last_stamp[0]
            total = state.bandwidths.sum()
            kept_steps += 1
            continue
        rollback(log, assignment, leaves, groups)
        costs.leaf_stamps[:] = stamps_before
        state.filters[:], state.box_counts[:], state.bandwidths[:] = filters, counts, volumes
    return kept_steps


@kernel
def _choose_brokers(state: FilterState, paths: Ints, tree: TreeArrays, max_brokers: int) -> Ints:
    """Return a random broker and up to `max_brokers` - 1 related brokers of the same level.

    The first broker is drawn with a probability proportional to its bandwidth. A broker is related
    if leaves below it may serve many of the subscribers that leaves below the first one may serve.
    Levels are counted from the leaves.
    """
    ends = np.cumsum(state.bandwidths)
    drawn = int(np.searchsorted(ends, np.random.random() * ends[-1]))
    chosen = np.full(max_brokers, -1, np.int64)
    chosen[0], chosen_count = min(len(ends) - 1, drawn), 1
    below, levels = np.nonzero(paths == chosen[0])
    position = np.random.randint(len(below)) if len(below) > 1 else 0
    related_count = min(_MAX_RELATED_LEAVES, tree.related_leaves.shape[1])
    for _ in range(max_brokers - 1 if related_count else 0):
        leaf = tree.related_leaves[below[position], np.random.randint(related_count)]
        other = paths[leaf, levels[position]]
        if other >= 0 and not (chosen[:chosen_count] == other).any():
            chosen[chosen_count] = other
            chosen_count += 1
    return chosen[:chosen_count]


@kernel
def _find_leaves_below(brokers: Ints, paths: Ints) -> Bools:
    """Return whether each leaf is one of these brokers or below one of them."""
    is_below = np.zeros(len(paths), np.bool_)
    for leaf in range(len(paths)):
        for broker in brokers:
            is_below[leaf] |= (paths[leaf] == broker).any()
    return is_below


@kernel
def _order_groups(
    unassigned_groups: Ints, groups: GroupArrays, sizes: Floats, choices: Ints
) -> Ints:
    """Return the distinct unassigned groups, in one of four orders, which is drawn at random.

    The orders are: by the number of leaves that may serve the group, and then by falling size of
    its box; by falling size, with noise; fully random; by the number of leaves, with noise.

    Args:
        unassigned_groups: the groups to sort, with repetitions.
        groups: the groups of subscribers.
        sizes: the measure of each box class.
        choices: the number of leaves in each leaf set.
    """
    distinct_groups = np.unique(unassigned_groups)
    manner, largest = np.random.randint(4), 1e-300 + sizes.max()
    keys = np.empty(len(distinct_groups))
    for i in range(len(distinct_groups)):
        size, choice_count = (
            sizes[groups.class_of_group[distinct_groups[i]]],
            choices[groups.leaf_set_of_group[distinct_groups[i]]],
        )
        if manner == 0:
            keys[i] = choice_count - size / largest
        elif manner == 1:
            keys[i] = -size * (0.5 + np.random.random())
        elif manner == 2:
            keys[i] = np.random.random()
        else:
            keys[i] = choice_count * (0.2 + np.random.random())
    return distinct_groups[np.argsort(keys)]
