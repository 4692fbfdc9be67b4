"""A box that is added to the filter of a leaf, and what that widens on the way up."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from covey.compiled import kernel
from covey.plan.kernels.unions import Measure, inserted

__all__ = ["State", "added"]

Boxes = NDArray[np.int32]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class State(NamedTuple):
    """The filters of all brokers, how many boxes each has, and what bandwidth."""

    filters: Boxes
    counts: Ints
    volumes: Floats


@kernel
def added(
    path: Ints, box: Boxes, state: State, measure: Measure, keep: bool, scratch: Boxes
) -> tuple[float, int]:
    """What it costs that the filter of a leaf gets one more box, all above it included.

    And how many brokers it widens. With `keep` the filters change. A filter above one that changes
    gets those boxes of it that it does not cover, so that filters stay within the ones above them.
    `path` is from the leaf up; `scratch` is five filters.
    """
    here = scratch[1, : state.filters.shape[1]]
    below, room, common = scratch[0], scratch[2], scratch[3]
    below[0] = box
    below_count, cost, widened = 1, 0.0, 0
    for level in range(len(path)):
        broker = path[level]
        if broker < 0:
            break
        count, volume = state.counts[broker], state.volumes[broker]
        here[:count] = state.filters[broker, :count]
        is_wider = False
        for i in range(below_count):
            now, found = inserted(here, count, below[i], measure, scratch[4], room, common)
            if now:
                here[:now] = scratch[4, :now]
                count, volume, is_wider = now, found, True
        if not is_wider:
            break
        widened += 1
        cost += volume - state.volumes[broker]
        below_count = count
        below[:count] = here[:count]
        if keep:
            state.filters[broker, :count] = here[:count]
            state.counts[broker], state.volumes[broker] = count, volume
    return cost, widened
