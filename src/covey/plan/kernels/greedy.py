"""Subscribers assigned one by one, each where it widens filters least. (papers: assignment)"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.compiled import kernel
from covey.plan.kernels.climb import State, added, count_versions
from covey.plan.kernels.unions import Measure

__all__ = ["assigned"]

Bools = NDArray[np.bool_]
Boxes = NDArray[np.int32]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@kernel
def assigned(
    kinds: Boxes, sets: Bools, kind_of: NDArray[np.int32], set_of: NDArray[np.int32], order: Ints,
    is_offline: bool, most: Ints, shares: Floats, paths: Ints, state: State, measure: Measure,
) -> tuple[NDArray[np.int32], Ints, int]:  # fmt: skip
    """The leaf of each subscriber, how many each leaf has, and for how many there was no room.

    Subscriber s wants box `kinds[kind_of[s]]` and may be served by `sets[set_of[s]]`. Ties go to
    the leaf with the least load for its share. If `is_offline`, those with fewest leaves to choose
    from come first, counted anew whenever a leaf is full. One for whom there is no room goes where
    it costs least. Filters start as they are in `state`, and change.
    """
    leaves, count = sets.shape[1], len(order)
    leaf_of = np.full(count, -1, np.int32)
    loads = np.zeros(leaves, np.int64)
    left = order.copy()
    choices = sets.sum(axis=1)
    is_full = most <= 0
    costs = np.zeros((leaves, len(kinds)))
    known, version = np.full((leaves, len(kinds)), -1, np.int64), np.zeros(leaves, np.int64)
    scratch = np.empty((5, state.filters.shape[1] + 1, kinds.shape[1]), np.int32)
    without, start, is_to_sort = 0, 0, is_offline
    while start < len(left):
        if is_to_sort:
            left = _by_choices(left[start:], set_of, choices, leaves)
            start, is_to_sort = 0, False
        one = left[start]
        start += 1
        kind, allowed = kind_of[one], sets[set_of[one]]
        best = -1
        for is_open in (True, False):
            for leaf in range(leaves):
                if not allowed[leaf] or (is_open and is_full[leaf]):
                    continue
                if known[leaf, kind] != version[leaf]:
                    costs[leaf, kind], _ = added(
                        paths[leaf], kinds[kind], state, measure, False, scratch
                    )
                    known[leaf, kind] = version[leaf]
                if best < 0 or _is_better(leaf, best, kind, costs, loads, shares):
                    best = leaf
            if best >= 0:
                without += not is_open
                break
        leaf_of[one] = best
        loads[best] += 1
        _, widened = added(paths[best], kinds[kind], state, measure, True, scratch)
        if widened:
            count_versions(paths, paths[best], widened, version)
        if loads[best] == most[best]:
            is_full[best] = True
            choices -= sets[:, best]
            is_to_sort = is_offline
    return leaf_of, loads, without


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


@kernel
def _is_better(leaf: int, best: int, kind: int, costs: Floats, loads: Ints, shares: Floats) -> bool:
    """Whether a leaf costs less than another, or as much and has less load."""
    slack = 1e-9 * (abs(costs[leaf, kind]) + abs(costs[best, kind]))
    if costs[leaf, kind] < costs[best, kind] - slack:
        return True
    if costs[leaf, kind] > costs[best, kind] + slack:
        return False
    is_better: bool = loads[leaf] * shares[best] < loads[best] * shares[leaf]
    return is_better
