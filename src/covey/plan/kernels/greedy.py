"""Subscribers assigned one by one, each where it widens filters least. (papers: assignment)"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.compiled import kernel
from covey.plan.kernels.choose import Leaves, cheapest, new_costs, outdated
from covey.plan.kernels.climb import State, added
from covey.plan.kernels.unions import Measure

__all__ = ["assigned"]

Bools = NDArray[np.bool_]
Boxes = NDArray[np.int32]
Ints = NDArray[np.int64]


@kernel
def assigned(
    kinds: Boxes, sets: Bools, kind_of: NDArray[np.int32], set_of: NDArray[np.int32], order: Ints,
    is_offline: bool, leaves: Leaves, state: State, measure: Measure,
) -> tuple[NDArray[np.int32], int]:  # fmt: skip
    """The leaf of each subscriber, and for how many there was no room.

    Subscriber s wants box `kinds[kind_of[s]]` and may be served by `sets[set_of[s]]`. Ties go to
    the leaf with the least load for its share. If `is_offline`, those with fewest leaves to choose
    from come first, counted anew whenever a leaf is full. One for whom there is no room goes where
    it costs least. Loads of `leaves` and filters of `state` start as they are, and change.
    """
    count, choices = len(order), sets.sum(axis=1)
    leaf_of = np.full(count, -1, np.int32)
    paths = leaves.paths
    choices -= sets[:, leaves.loads >= leaves.most].sum(axis=1)
    left = order.copy()
    costs = new_costs(len(kinds), len(paths))
    scratch = np.empty((5, state.filters.shape[1] + 1, kinds.shape[1]), np.int32)
    without, start, is_to_sort = 0, 0, is_offline
    while start < len(left):
        if is_to_sort:
            left = _by_choices(left[start:], set_of, choices, len(paths))
            start, is_to_sort = 0, False
        one = left[start]
        start += 1
        kind, allowed = kind_of[one], sets[set_of[one]]
        best = cheapest(kind, kinds, allowed, leaves, True, state, measure, costs, scratch)
        if best < 0:
            without += 1
            best = cheapest(kind, kinds, allowed, leaves, False, state, measure, costs, scratch)
        leaf_of[one] = best
        leaves.loads[best] += 1
        _, widened = added(paths[best], kinds[kind], state, measure, True, scratch)
        if widened:
            outdated(paths, paths[best], widened, costs)
        if leaves.loads[best] == leaves.most[best]:
            choices -= sets[:, best]
            is_to_sort = is_offline
    return leaf_of, without


@kernel
def _by_choices(left: Ints, set_of: NDArray[np.int32], choices: Ints, leaves: int) -> Ints:
    """Subscribers by how many leaves they can choose from, in their order where that is equal."""
    starts = np.zeros(leaves + 2, np.int64)
    for one in left:
        starts[choices[set_of[one]] + 1] += 1
    starts = np.cumsum(starts)
    found = np.empty_like(left)
    for one in left:
        place = choices[set_of[one]]
        found[starts[place]] = one
        starts[place] += 1
    return found
