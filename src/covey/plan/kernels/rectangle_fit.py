"""A few boxes that contain many, with as little bandwidth as can be found.

That is hard in general: several orders in which boxes are inserted one by one are tried, and the
best cuts of boxes in a row into runs, along each end.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey._jit import kernel
from covey.plan.kernels.box_unions import (
    BandwidthMeasure,
    enclose_box,
    insert_box,
    measure_box,
    measure_union,
)

__all__ = ["fit_rectangles", "keep_maximal"]

Boxes = NDArray[np.int32]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_RANDOM_ORDERS = 4  # random ones
_MAX_BLOCKS = 48  # into which a row of boxes is divided before it is cut into runs


@kernel
def keep_maximal(boxes: Boxes, chosen_rows: Ints, count: int) -> int:
    """Keeps, of the first chosen boxes, those that no other of them contains; gives how many."""
    d = boxes.shape[1] // 2
    kept = 0
    for i in range(count):
        is_within = False
        for j in range(count):
            # Of those before i, the first `kept` are left; what they dropped is within one of them.
            other = chosen_rows[j]
            if j == i or (kept <= j < i):
                continue
            inside = True
            for k in range(d):
                inside &= boxes[other, k] <= boxes[chosen_rows[i], k]
                inside &= boxes[other, d + k] >= boxes[chosen_rows[i], d + k]
            if inside:
                is_within = True
                break
        if not is_within:
            chosen_rows[kept] = chosen_rows[i]
            kept += 1
    return kept


@kernel
def fit_rectangles(
    boxes: Boxes,
    chosen_rows: Ints,
    count: int,
    measure: BandwidthMeasure,
    limit: float,
    seed: int,
    out: Boxes,
    scratch: Boxes,
) -> tuple[int, float]:
    """Writes to `out` boxes that contain the first chosen ones; gives how many, and their measure.

    `out` says by its length how many there may be; `scratch` is five filters. Where none are found
    with less than `limit`, nothing is written, and it is (0, limit).
    """
    if count == 0:
        return 0, 0.0
    np.random.seed(seed)
    d = boxes.shape[1] // 2
    keys, sizes = np.empty(count), np.empty(count)
    for i in range(count):
        sizes[i] = measure_box(boxes[chosen_rows[i]], measure)
    best, best_count = limit, 0
    for order in range(1 + 2 * d + _RANDOM_ORDERS):
        for i in range(count):
            if order == 0:
                keys[i] = -sizes[i]
            elif order <= 2 * d:
                keys[i] = boxes[chosen_rows[i], order - 1]
            else:
                keys[i] = -sizes[i] * (0.3 + np.random.random())
        found, volume = _insert_all(
            boxes, chosen_rows[np.argsort(keys)], measure, len(out), best, scratch
        )
        if volume < best:
            best, best_count = volume, found
            out[:found] = scratch[0, :found]
    for end in range(2 * d):
        for i in range(count):
            keys[i] = boxes[chosen_rows[i], end]
        found, volume = _partition_into_runs(
            boxes, chosen_rows[np.argsort(keys)], measure, len(out), scratch
        )
        if volume < best * (1 - 1e-12):
            best, best_count = volume, found
            out[:found] = scratch[0, :found]
    return best_count, best


@kernel
def _insert_all(
    boxes: Boxes,
    order: Ints,
    measure: BandwidthMeasure,
    max_boxes: int,
    limit: float,
    scratch: Boxes,
) -> tuple[int, float]:
    """A filter of at most so many boxes in `scratch[0]`; it gives up where it exceeds a limit."""
    count, volume = 0, 0.0
    for row in order:
        now, found = insert_box(
            scratch[0, :max_boxes], count, boxes[row], measure, scratch[1], scratch[2], scratch[3]
        )
        if now:
            scratch[0, :now] = scratch[1, :now]
            count, volume = now, found
            if volume >= limit:
                break
    return count, volume


@kernel
def _partition_into_runs(
    boxes: Boxes, order: Ints, measure: BandwidthMeasure, max_boxes: int, scratch: Boxes
) -> tuple[int, float]:
    """The best cut of boxes, in this order, into so many runs, by the sum of what encloses each."""
    count = len(order)
    blocks = min(count, _MAX_BLOCKS)
    starts = np.empty(blocks + 1, np.int64)
    for block in range(blocks + 1):
        starts[block] = block * count // blocks
    enclosing = np.empty((blocks, boxes.shape[1]), np.int32)
    for block in range(blocks):
        enclosing[block] = boxes[order[starts[block]]]
        for i in range(starts[block] + 1, starts[block + 1]):
            enclose_box(enclosing[block], boxes[order[i]])
    costs = np.empty((blocks, blocks))
    for first in range(blocks):
        scratch[3, 0] = enclosing[first]
        for last in range(first, blocks):
            enclose_box(scratch[3, 0], enclosing[last])
            costs[first, last] = measure_box(scratch[3, 0], measure)
    least = np.full((max_boxes + 1, blocks + 1), np.inf)
    least[:, 0] = 0.0
    begins = np.zeros((max_boxes + 1, blocks + 1), np.int64)
    for runs in range(1, max_boxes + 1):
        for end in range(1, blocks + 1):
            for begin in range(end):
                found = least[runs - 1, begin] + costs[begin, end - 1]
                if found < least[runs, end]:
                    least[runs, end], begins[runs, end] = found, begin
    runs, end = 0, blocks
    while end > 0:
        begin = begins[max_boxes - runs, end]
        scratch[0, runs] = enclosing[begin]
        for block in range(begin + 1, end):
            enclose_box(scratch[0, runs], enclosing[block])
        runs, end = runs + 1, begin
    return runs, measure_union(scratch[0], runs, measure, scratch[3])
