"""Which leaf a box costs least at: asked again and again, so costs are kept while they hold."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from covey._jit import kernel
from covey.plan.kernels.box_unions import BandwidthMeasure, covers_box
from covey.plan.kernels.path_widening import FilterState, widen_path

__all__ = ["CostCache", "LeafArrays", "find_cheapest_leaf", "invalidate_costs", "make_cost_cache"]

Bools = NDArray[np.bool_]
Boxes = NDArray[np.int32]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class CostCache(NamedTuple):
    """`costs[kind, leaf]` as it was when `versions[leaf]` was `known[kind, leaf]`.

    No version is given twice: `latest[0]` is the last of all, so versions can be put back together
    with the filters that they were of.
    """

    costs: Floats
    cost_stamps: Ints
    leaf_stamps: Ints
    last_stamp: Ints


class LeafArrays(NamedTuple):
    """Of each leaf: its way up the tree, its fair share, how many it may serve, and does."""

    paths: Ints
    fair_shares: Floats
    capacities: Ints
    loads: Ints


@kernel
def make_cost_cache(class_count: int, leaf_count: int) -> CostCache:
    """Nothing is known."""
    known = np.full((class_count, leaf_count), -1, np.int64)
    versions, latest = np.zeros(leaf_count, np.int64), np.zeros(1, np.int64)
    return CostCache(np.zeros((class_count, leaf_count)), known, versions, latest)


@kernel
def invalidate_costs(paths: Ints, path: Ints, widened_levels: int, costs: CostCache) -> None:
    """Forgets costs at each leaf that is below one of the first brokers of a path."""
    costs.last_stamp[0] += 1
    for leaf in range(len(paths)):
        is_below = False
        for level in range(paths.shape[1]):
            for changed in range(widened_levels):
                is_below |= path[changed] >= 0 and paths[leaf, level] == path[changed]
        if is_below:
            costs.leaf_stamps[leaf] = costs.last_stamp[0]


@kernel
def find_cheapest_leaf(
    box_class: int,
    box_classes: Boxes,
    allowed_leaves: Bools,
    leaves: LeafArrays,
    only_with_room: bool,
    state: FilterState,
    measure: BandwidthMeasure,
    costs: CostCache,
    scratch: Boxes,
) -> int:
    """The leaf, of those allowed, whose filters a kind of box widens least; -1 if there is none.

    Ties go to the leaf with the least load for its share. `make_room_for_unassigned`: only those
    that have some.
    """
    best, is_free = -1, False
    for leaf in range(len(allowed_leaves)):
        if not allowed_leaves[leaf] or (
            only_with_room and leaves.loads[leaf] >= leaves.capacities[leaf]
        ):
            continue
        if costs.cost_stamps[box_class, leaf] != costs.leaf_stamps[leaf]:
            broker = leaves.paths[leaf, 0]
            if not covers_box(
                state.filters[broker], state.box_counts[broker], box_classes[box_class], scratch[3]
            ):
                continue
            costs.cost_stamps[box_class, leaf], costs.costs[box_class, leaf] = (
                costs.leaf_stamps[leaf],
                0.0,
            )
        if costs.costs[box_class, leaf] == 0.0 and (
            not is_free or _is_less_loaded(leaf, best, leaves)
        ):
            best, is_free = leaf, True
    if is_free:
        return best
    for leaf in range(len(allowed_leaves)):
        if not allowed_leaves[leaf] or (
            only_with_room and leaves.loads[leaf] >= leaves.capacities[leaf]
        ):
            continue
        if costs.cost_stamps[box_class, leaf] != costs.leaf_stamps[leaf]:
            costs.costs[box_class, leaf], _ = widen_path(
                leaves.paths[leaf], box_classes[box_class], state, measure, False, scratch
            )
            costs.cost_stamps[box_class, leaf] = costs.leaf_stamps[leaf]
        if best < 0:
            best = leaf
            continue
        cost, least = costs.costs[box_class, leaf], costs.costs[box_class, best]
        is_equal = abs(cost - least) <= 1e-9 * (abs(cost) + abs(least))
        if (is_equal and _is_less_loaded(leaf, best, leaves)) or (not is_equal and cost < least):
            best = leaf
    return best


@kernel
def _is_less_loaded(leaf: int, other: int, leaves: LeafArrays) -> bool:
    """Whether a leaf has less load for its share than another."""
    loads, shares = leaves.loads, leaves.fair_shares
    has_less: bool = loads[leaf] * shares[other] < loads[other] * shares[leaf]
    return has_less
