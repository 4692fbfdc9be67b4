"""A box that is added to the filter of a leaf, and what that widens on the way up."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from covey._jit import kernel
from covey.plan.kernels.box_unions import BandwidthMeasure, insert_box

__all__ = ["FilterState", "widen_path"]

Boxes = NDArray[np.int32]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class FilterState(NamedTuple):
    """The filters of all brokers, how many boxes each has, and what bandwidth."""

    filters: Boxes
    box_counts: Ints
    bandwidths: Floats


@kernel
def widen_path(
    path: Ints,
    box: Boxes,
    state: FilterState,
    measure: BandwidthMeasure,
    apply: bool,
    scratch: Boxes,
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
        count, volume = state.box_counts[broker], state.bandwidths[broker]
        here[:count] = state.filters[broker, :count]
        is_wider = False
        for i in range(below_count):
            now, found = insert_box(here, count, below[i], measure, scratch[4], room, common)
            if now:
                here[:now] = scratch[4, :now]
                count, volume, is_wider = now, found, True
        if not is_wider:
            break
        widened += 1
        cost += volume - state.bandwidths[broker]
        below_count = count
        below[:count] = here[:count]
        if apply:
            state.filters[broker, :count] = here[:count]
            state.box_counts[broker], state.bandwidths[broker] = count, volume
    return cost, widened
