"""Search for the leaf at which a box widens filters least, with a cache of costs.

The cost of a box at a leaf is the bandwidth that it adds to the filters from the leaf up to the top
level. The same costs are needed many times, so they are cached until one of these filters changes.
"""

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
    """Costs of box classes at leaves, with stamps that say which costs are current.

    `costs[box_class, leaf]` is current if `cost_stamps[box_class, leaf] == leaf_stamps[leaf]`. No
    stamp is used twice: `last_stamp[0]` is the largest so far. A rollback of filters can therefore
    restore `leaf_stamps` as they were, and the costs of that time are current again.
    """

    costs: Floats
    cost_stamps: Ints
    leaf_stamps: Ints
    last_stamp: Ints


class LeafArrays(NamedTuple):
    """Leaves for kernels: path up the tree, fair share, capacity and load of each leaf.

    A row of `paths` contains the brokers from the leaf up to the top level, padded with -1. A load
    is a number of subscribers.
    """

    paths: Ints
    fair_shares: Floats
    capacities: Ints
    loads: Ints


@kernel
def make_cost_cache(class_count: int, leaf_count: int) -> CostCache:
    """Return an empty cost cache in which every cost is out of date."""
    cost_stamps = np.full((class_count, leaf_count), -1, np.int64)
    leaf_stamps, last_stamp = np.zeros(leaf_count, np.int64), np.zeros(1, np.int64)
    return CostCache(np.zeros((class_count, leaf_count)), cost_stamps, leaf_stamps, last_stamp)


@kernel
def invalidate_costs(paths: Ints, path: Ints, widened_levels: int, costs: CostCache) -> None:
    """Mark costs as out of date: those of all leaves that have a changed broker on their path.

    Args:
        paths: the path of each leaf.
        path: brokers from a leaf up to the top level.
        widened_levels: how many of the first brokers in `path` have changed filters.
        costs: the cache; changed in place.
    """
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
    """Return the allowed leaf at which a box widens filters least; -1 if there is no such leaf.

    The box is row `box_class` of `box_classes`. Of leaves with equal costs, the one with the
    smallest load relative to its fair share is returned. With `only_with_room`, full leaves are
    skipped. Costs that are computed are stored in `costs`.
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
    """Return whether a leaf has a smaller load relative to its fair share than another one."""
    loads, shares = leaves.loads, leaves.fair_shares
    has_less: bool = loads[leaf] * shares[other] < loads[other] * shares[leaf]
    return has_less
