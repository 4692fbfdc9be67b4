"""The order of stored boxes: similar boxes are neighbours, so that whole leaves can be skipped.

Boxes are divided in two repeatedly, by the lower or upper end on one attribute. The division with
the least work is chosen. The work is the sum over both sides of the number of boxes times the
chance that an event reaches the side. If most intervals are unbounded, boxes are first grouped by
their most selective attribute.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.index.kernels.bits import LAST
from covey.index.kernels.box_partition import partition_boxes

__all__ = ["compute_chance_below", "order_boxes"]

Codes = NDArray[np.uint16]
Ints = NDArray[np.int64]

_UNSEEN_SHARE = 0.02  # share of events that are assumed to differ from the sample


def compute_chance_below(events: Codes | None, max_codes: Ints) -> NDArray[np.float32]:
    """Return for every attribute and code the chance that an event has a lower code.

    `events` has the codes of a sample of events, and `max_codes` the highest code of each
    attribute. Without events, all codes are equally likely.
    """
    below = np.empty((len(max_codes), LAST + 2), np.float32)
    below[:, 0] = 0.0
    for k, highest in enumerate(max_codes.tolist()):
        count = np.full(highest + 1, _UNSEEN_SHARE / (highest + 1))
        if events is not None and len(events):
            count += np.bincount(events[:, k], minlength=highest + 1) / len(events)
        below[k, 1 : highest + 2] = np.cumsum(count) / count.sum()
        below[k, highest + 2 :] = 1.0
    return below


def order_boxes(
    codes: Codes, groups: Ints, chance_below: NDArray[np.float32], max_leaf_size: int
) -> tuple[NDArray[np.int32], Ints]:
    """Return the order of boxes, and the start of each leaf, followed by the end of the last one.

    A leaf has at most `max_leaf_size` boxes, all of the same group; `groups` has the group of each
    box. `chance_below` is the result of `compute_chance_below`.

    Cost: proportional to boxes × log(leaves). Each division also examines all attributes of a
    sample of boxes.
    """
    order = np.argsort(groups, kind="stable").astype(np.int32)
    ends = np.append(np.flatnonzero(np.diff(groups[order])) + 1, len(order))
    max_codes = (chance_below < 1).sum(axis=1)
    leaves = [np.zeros(1, np.int64)]
    start = 0
    for end in ends.tolist():
        group_order = order[start:end]
        leaves.append(
            start + partition_boxes(codes, chance_below, max_codes, group_order, max_leaf_size)
        )
        start = end
    return order, np.concatenate(leaves)
