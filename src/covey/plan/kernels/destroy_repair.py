"""Brokers emptied and leaves filled again, with a record of it, so that it can be undone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from covey._jit import kernel
from covey.plan.kernels.box_unions import BandwidthMeasure, covers_box, measure_union
from covey.plan.kernels.filter_refit import GroupArrays, TreeArrays, fit_inner_brokers
from covey.plan.kernels.leaf_costs import (
    CostCache,
    LeafArrays,
    find_cheapest_leaf,
    invalidate_costs,
)
from covey.plan.kernels.path_widening import FilterState, widen_path

__all__ = ["AssignmentState", "destroy", "repair", "rollback"]

Bools = NDArray[np.bool_]
Boxes = NDArray[np.int32]
Ints = NDArray[np.int64]
Numbers = NDArray[np.int32]
MoveLog = list[tuple[int, int, int]]  # leaf, group, and how many more of it the leaf serves

_PORTIONS_PER_LEAF = 20  # of a leaf's room, in which a large group is divided among leaves


class AssignmentState(NamedTuple):
    """How many of each group, and of each kind, each leaf serves; how many of each group wait.

    `before`, if it is not empty, is how many of each group each leaf served at first, and `gone[0]`
    how many of these it does not any more.
    """

    by_group: Numbers
    by_class: Ints
    unassigned_by_group: Ints
    original_by_group: Numbers
    moved_count: Ints


@kernel
def _move_subscribers(
    leaf: int,
    group: int,
    count: int,
    assignment: AssignmentState,
    leaves: LeafArrays,
    groups: GroupArrays,
) -> None:
    """So many of those who wait go to a leaf, or with a number below 0 come from it."""
    if len(assignment.original_by_group):
        stays = assignment.original_by_group[leaf, group] - assignment.by_group[leaf, group]
        assignment.moved_count[0] += max(0, stays - count) - max(0, stays)
    assignment.by_group[leaf, group] += count
    assignment.by_class[leaf, groups.class_of_group[group]] += count
    leaves.loads[leaf] += count
    assignment.unassigned_by_group[group] -= count


@kernel
def rollback(
    log: MoveLog, assignment: AssignmentState, leaves: LeafArrays, groups: GroupArrays
) -> None:
    """Who is served where, as it was before what is in a log; filters are left as they are."""
    for leaf, group, count in log:
        _move_subscribers(leaf, group, -count, assignment, leaves, groups)


@kernel
def destroy(
    chosen_brokers: Ints,
    assignment: AssignmentState,
    leaves: LeafArrays,
    state: FilterState,
    groups: GroupArrays,
    tree: TreeArrays,
    measure: BandwidthMeasure,
    scratch: Boxes,
) -> MoveLog:
    """Takes all or one of their rectangles from brokers, and whom it was for; gives the log.

    What is below a broker keeps what the broker still has.
    """
    with_all = np.random.randint(3) == 0
    log = [(0, 0, 0)][:0]
    is_changed = np.zeros(len(state.box_counts), np.bool_)
    for broker in chosen_brokers:
        count, left = state.box_counts[broker], 0
        if not with_all and count > 1:
            state.filters[broker, np.random.randint(count)] = state.filters[broker, count - 1]
            left = count - 1
        _truncate_filter(broker, left, state, measure, is_changed, scratch)
    for leaf in range(len(leaves.paths)):
        path = leaves.paths[leaf]
        for level in range(len(path) - 2, -1, -1):
            if path[level + 1] >= 0 and is_changed[path[level + 1]]:
                left = _keep_nested_rectangles(path[level], path[level + 1], state, scratch)
                _truncate_filter(path[level], left, state, measure, is_changed, scratch)
        if not is_changed[path[0]]:
            continue
        filters, left = state.filters[path[0]], state.box_counts[path[0]]
        for group in range(assignment.by_group.shape[1]):
            some = assignment.by_group[leaf, group]
            if some == 0:
                continue
            box = groups.box_classes[groups.class_of_group[group]]
            if not covers_box(filters, left, box, scratch[3]):
                _move_subscribers(leaf, group, -some, assignment, leaves, groups)
                log.append((leaf, group, -some))
    fit_inner_brokers(is_changed, state, tree, measure, 0, scratch)
    return log


@kernel
def _keep_nested_rectangles(broker: int, parent: int, state: FilterState, scratch: Boxes) -> int:
    """Puts those rectangles of a broker first that another still covers; gives how many."""
    kept = 0
    for i in range(state.box_counts[broker]):
        box = state.filters[broker, i]
        if covers_box(state.filters[parent], state.box_counts[parent], box, scratch[3]):
            state.filters[broker, kept] = box
            kept += 1
    return kept


@kernel
def _truncate_filter(
    broker: int,
    kept_boxes: int,
    state: FilterState,
    measure: BandwidthMeasure,
    is_changed: Bools,
    scratch: Boxes,
) -> None:
    """Leaves a broker the first of its rectangles."""
    is_changed[broker] = True
    state.box_counts[broker] = kept_boxes
    state.bandwidths[broker] = measure_union(state.filters[broker], kept_boxes, measure, scratch[3])


@kernel
def repair(
    group_order: Ints,
    log: MoveLog,
    assignment: AssignmentState,
    leaves: LeafArrays,
    state: FilterState,
    groups: GroupArrays,
    measure: BandwidthMeasure,
    costs: CostCache,
    limit: float,
    is_touched: Bools,
    scratch: Boxes,
) -> bool:
    """Serves the groups that wait, in this order, where it costs least, and notes it in the log.

    False, and it stops, if there is no room or the bandwidth exceeds a limit. `is_touched` becomes
    true of leaves whose filters are widened.
    """
    if len(assignment.original_by_group):
        _return_to_original_leaves(log, assignment, leaves, state, groups, scratch)
    for group in group_order:
        kind = groups.class_of_group[group]
        while assignment.unassigned_by_group[group]:
            leaf = find_cheapest_leaf(
                kind,
                groups.box_classes,
                groups.leaf_sets[groups.leaf_set_of_group[group]],
                leaves,
                True,
                state,
                measure,
                costs,
                scratch,
            )
            if leaf < 0:
                return False
            portion, room = (
                leaves.capacities[leaf] // _PORTIONS_PER_LEAF,
                leaves.capacities[leaf] - leaves.loads[leaf],
            )
            count = min(assignment.unassigned_by_group[group], room, max(1, portion))
            _move_subscribers(leaf, group, count, assignment, leaves, groups)
            log.append((leaf, group, count))
            path = leaves.paths[leaf]
            _, widened = widen_path(path, groups.box_classes[kind], state, measure, True, scratch)
            if widened:
                is_touched[leaf] = True
                invalidate_costs(leaves.paths, path, widened, costs)
                if state.bandwidths.sum() > limit:
                    return False
    return True


@kernel
def _return_to_original_leaves(
    log: MoveLog,
    assignment: AssignmentState,
    leaves: LeafArrays,
    state: FilterState,
    groups: GroupArrays,
    scratch: Boxes,
) -> None:
    """Serves those where they were whose leaf still has what they want."""
    for number in range(len(log)):
        leaf, group, count = log[number]
        broker = leaves.paths[leaf, 0]
        back = min(
            -count, assignment.original_by_group[leaf, group] - assignment.by_group[leaf, group]
        )
        box = groups.box_classes[groups.class_of_group[group]]
        if back > 0 and covers_box(
            state.filters[broker], state.box_counts[broker], box, scratch[3]
        ):
            _move_subscribers(leaf, group, back, assignment, leaves, groups)
            log.append((leaf, group, back))
