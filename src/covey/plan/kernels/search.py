"""Large neighbourhoods: empty a few brokers that can stand in for each other, and fill them anew.

A step takes some brokers, of any level, drops all of what is served below them or what only one of
their rectangles was for, assigns it again greedily in a random manner, fits the filters that
changed, and is undone if the whole became worse than allowed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.compiled import kernel
from covey.plan.kernels.choose import Leaves, new_costs, outdated
from covey.plan.kernels.climb import State
from covey.plan.kernels.refill import Served, emptied, refilled, undone
from covey.plan.kernels.refit import Groups, Network, refitted
from covey.plan.kernels.unions import Measure, mass

__all__ = ["searched"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_RELATED = 24  # leaves that share most subscribers with one, of which others are emptied with it


@kernel
def searched(
    served: Served, leaves: Leaves, state: State, groups: Groups, network: Network,
    measure: Measure, steps: int, widest: int, slack: float, slack_end: float, most_gone: int,
    seed: int,
) -> int:  # fmt: skip
    """So many steps; gives how many were kept. What is served, loads and filters change.

    A step may make the whole worse by `slack`, which falls to `slack_end`; it empties up to
    `widest` brokers. At most `most_gone` of those that leaves served at first go elsewhere.
    """
    np.random.seed(seed)
    costs = new_costs(len(groups.kinds), len(leaves.paths))
    sizes = np.empty(len(groups.kinds))
    for kind in range(len(sizes)):
        sizes[kind] = mass(groups.kinds[kind], measure)
    choices = groups.sets.sum(axis=1)
    scratch = np.empty((5, state.filters.shape[1] + 1, groups.kinds.shape[1]), np.int32)
    total, kept = state.volumes.sum(), 0
    for step in range(steps):
        allowed = total * (1 + slack + (slack_end - slack) * step / steps)
        before = costs.versions.copy()
        filters, counts, volumes = state.filters.copy(), state.counts.copy(), state.volumes.copy()
        chosen = _chosen(state, leaves.paths, network, 1 + np.random.randint(widest))
        log = emptied(chosen, served, leaves, state, groups, network, measure, scratch)
        is_touched = _is_below(chosen, leaves.paths)
        for leaf in np.flatnonzero(is_touched):
            path = leaves.paths[leaf]
            outdated(leaves.paths, path, len(path), costs)
        order = _order(np.array([group for _, group, _ in log]), groups, sizes, choices)
        is_kept = refilled(
            order, log, served, leaves, state, groups, measure, costs, 1.05 * allowed, is_touched,
            scratch,
        )  # fmt: skip
        if is_kept:
            refitted(
                served.kinds, is_touched, state, groups, leaves.paths, network, measure, step,
                scratch,
            )  # fmt: skip
            is_kept = state.volumes.sum() <= allowed and served.gone[0] <= most_gone
        if is_kept:
            costs.latest[0] += 1
            costs.versions[costs.versions != before] = costs.latest[0]
            total = state.volumes.sum()
            kept += 1
            continue
        undone(log, served, leaves, groups)
        costs.versions[:] = before
        state.filters[:], state.counts[:], state.volumes[:] = filters, counts, volumes
    return kept


@kernel
def _chosen(state: State, paths: Ints, network: Network, count: int) -> Ints:
    """A broker, most likely one with much bandwidth, and some of its level that are related."""
    ends = np.cumsum(state.volumes)
    drawn = int(np.searchsorted(ends, np.random.random() * ends[-1]))
    chosen = np.full(count, -1, np.int64)
    chosen[0], found = min(len(ends) - 1, drawn), 1
    below, levels = np.nonzero(paths == chosen[0])
    one = np.random.randint(len(below)) if len(below) > 1 else 0
    near = min(_RELATED, network.related.shape[1])
    for _ in range(count - 1 if near else 0):
        leaf = network.related[below[one], np.random.randint(near)]
        other = paths[leaf, levels[one]]
        if other >= 0 and not (chosen[:found] == other).any():
            chosen[found] = other
            found += 1
    return chosen[:found]


@kernel
def _is_below(chosen: Ints, paths: Ints) -> Bools:
    """Which leaves some brokers are on the way to, themselves included."""
    is_below = np.zeros(len(paths), np.bool_)
    for leaf in range(len(paths)):
        for broker in chosen:
            is_below[leaf] |= (paths[leaf] == broker).any()
    return is_below


@kernel
def _order(given: Ints, groups: Groups, sizes: Floats, choices: Ints) -> Ints:
    """Groups in one of four random manners: few choices first, large boxes first, or anyhow."""
    some = np.unique(given)
    manner, largest = np.random.randint(4), 1e-300 + sizes.max()
    keys = np.empty(len(some))
    for i in range(len(some)):
        size, few = sizes[groups.kind_of[some[i]]], choices[groups.set_of[some[i]]]
        if manner == 0:
            keys[i] = few - size / largest
        elif manner == 1:
            keys[i] = -size * (0.5 + np.random.random())
        elif manner == 2:
            keys[i] = np.random.random()
        else:
            keys[i] = few * (0.2 + np.random.random())
    return some[np.argsort(keys)]
