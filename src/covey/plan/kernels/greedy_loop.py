"""Subscribers assigned one by one, each where it widens filters least. (papers: assignment)"""

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
    """The leaf of each subscriber, and for how many there was no room.

    Subscriber s wants box `kinds[kind_of[s]]` and may be served by `sets[set_of[s]]`. Ties go to
    the leaf with the least load for its share. If `is_offline`, those with fewest leaves to choose
    from come first, counted anew whenever a leaf is full. One for whom there is no room goes where
    it costs least. Loads of `leaves` and filters of `state` start as they are, and change.
    """
    count, choices = len(order), leaf_sets.sum(axis=1)
    leaf_of = np.full(count, -1, np.int32)
    paths = leaves.paths
    choices -= leaf_sets[:, leaves.loads >= leaves.capacities].sum(axis=1)
    left = order.copy()
    costs = make_cost_cache(len(box_classes), len(paths))
    scratch = np.empty((5, state.filters.shape[1] + 1, box_classes.shape[1]), np.int32)
    without, start, is_to_sort = 0, 0, is_offline
    while start < len(left):
        if is_to_sort:
            left = _sort_by_choices(left[start:], leaf_set_of_subscriber, choices, len(paths))
            start, is_to_sort = 0, False
        one = left[start]
        start += 1
        kind, allowed = class_of_subscriber[one], leaf_sets[leaf_set_of_subscriber[one]]
        best = find_cheapest_leaf(
            kind, box_classes, allowed, leaves, True, state, measure, costs, scratch
        )
        if best < 0:
            without += 1
            best = find_cheapest_leaf(
                kind, box_classes, allowed, leaves, False, state, measure, costs, scratch
            )
        leaf_of[one] = best
        leaves.loads[best] += 1
        _, widened = widen_path(paths[best], box_classes[kind], state, measure, True, scratch)
        if widened:
            invalidate_costs(paths, paths[best], widened, costs)
        if leaves.loads[best] == leaves.capacities[best]:
            choices -= leaf_sets[:, best]
            is_to_sort = is_offline
    return leaf_of, without


@kernel
def _sort_by_choices(
    remaining: Ints, leaf_set_of_subscriber: NDArray[np.int32], choices: Ints, leaf_count: int
) -> Ints:
    """Subscribers by how many leaves they can choose from, in their order where that is equal."""
    starts = np.zeros(leaf_count + 2, np.int64)
    for one in remaining:
        starts[choices[leaf_set_of_subscriber[one]] + 1] += 1
    starts = np.cumsum(starts)
    found = np.empty_like(remaining)
    for one in remaining:
        place = choices[leaf_set_of_subscriber[one]]
        found[starts[place]] = one
        starts[place] += 1
    return found
