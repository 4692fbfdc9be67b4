"""Which leaf a box costs least at: asked again and again, so costs are kept while they hold."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from covey.compiled import kernel
from covey.plan.kernels.climb import State, added
from covey.plan.kernels.unions import Measure, covers

__all__ = ["Costs", "Leaves", "cheapest", "new_costs", "outdated"]

Bools = NDArray[np.bool_]
Boxes = NDArray[np.int32]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Costs(NamedTuple):
    """`costs[kind, leaf]` as it was when `versions[leaf]` was `known[kind, leaf]`.

    No version is given twice: `latest[0]` is the last of all, so versions can be put back together
    with the filters that they were of.
    """

    costs: Floats
    known: Ints
    versions: Ints
    latest: Ints


class Leaves(NamedTuple):
    """Of each leaf: its way up the tree, its fair share, how many it may serve, and does."""

    paths: Ints
    shares: Floats
    most: Ints
    loads: Ints


@kernel
def new_costs(kinds: int, leaves: int) -> Costs:
    """Nothing is known."""
    known = np.full((kinds, leaves), -1, np.int64)
    versions, latest = np.zeros(leaves, np.int64), np.zeros(1, np.int64)
    return Costs(np.zeros((kinds, leaves)), known, versions, latest)


@kernel
def outdated(paths: Ints, path: Ints, widened: int, costs: Costs) -> None:
    """Forgets costs at each leaf that is below one of the first brokers of a path."""
    costs.latest[0] += 1
    for leaf in range(len(paths)):
        is_below = False
        for level in range(paths.shape[1]):
            for changed in range(widened):
                is_below |= path[changed] >= 0 and paths[leaf, level] == path[changed]
        if is_below:
            costs.versions[leaf] = costs.latest[0]


@kernel
def cheapest(
    kind: int, kinds: Boxes, allowed: Bools, leaves: Leaves, with_room: bool, state: State,
    measure: Measure, costs: Costs, scratch: Boxes,
) -> int:  # fmt: skip
    """The leaf, of those allowed, whose filters a kind of box widens least; -1 if there is none.

    Ties go to the leaf with the least load for its share. `with_room`: only those that have some.
    """
    best, is_free = -1, False
    for leaf in range(len(allowed)):
        if not allowed[leaf] or (with_room and leaves.loads[leaf] >= leaves.most[leaf]):
            continue
        if costs.known[kind, leaf] != costs.versions[leaf]:
            broker = leaves.paths[leaf, 0]
            if not covers(state.filters[broker], state.counts[broker], kinds[kind], scratch[3]):
                continue
            costs.known[kind, leaf], costs.costs[kind, leaf] = costs.versions[leaf], 0.0
        if costs.costs[kind, leaf] == 0.0 and (not is_free or _has_less(leaf, best, leaves)):
            best, is_free = leaf, True
    if is_free:
        return best
    for leaf in range(len(allowed)):
        if not allowed[leaf] or (with_room and leaves.loads[leaf] >= leaves.most[leaf]):
            continue
        if costs.known[kind, leaf] != costs.versions[leaf]:
            costs.costs[kind, leaf], _ = added(
                leaves.paths[leaf], kinds[kind], state, measure, False, scratch
            )
            costs.known[kind, leaf] = costs.versions[leaf]
        if best < 0:
            best = leaf
            continue
        cost, least = costs.costs[kind, leaf], costs.costs[kind, best]
        is_equal = abs(cost - least) <= 1e-9 * (abs(cost) + abs(least))
        if (is_equal and _has_less(leaf, best, leaves)) or (not is_equal and cost < least):
            best = leaf
    return best


@kernel
def _has_less(leaf: int, other: int, leaves: Leaves) -> bool:
    """Whether a leaf has less load for its share than another."""
    loads, shares = leaves.loads, leaves.shares
    has_less: bool = loads[leaf] * shares[other] < loads[other] * shares[leaf]
    return has_less
