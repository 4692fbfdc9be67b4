"""Fit of a few boxes that contain many boxes, with as little bandwidth as possible.

The exact problem is hard. Two heuristics are tried. The first inserts the boxes one by one, in
several orders. The second sorts the boxes by their lower or upper ends on one axis, and replaces
runs of neighbours by their hulls.
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

_RANDOM_ORDERS = 4  # in addition to the orders by size and by each end
_MAX_BLOCKS = 48  # sorted boxes are grouped into at most this many blocks before the partition


@kernel
def keep_maximal(boxes: Boxes, chosen_rows: Ints, count: int) -> int:
    """Keep the chosen boxes that no other chosen box contains; return their number n.

    Their rows become the first n elements of `chosen_rows`. Of equal boxes, one is kept.
    """
    d = boxes.shape[1] // 2
    maximal_count = 0
    for i in range(count):
        is_within = False
        for j in range(count):
            # Of the rows before i, `maximal_count` are kept; each other one is within a kept one.
            other = chosen_rows[j]
            if j == i or (maximal_count <= j < i):
                continue
            is_inside = True
            for k in range(d):
                is_inside &= boxes[other, k] <= boxes[chosen_rows[i], k]
                is_inside &= boxes[other, d + k] >= boxes[chosen_rows[i], d + k]
            if is_inside:
                is_within = True
                break
        if not is_within:
            chosen_rows[maximal_count] = chosen_rows[i]
            maximal_count += 1
    return maximal_count


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
    """Write to `out` a few boxes that contain all chosen boxes; return their number and measure.

    Args:
        boxes: boxes of cells, one row each.
        chosen_rows: the rows of the chosen boxes.
        count: only the first `count` elements of `chosen_rows` are used.
        measure: the bandwidth of boxes.
        limit: the measure that the result must be below.
        seed: the seed of the random orders.
        out: receives the boxes; its length is their largest number.
        scratch: working memory for five filters.

    Returns:
        The number of boxes in `out`, and the measure of their union; (0, 0.0) if `count` is 0. If
        no result below `limit` is found, (0, limit) is returned and nothing is written.
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
        box_count, volume = _insert_all(
            boxes, chosen_rows[np.argsort(keys)], measure, len(out), best, scratch
        )
        if volume < best:
            best, best_count = volume, box_count
            out[:box_count] = scratch[0, :box_count]
    for end in range(2 * d):
        for i in range(count):
            keys[i] = boxes[chosen_rows[i], end]
        box_count, volume = _partition_into_runs(
            boxes, chosen_rows[np.argsort(keys)], measure, len(out), scratch
        )
        if volume < best * (1 - 1e-12):
            best, best_count = volume, box_count
            out[:box_count] = scratch[0, :box_count]
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
    """Insert boxes one by one into an empty filter in `scratch[0]`; return its size and measure.

    The size is the number of boxes in the filter. The rows in `order` are inserted in this order.
    As soon as the measure reaches `limit`, the insertion stops.
    """
    count, volume = 0, 0.0
    for row in order:
        new_count, new_volume = insert_box(
            scratch[0, :max_boxes], count, boxes[row], measure, scratch[1], scratch[2], scratch[3]
        )
        if new_count:
            scratch[0, :new_count] = scratch[1, :new_count]
            count, volume = new_count, new_volume
            if volume >= limit:
                break
    return count, volume


@kernel
def _partition_into_runs(
    boxes: Boxes, order: Ints, measure: BandwidthMeasure, max_boxes: int, scratch: Boxes
) -> tuple[int, float]:
    """Write to `scratch[0]` the hulls of a good partition of sorted boxes into a few runs.

    The boxes are first grouped into at most 48 blocks of neighbours. Of all partitions into at most
    `max_boxes` runs of whole blocks, dynamic programming finds one for which the measures of the
    hulls have the smallest sum.

    Returns:
        The number of runs, and the measure of the union of their hulls.
    """
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
                total = least[runs - 1, begin] + costs[begin, end - 1]
                if total < least[runs, end]:
                    least[runs, end], begins[runs, end] = total, begin
    runs, end = 0, blocks
    while end > 0:
        begin = begins[max_boxes - runs, end]
        scratch[0, runs] = enclosing[begin]
        for block in range(begin + 1, end):
            enclose_box(scratch[0, runs], enclosing[block])
        runs, end = runs + 1, begin
    return runs, measure_union(scratch[0], runs, measure, scratch[3])
