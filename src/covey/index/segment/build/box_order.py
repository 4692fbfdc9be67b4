"""The order of stored boxes: near ones together, so that whole leaves can be passed over.

Groups are cut in two again and again, each time by the end (the lower or the upper one of some
attribute) that leaves the least work: boxes of either part times the chance that an event reaches
it. Where most ends are free, boxes that are found by the same attribute come together first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.index.kernels.bits import LAST
from covey.index.kernels.box_partition import partition_boxes

__all__ = ["compute_chance_below", "order_boxes"]

Codes = NDArray[np.uint16]
Ints = NDArray[np.int64]

_UNSEEN_SHARE = 0.02  # of events that differ from the sample


def compute_chance_below(events: Codes | None, max_codes: Ints) -> NDArray[np.float32]:
    """For every attribute and code, the chance that an event's code is below it.

    `max_codes` has the highest code of each attribute. Without events all are equally likely.
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
    """Boxes in order, and where leaves of at most `max_leaf_size` start (and the last one ends).

    Boxes of different groups are never in one leaf. Cost: boxes · log(leaves), and for each leaf
    the attributes of a sample.
    """
    order = np.argsort(groups, kind="stable").astype(np.int32)
    ends = np.append(np.flatnonzero(np.diff(groups[order])) + 1, len(order))
    top = (chance_below < 1).sum(axis=1)
    leaves = [np.zeros(1, np.int64)]
    start = 0
    for end in ends.tolist():
        inside = order[start:end]
        leaves.append(start + partition_boxes(codes, chance_below, top, inside, max_leaf_size))
        start = end
    return order, np.concatenate(leaves)
