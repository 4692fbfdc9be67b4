"""Greedy assignment: each subscriber in turn is assigned to the leaf at which filters widen least.

(papers: assignment)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey._jit import kernel
from covey.plan.kernels.box_unions import BandwidthMeasure
from covey.plan.kernels.leaf_costs import (
    LeafArrays,
    find_cheapest_leaf,
    invalidate_costs,
    make_cost_cache,
)
from covey.plan.kernels.path_widening import FilterState, widen_path

__all__ = ["assign_greedily"]

Bools = NDArray[np.bool_]
Boxes = NDArray[np.int32]
Ints = NDArray[np.int64]


@kernel
def assign_greedily(
    box_classes: Boxes,
    leaf_sets: Bools,
    class_of_subscriber: NDArray[np.int32],
    leaf_set_of_subscriber: NDArray[np.int32],
    order: Ints,
    is_offline: bool,
    leaves: LeafArrays,
    state: FilterState,
    measure: BandwidthMeasure,
) -> tuple[NDArray[np.int32], int]:
    """Assign each subscriber to the allowed leaf with capacity at which filters widen least.

    Of leaves with equal costs, the one with the smallest load relative to its fair share is chosen.
    If no allowed leaf has capacity, the full ones are considered.

    Args:
        box_classes: the distinct boxes, in cells.
        leaf_sets: the distinct sets of allowed leaves: a row for each set, a column for each leaf.
        class_of_subscriber: the box class of each subscriber.
        leaf_set_of_subscriber: the leaf set of each subscriber.
        order: the order in which subscribers are assigned.
        is_offline: assign subscribers with the fewest allowed leaves first; whenever a leaf becomes
            full, the remaining subscribers are sorted again.
        leaves: the leaves; their loads are changed in place.
        state: the filters; changed in place.
        measure: the bandwidth of boxes.

    Returns:
        The leaf of each subscriber, and how many subscribers are assigned beyond capacity.
    """
    count, choices = len(order), leaf_sets.sum(axis=1)
    leaf_of = np.full(count, -1, np.int32)
    paths = leaves.paths
    choices -= leaf_sets[:, leaves.loads >= leaves.capacities].sum(axis=1)
    remaining = order.copy()
    costs = make_cost_cache(len(box_classes), len(paths))
    scratch = np.empty((5, state.filters.shape[1] + 1, box_classes.shape[1]), np.int32)
    unassigned_count, start, is_to_sort = 0, 0, is_offline
    while start < len(remaining):
        if is_to_sort:
            remaining = _sort_by_choices(
                remaining[start:], leaf_set_of_subscriber, choices, len(paths)
            )
            start, is_to_sort = 0, False
        subscriber = remaining[start]
        start += 1
        box_class = class_of_subscriber[subscriber]
        allowed = leaf_sets[leaf_set_of_subscriber[subscriber]]
        best = find_cheapest_leaf(
            box_class, box_classes, allowed, leaves, True, state, measure, costs, scratch
        )
        if best < 0:
            unassigned_count += 1
            best = find_cheapest_leaf(
                box_class, box_classes, allowed, leaves, False, state, measure, costs, scratch
            )
        leaf_of[subscriber] = best
        leaves.loads[best] += 1
        _, widened = widen_path(paths[best], box_classes[box_class], state, measure, True, scratch)
        if widened:
            invalidate_costs(paths, paths[best], widened, costs)
        if leaves.loads[best] == leaves.capacities[best]:
            choices -= leaf_sets[:, best]
            is_to_sort = is_offline
    return leaf_of, unassigned_count


@kernel
def _sort_by_choices(
    remaining: Ints, leaf_set_of_subscriber: NDArray[np.int32], choices: Ints, leaf_count: int
) -> Ints:
    """Return the remaining subscribers, those with the fewest choices first.

    `choices` contains the number of leaves with capacity in each leaf set; it is at most
    `leaf_count`. Subscribers with equally many choices keep their order.
    """
    starts = np.zeros(leaf_count + 2, np.int64)
    for subscriber in remaining:
        starts[choices[leaf_set_of_subscriber[subscriber]] + 1] += 1
    starts = np.cumsum(starts)
    sorted_subscribers = np.empty_like(remaining)
    for subscriber in remaining:
        choice_count = choices[leaf_set_of_subscriber[subscriber]]
        sorted_subscribers[starts[choice_count]] = subscriber
        starts[choice_count] += 1
    return sorted_subscribers
