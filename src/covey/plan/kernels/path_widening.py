"""Insertion of a box into the filter of a leaf and, where necessary, into the filters above it."""

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
    """Filters of all brokers as boxes of grid cells, with their numbers of boxes and bandwidths.

    The first `box_counts[i]` rows of `filters[i]` are the boxes of broker i.
    """

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
    """Return the bandwidth that a box adds to the filters of a path, and how many are widened.

    If the filter of a broker changes, those of its boxes that the filter of the next broker does
    not cover are inserted into the filter of the next broker, so that filters remain nested.

    Args:
        path: brokers from a leaf up to the top level, padded with -1.
        box: the box to insert, in cells.
        state: the filters; changed in place if `apply` is True.
        measure: the bandwidth of boxes.
        apply: change the filters; if False, only the cost is computed.
        scratch: working memory for five filters.
    """
    current = scratch[1, : state.filters.shape[1]]
    below, merge_scratch, overlap_scratch = scratch[0], scratch[2], scratch[3]
    below[0] = box
    below_count, cost, widened = 1, 0.0, 0
    for level in range(len(path)):
        broker = path[level]
        if broker < 0:
            break
        count, volume = state.box_counts[broker], state.bandwidths[broker]
        current[:count] = state.filters[broker, :count]
        is_wider = False
        for i in range(below_count):
            new_count, new_volume = insert_box(
                current, count, below[i], measure, scratch[4], merge_scratch, overlap_scratch
            )
            if new_count:
                current[:new_count] = scratch[4, :new_count]
                count, volume, is_wider = new_count, new_volume, True
        if not is_wider:
            break
        widened += 1
        cost += volume - state.bandwidths[broker]
        below_count = count
        below[:count] = current[:count]
        if apply:
            state.filters[broker, :count] = current[:count]
            state.box_counts[broker], state.bandwidths[broker] = count, volume
    return cost, widened
