"""Destroy, repair and rollback: unassign subscribers, assign them again, undo all of these moves.

Every move is recorded in a log, so that a step can be rolled back.
"""

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
MoveLog = list[tuple[int, int, int]]  # leaf, group, number of subscribers (< 0: unassigned)

_PORTIONS_PER_LEAF = 20  # a portion of a group has at most 1/20 of a leaf's capacity, or 1


class AssignmentState(NamedTuple):
    """Assignment as counts, with the subscribers that are not assigned at the moment.

    Args:
        by_group: number of subscribers of each group (column) that each leaf (row) serves.
        by_class: number of subscribers of each box class (column) that each leaf (row) serves.
        unassigned_by_group: number of subscribers of each group that have no leaf.
        original_by_group: `by_group` before a replan; it has no rows if moves are not limited.
        moved_count: an array with one number: how many subscribers of `original_by_group` are not
            at their original leaf.
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
    """Assign `count` subscribers of a group to a leaf; a negative count unassigns them from it."""
    if len(assignment.original_by_group):
        missing = assignment.original_by_group[leaf, group] - assignment.by_group[leaf, group]
        assignment.moved_count[0] += max(0, missing - count) - max(0, missing)
    assignment.by_group[leaf, group] += count
    assignment.by_class[leaf, groups.class_of_group[group]] += count
    leaves.loads[leaf] += count
    assignment.unassigned_by_group[group] -= count


@kernel
def rollback(
    log: MoveLog, assignment: AssignmentState, leaves: LeafArrays, groups: GroupArrays
) -> None:
    """Undo the moves of a log in `assignment` and in the loads of `leaves`, but not in filters."""
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
    """Remove rectangles of brokers, and unassign subscribers whose box is no longer covered.

    In a third of the calls, drawn at random, every chosen broker loses all its rectangles; in the
    other calls, every one loses a single random rectangle. A broker below a changed one loses the
    rectangles that its parent's filter does not cover any more. A subscriber stays assigned if the
    filter of its leaf still covers its box. Finally, the filters of all brokers above changed ones
    are fitted again. `assignment`, the loads of `leaves`, and `state` are changed in place.

    Returns:
        The log of the moves.
    """
    with_all = np.random.randint(3) == 0
    log = [(0, 0, 0)][:0]
    is_changed = np.zeros(len(state.box_counts), np.bool_)
    for broker in chosen_brokers:
        count, kept_boxes = state.box_counts[broker], 0
        if not with_all and count > 1:
            state.filters[broker, np.random.randint(count)] = state.filters[broker, count - 1]
            kept_boxes = count - 1
        _truncate_filter(broker, kept_boxes, state, measure, is_changed, scratch)
    for leaf in range(len(leaves.paths)):
        path = leaves.paths[leaf]
        for level in range(len(path) - 2, -1, -1):
            if path[level + 1] >= 0 and is_changed[path[level + 1]]:
                kept_boxes = _keep_nested_rectangles(path[level], path[level + 1], state, scratch)
                _truncate_filter(path[level], kept_boxes, state, measure, is_changed, scratch)
        if not is_changed[path[0]]:
            continue
        filters, kept_boxes = state.filters[path[0]], state.box_counts[path[0]]
        for group in range(assignment.by_group.shape[1]):
            served_count = assignment.by_group[leaf, group]
            if served_count == 0:
                continue
            box = groups.box_classes[groups.class_of_group[group]]
            if not covers_box(filters, kept_boxes, box, scratch[3]):
                _move_subscribers(leaf, group, -served_count, assignment, leaves, groups)
                log.append((leaf, group, -served_count))
    fit_inner_brokers(is_changed, state, tree, measure, 0, scratch)
    return log


@kernel
def _keep_nested_rectangles(broker: int, parent: int, state: FilterState, scratch: Boxes) -> int:
    """Move the rectangles of a broker that its parent's filter covers to the front of its filter.

    Return the number of these rectangles.
    """
    nested_count = 0
    for i in range(state.box_counts[broker]):
        box = state.filters[broker, i]
        if covers_box(state.filters[parent], state.box_counts[parent], box, scratch[3]):
            state.filters[broker, nested_count] = box
            nested_count += 1
    return nested_count


@kernel
def _truncate_filter(
    broker: int,
    kept_boxes: int,
    state: FilterState,
    measure: BandwidthMeasure,
    is_changed: Bools,
    scratch: Boxes,
) -> None:
    """Reduce the filter of a broker to its first `kept_boxes` rectangles, and measure it again."""
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
    """Assign the unassigned groups, each to the leaf with capacity at which filters widen least.

    In a replan, subscribers are first returned to their original leaf if its filter covers their
    box. Groups are assigned in the order of `group_order`. A large group is assigned in portions,
    which may go to different leaves. `assignment`, the loads of `leaves`, `state` and `costs` are
    changed in place; moves are appended to the log, and `is_touched` becomes True for leaves whose
    filters are widened.

    Returns:
        True if all groups are assigned. False as soon as no leaf with capacity may serve a group,
        or the bandwidth of all brokers exceeds `limit`; the remaining groups are then unassigned.
    """
    if len(assignment.original_by_group):
        _return_to_original_leaves(log, assignment, leaves, state, groups, scratch)
    for group in group_order:
        box_class = groups.class_of_group[group]
        while assignment.unassigned_by_group[group]:
            leaf = find_cheapest_leaf(
                box_class,
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
            portion, free_capacity = (
                leaves.capacities[leaf] // _PORTIONS_PER_LEAF,
                leaves.capacities[leaf] - leaves.loads[leaf],
            )
            count = min(assignment.unassigned_by_group[group], free_capacity, max(1, portion))
            _move_subscribers(leaf, group, count, assignment, leaves, groups)
            log.append((leaf, group, count))
            path = leaves.paths[leaf]
            _, widened = widen_path(
                path, groups.box_classes[box_class], state, measure, True, scratch
            )
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
    """Assign subscribers of a log to their original leaf again, if its filter covers their box.

    Moves are appended to the log.
    """
    for number in range(len(log)):
        leaf, group, count = log[number]
        broker = leaves.paths[leaf, 0]
        returning_count = min(
            -count, assignment.original_by_group[leaf, group] - assignment.by_group[leaf, group]
        )
        box = groups.box_classes[groups.class_of_group[group]]
        if returning_count > 0 and covers_box(
            state.filters[broker], state.box_counts[broker], box, scratch[3]
        ):
            _move_subscribers(leaf, group, returning_count, assignment, leaves, groups)
            log.append((leaf, group, returning_count))
