"""Brokers emptied and leaves filled again, with a record of it, so that it can be undone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from covey.compiled import kernel
from covey.plan.kernels.choose import Costs, Leaves, cheapest, outdated
from covey.plan.kernels.climb import State, added
from covey.plan.kernels.refit import Groups, Network, fit_inner
from covey.plan.kernels.unions import Measure, covers, union

__all__ = ["Served", "emptied", "refilled", "undone"]

Bools = NDArray[np.bool_]
Boxes = NDArray[np.int32]
Ints = NDArray[np.int64]
Numbers = NDArray[np.int32]
Log = list[tuple[int, int, int]]  # leaf, group, and how many more of it the leaf serves

_PORTIONS = 20  # of a leaf's room, in which a large group is divided among leaves


class Served(NamedTuple):
    """How many of each group, and of each kind, each leaf serves; how many of each group wait.

    `before`, if it is not empty, is how many of each group each leaf served at first, and `gone[0]`
    how many of these it does not any more.
    """

    groups: Numbers
    kinds: Ints
    waiting: Ints
    before: Numbers
    gone: Ints


@kernel
def _moved(
    leaf: int, group: int, count: int, served: Served, leaves: Leaves, groups: Groups
) -> None:
    """So many of those who wait go to a leaf, or with a number below 0 come from it."""
    if len(served.before):
        stays = served.before[leaf, group] - served.groups[leaf, group]
        served.gone[0] += max(0, stays - count) - max(0, stays)
    served.groups[leaf, group] += count
    served.kinds[leaf, groups.kind_of[group]] += count
    leaves.loads[leaf] += count
    served.waiting[group] -= count


@kernel
def undone(log: Log, served: Served, leaves: Leaves, groups: Groups) -> None:
    """Who is served where, as it was before what is in a log; filters are left as they are."""
    for leaf, group, count in log:
        _moved(leaf, group, -count, served, leaves, groups)


@kernel
def emptied(
    chosen: Ints, served: Served, leaves: Leaves, state: State, groups: Groups, network: Network,
    measure: Measure, scratch: Boxes,
) -> Log:  # fmt: skip
    """Takes all or one of their rectangles from brokers, and whom it was for; gives the log.

    What is below a broker keeps what the broker still has.
    """
    with_all = np.random.randint(3) == 0
    log = [(0, 0, 0)][:0]
    is_changed = np.zeros(len(state.counts), np.bool_)
    for broker in chosen:
        count, left = state.counts[broker], 0
        if not with_all and count > 1:
            state.filters[broker, np.random.randint(count)] = state.filters[broker, count - 1]
            left = count - 1
        _narrowed(broker, left, state, measure, is_changed, scratch)
    for leaf in range(len(leaves.paths)):
        path = leaves.paths[leaf]
        for level in range(len(path) - 2, -1, -1):
            if path[level + 1] >= 0 and is_changed[path[level + 1]]:
                left = _within(path[level], path[level + 1], state, scratch)
                _narrowed(path[level], left, state, measure, is_changed, scratch)
        if not is_changed[path[0]]:
            continue
        filters, left = state.filters[path[0]], state.counts[path[0]]
        for group in range(served.groups.shape[1]):
            some = served.groups[leaf, group]
            if some == 0:
                continue
            box = groups.kinds[groups.kind_of[group]]
            if not covers(filters, left, box, scratch[3]):
                _moved(leaf, group, -some, served, leaves, groups)
                log.append((leaf, group, -some))
    fit_inner(is_changed, state, network, measure, 0, scratch)
    return log


@kernel
def _within(broker: int, above: int, state: State, scratch: Boxes) -> int:
    """Puts those rectangles of a broker first that another still covers; gives how many."""
    kept = 0
    for i in range(state.counts[broker]):
        box = state.filters[broker, i]
        if covers(state.filters[above], state.counts[above], box, scratch[3]):
            state.filters[broker, kept] = box
            kept += 1
    return kept


@kernel
def _narrowed(
    broker: int, left: int, state: State, measure: Measure, is_changed: Bools, scratch: Boxes
) -> None:
    """Leaves a broker the first of its rectangles."""
    is_changed[broker] = True
    state.counts[broker] = left
    state.volumes[broker] = union(state.filters[broker], left, measure, scratch[3])


@kernel
def refilled(
    order: Ints, log: Log, served: Served, leaves: Leaves, state: State, groups: Groups,
    measure: Measure, costs: Costs, limit: float, is_touched: Bools, scratch: Boxes,
) -> bool:  # fmt: skip
    """Serves the groups that wait, in this order, where it costs least, and notes it in the log.

    False, and it stops, if there is no room or the bandwidth exceeds a limit. `is_touched` becomes
    true of leaves whose filters are widened.
    """
    if len(served.before):
        _returned(log, served, leaves, state, groups, scratch)
    for group in order:
        kind = groups.kind_of[group]
        while served.waiting[group]:
            leaf = cheapest(
                kind, groups.kinds, groups.sets[groups.set_of[group]], leaves, True, state, measure,
                costs, scratch,
            )  # fmt: skip
            if leaf < 0:
                return False
            portion, room = leaves.most[leaf] // _PORTIONS, leaves.most[leaf] - leaves.loads[leaf]
            count = min(served.waiting[group], room, max(1, portion))
            _moved(leaf, group, count, served, leaves, groups)
            log.append((leaf, group, count))
            path = leaves.paths[leaf]
            _, widened = added(path, groups.kinds[kind], state, measure, True, scratch)
            if widened:
                is_touched[leaf] = True
                outdated(leaves.paths, path, widened, costs)
                if state.volumes.sum() > limit:
                    return False
    return True


@kernel
def _returned(
    log: Log, served: Served, leaves: Leaves, state: State, groups: Groups, scratch: Boxes
) -> None:
    """Serves those where they were whose leaf still has what they want."""
    for number in range(len(log)):
        leaf, group, count = log[number]
        broker = leaves.paths[leaf, 0]
        back = min(-count, served.before[leaf, group] - served.groups[leaf, group])
        box = groups.kinds[groups.kind_of[group]]
        if back > 0 and covers(state.filters[broker], state.counts[broker], box, scratch[3]):
            _moved(leaf, group, back, served, leaves, groups)
            log.append((leaf, group, back))
