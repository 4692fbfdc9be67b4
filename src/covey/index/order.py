"""The order of stored boxes: near ones together, so that whole groups can be passed over.

Groups are halved again and again. Each time the attribute is taken whose halves are least likely
to be reached by an event, counted by the codes that events may have.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.index.codes import Coded

__all__ = ["ordered"]

Rows = NDArray[np.int64]


def ordered(boxes: Coded, group: int) -> Rows:
    """The numbers of the boxes in their order; consecutive runs of `group` belong together.

    Cost: n · attributes · log(n / group).
    """
    lower, upper = boxes.lower.astype(np.int32), boxes.upper.astype(np.int32)
    spread = np.maximum(1, np.where(upper == 65535, 0, upper).max(axis=0, initial=1))
    lower, upper = np.minimum(lower, spread), np.minimum(upper, spread)
    order = np.arange(len(lower))
    todo = [(0, len(order))]
    while todo:
        start, stop = todo.pop()
        if stop - start <= group:
            continue
        rows = order[start:stop]
        half = (stop - start) // (2 * group) * group or group
        by = _best_attribute(lower[rows], upper[rows], spread, half)
        middles = lower[rows, by] + upper[rows, by]
        order[start:stop] = rows[np.argpartition(middles, half)]
        todo += [(start, start + half), (start + half, stop)]
    return order


def _best_attribute(
    lower: NDArray[np.int32], upper: NDArray[np.int32], spread: NDArray[np.int32], half: int
) -> int:
    """The attribute that, halved by its middles, leaves the least to be reached."""
    sample = slice(None, None, max(1, len(lower) // 4096))
    low, high = lower[sample], upper[sample]
    split = int(half * len(low) / len(lower)) or 1
    costs = []
    for k in range(low.shape[1]):
        halves = np.argpartition(low[:, k] + high[:, k], min(split, len(low) - 1))
        cost = 0.0
        for part in (halves[:split], halves[split:]):
            sides = (high[part].max(axis=0, initial=0) - low[part].min(axis=0, initial=0)) / spread
            cost += len(part) * float(np.prod(np.clip(sides, 1e-6, 1.0)))
        costs.append(cost)
    return int(np.argmin(costs)) if costs else 0
