"""Large neighbourhoods: empty a few brokers that can stand in for each other, and fill them anew.

A step takes some leaves, drops all of what they serve or what only one of their rectangles was for,
assigns it again greedily in a random manner, fits the filters that changed, and is undone if the
whole became worse than allowed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from covey.compiled import kernel
from covey.plan.kernels.climb import State, added, count_versions
from covey.plan.kernels.fit import fitted, maximal
from covey.plan.kernels.unions import Measure, covers, mass, union

__all__ = ["Groups", "Network", "refitted", "searched"]

Bools = NDArray[np.bool_]
Boxes = NDArray[np.int32]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Numbers = NDArray[np.int32]

_RELATED = 24  # leaves that share most subscribers with one, of which others are emptied with it
_PORTIONS = 20  # of a leaf's room, in which a large group is divided among leaves


class Groups(NamedTuple):
    """Subscribers who are alike; see `covey.plan.demand.Demand`."""

    kinds: Boxes
    sets: Bools
    kind_of: Numbers
    set_of: Numbers


class Network(NamedTuple):
    """Ways up from leaves; brokers that others are below, each before its parent, and these others.

    `related` has for each leaf the others, those first that could serve most of the same.
    """

    paths: Ints
    inner: Ints
    children: Ints
    child_starts: Ints
    related: Ints
    shares: Floats


@kernel
def searched(
    served: Numbers, by_kind: Ints, loads: Ints, most: Ints, state: State, groups: Groups,
    network: Network, measure: Measure, steps: int, widest: int, slack: float, slack_end: float,
    seed: int,
) -> int:  # fmt: skip
    """So many steps; gives how many were kept. All of the first arguments but `most` change.

    `served` is how many of each group each leaf serves, `by_kind` the same by the box they want.

    A step may make the whole worse by `slack`, which falls to `slack_end`; it empties up to
    `widest` leaves.
    """
    np.random.seed(seed)
    leaves, kept = len(loads), 0
    costs = np.zeros((leaves, len(groups.kinds)))
    known = np.full((leaves, len(groups.kinds)), -1, np.int64)
    versions = np.zeros(leaves, np.int64)
    sizes = np.empty(len(groups.kinds))
    for kind in range(len(sizes)):
        sizes[kind] = mass(groups.kinds[kind], measure)
    choices = groups.sets.sum(axis=1)
    waiting = np.zeros(served.shape[1], np.int64)
    scratch = np.empty((5, state.filters.shape[1] + 1, groups.kinds.shape[1]), np.int32)
    total = state.volumes.sum()
    for step in range(steps):
        allowed = total * (1 + slack + (slack_end - slack) * step / steps)
        before = versions.copy()
        filters, counts, volumes = state.filters.copy(), state.counts.copy(), state.volumes.copy()
        loads_before = loads.copy()
        emptied = _chosen(state, network, 1 + np.random.randint(widest))
        log_leaf, log_group, log_count = _emptied(
            emptied, served, by_kind, loads, state, groups, network, measure, waiting, scratch
        )
        is_touched = np.zeros(leaves, np.bool_)
        for leaf in emptied:
            is_touched[leaf] = True
            count_versions(network.paths, network.paths[leaf], network.paths.shape[1], versions)
        order = _order(np.unique(log_group), groups, sizes, choices)
        is_kept = True
        more_leaf, more_group, more_count = [0][:0], [0][:0], [0][:0]
        for group in order:
            if not is_kept:
                break
            while waiting[group]:
                leaf = _cheapest(
                    group, groups, loads, most, network, state, measure, costs, known, versions,
                    scratch,
                )  # fmt: skip
                if leaf < 0:
                    is_kept = False
                    break
                portion = max(1, most[leaf] // _PORTIONS)
                count = min(waiting[group], most[leaf] - loads[leaf], portion)
                served[leaf, group] += count
                by_kind[leaf, groups.kind_of[group]] += count
                loads[leaf] += count
                waiting[group] -= count
                more_leaf.append(leaf)
                more_group.append(group)
                more_count.append(count)
                _, widened = added(
                    network.paths[leaf], groups.kinds[groups.kind_of[group]], state, measure,
                    True, scratch,
                )  # fmt: skip
                if widened:
                    is_touched[leaf] = True
                    count_versions(network.paths, network.paths[leaf], widened, versions)
                    if state.volumes.sum() > 1.05 * allowed:
                        is_kept = False
                        break
        if is_kept:
            refitted(by_kind, is_touched, state, groups, network, measure, step, scratch)
            versions[versions != before] += 1
            is_kept = state.volumes.sum() <= allowed
        if is_kept:
            total = state.volumes.sum()
            kept += 1
            continue
        for i in range(len(more_leaf)):
            served[more_leaf[i], more_group[i]] -= more_count[i]
            by_kind[more_leaf[i], groups.kind_of[more_group[i]]] -= more_count[i]
        for i in range(len(log_leaf)):
            served[log_leaf[i], log_group[i]] += log_count[i]
            by_kind[log_leaf[i], groups.kind_of[log_group[i]]] += log_count[i]
        waiting[:] = 0
        loads[:] = loads_before
        state.filters[:], state.counts[:], state.volumes[:] = filters, counts, volumes
        versions[versions != before] += 1
    return kept


@kernel
def _chosen(state: State, network: Network, count: int) -> Ints:
    """A leaf, most likely one with much bandwidth, and some that are related to it."""
    leaves = len(network.paths)
    ends = np.empty(leaves)
    total = 0.0
    for leaf in range(leaves):
        total += state.volumes[network.paths[leaf, 0]]
        ends[leaf] = total
    first = min(leaves - 1, int(np.searchsorted(ends, np.random.random() * total)))
    chosen = np.full(count, -1, np.int64)
    chosen[0], found = first, 1
    for _ in range(count - 1):
        near = min(_RELATED, network.related.shape[1])
        if near == 0:
            break
        other = network.related[first, np.random.randint(near)]
        if not (chosen[:found] == other).any():
            chosen[found] = other
            found += 1
    return chosen[:found]


@kernel
def _emptied(
    emptied: Ints, served: Numbers, by_kind: Ints, loads: Ints, state: State, groups: Groups,
    network: Network, measure: Measure, waiting: Ints, scratch: Boxes,
) -> tuple[Ints, Ints, Ints]:  # fmt: skip
    """Takes subscribers from leaves, all or those of one rectangle; gives whose and how many."""
    kind_of_step = np.random.randint(3)
    leaf_of, group_of, count_of = [0][:0], [0][:0], [0][:0]
    common = scratch[3, 0]
    for leaf in emptied:
        broker = network.paths[leaf, 0]
        count = state.counts[broker]
        left = 0
        if kind_of_step and count > 1:
            dropped = np.random.randint(count)
            state.filters[broker, dropped] = state.filters[broker, count - 1]
            left = count - 1
        state.counts[broker] = left
        state.volumes[broker] = union(state.filters[broker], left, measure, common)
        for group in range(served.shape[1]):
            some = served[leaf, group]
            if some == 0:
                continue
            if left and covers(
                state.filters[broker], left, groups.kinds[groups.kind_of[group]], common
            ):
                continue
            served[leaf, group] = 0
            by_kind[leaf, groups.kind_of[group]] -= some
            loads[leaf] -= some
            waiting[group] += some
            leaf_of.append(leaf)
            group_of.append(group)
            count_of.append(some)
    is_changed = np.zeros(len(state.counts), np.bool_)
    for leaf in emptied:
        is_changed[network.paths[leaf, 0]] = True
    _fit_inner(is_changed, False, state, network, measure, 0, scratch)
    return np.array(leaf_of), np.array(group_of), np.array(count_of)


@kernel
def _order(some: Ints, groups: Groups, sizes: Floats, choices: Ints) -> Ints:
    """Groups in one of four random manners: few choices first, large boxes first, or anyhow."""
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


@kernel
def _cheapest(
    group: int, groups: Groups, loads: Ints, most: Ints, network: Network, state: State,
    measure: Measure, costs: Floats, known: Ints, versions: Ints, scratch: Boxes,
) -> int:  # fmt: skip
    """The leaf with room for a group whose filters it widens least; -1 if none has room."""
    kind, best = groups.kind_of[group], -1
    for leaf in range(len(loads)):
        if not groups.sets[groups.set_of[group], leaf] or loads[leaf] >= most[leaf]:
            continue
        if known[leaf, kind] != versions[leaf]:
            costs[leaf, kind], _ = added(
                network.paths[leaf], groups.kinds[kind], state, measure, False, scratch
            )
            known[leaf, kind] = versions[leaf]
        if best < 0:
            best = leaf
            continue
        cost, least = costs[leaf, kind], costs[best, kind]
        equal = abs(cost - least) <= 1e-9 * (abs(cost) + abs(least))
        if (equal and loads[leaf] * network.shares[best] < loads[best] * network.shares[leaf]) or (
            not equal and cost < least
        ):
            best = leaf
    return best


@kernel
def refitted(
    by_kind: Ints, is_touched: Bools, state: State, groups: Groups, network: Network,
    measure: Measure, seed: int, scratch: Boxes,
) -> None:  # fmt: skip
    """Better filters, where they are found, for some leaves and for the brokers above them."""
    is_changed = np.zeros(len(state.counts), np.bool_)
    out = np.empty(state.filters.shape[1:], np.int32)
    for leaf in np.flatnonzero(is_touched):
        chosen = np.flatnonzero(by_kind[leaf])
        count = maximal(groups.kinds, chosen, len(chosen))
        broker = network.paths[leaf, 0]
        limit = state.volumes[broker] * (1 - 1e-12)
        found, volume = fitted(
            groups.kinds, chosen, count, measure, limit, seed + leaf, out, scratch
        )
        is_changed[broker] = True
        if volume < limit:
            state.filters[broker, :found] = out[:found]
            state.counts[broker], state.volumes[broker] = found, volume
    _fit_inner(is_changed, True, state, network, measure, seed, scratch)


@kernel
def _fit_inner(
    is_changed: Bools, is_better: bool, state: State, network: Network, measure: Measure,
    seed: int, scratch: Boxes,
) -> None:  # fmt: skip
    """Filters above those that changed, fitted to them; with `is_better`, if that is less."""
    width = state.filters.shape[2]
    for place in range(len(network.inner)):
        broker = network.inner[place]
        below = network.children[network.child_starts[place] : network.child_starts[place + 1]]
        if not is_changed[below].any():
            continue
        is_changed[broker] = True
        boxes = np.empty((len(below) * state.filters.shape[1], width), np.int32)
        count = 0
        for child in below:
            for i in range(state.counts[child]):
                boxes[count] = state.filters[child, i]
                count += 1
        chosen = np.arange(count)
        count = maximal(boxes, chosen, count)
        out = np.empty(state.filters.shape[1:], np.int32)
        limit = state.volumes[broker] * (1 - 1e-12) if is_better else np.inf
        found, volume = fitted(boxes, chosen, count, measure, limit, seed, out, scratch)
        if volume < limit:
            state.filters[broker, :found] = out[:found]
            state.counts[broker], state.volumes[broker] = found, volume
