"""Filters for what leaves serve, and for the brokers above them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from covey.compiled import kernel
from covey.plan.kernels.climb import State
from covey.plan.kernels.fit import fitted, maximal
from covey.plan.kernels.unions import Measure, covers

__all__ = ["Groups", "Network", "fit_inner", "refitted"]

Bools = NDArray[np.bool_]
Boxes = NDArray[np.int32]
Ints = NDArray[np.int64]
Numbers = NDArray[np.int32]


class Groups(NamedTuple):
    """Subscribers who are alike; see `covey.plan.demand.Demand`."""

    kinds: Boxes
    sets: Bools
    kind_of: Numbers
    set_of: Numbers


class Network(NamedTuple):
    """Brokers that others are below, each before its parent, and these others.

    `related` has for each leaf the other leaves, those first that could serve most of the same.
    """

    inner: Ints
    children: Ints
    child_starts: Ints
    related: Ints


@kernel
def refitted(
    by_kind: Ints, is_touched: Bools, state: State, groups: Groups, paths: Ints,
    network: Network, measure: Measure, seed: int, scratch: Boxes,
) -> None:  # fmt: skip
    """Better filters, where they are found, for some leaves and for the brokers above them."""
    is_changed = np.zeros(len(state.counts), np.bool_)
    out = np.empty(state.filters.shape[1:], np.int32)
    for leaf in np.flatnonzero(is_touched):
        chosen = np.flatnonzero(by_kind[leaf])
        count = maximal(groups.kinds, chosen, len(chosen))
        broker = paths[leaf, 0]
        limit = state.volumes[broker] * (1 - 1e-12)
        found, volume = fitted(
            groups.kinds, chosen, count, measure, limit, seed + leaf, out, scratch
        )
        is_changed[broker] = True
        if volume < limit:
            state.filters[broker, :found] = out[:found]
            state.counts[broker], state.volumes[broker] = found, volume
    fit_inner(is_changed, state, network, measure, seed, scratch)


@kernel
def fit_inner(
    is_changed: Bools, state: State, network: Network, measure: Measure, seed: int, scratch: Boxes
) -> None:
    """Filters above those that changed, fitted to them where they must be or it is better."""
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
        limit = state.volumes[broker] * (1 - 1e-12)
        for row in chosen[:count]:
            if not covers(state.filters[broker], state.counts[broker], boxes[row], scratch[3]):
                limit = np.inf
                break
        found, volume = fitted(boxes, chosen, count, measure, limit, seed, out, scratch)
        if volume < limit:
            state.filters[broker, :found] = out[:found]
            state.counts[broker], state.volumes[broker] = found, volume
