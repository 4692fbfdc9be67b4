"""Filters as unions of a few boxes of cells: their measure, containment, and insertion of a box.

Unions are measured exactly, by inclusion and exclusion over the subsets of a filter's boxes. The
argument `overlap_scratch` is working memory for as many boxes as a filter may have.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from covey._jit import kernel

__all__ = [
    "BandwidthMeasure",
    "covers_box",
    "enclose_box",
    "insert_box",
    "measure_box",
    "measure_union",
]

Boxes = NDArray[np.int32]
Floats = NDArray[np.float64]


class BandwidthMeasure(NamedTuple):
    """Measure of boxes of cells: their volume, or the share of sampled events in them.

    Args:
        boundaries: the boundaries of each axis, in coordinates of event space.
        cumulative_shares: the cumulative table of event shares, flattened; empty if the measure is
            volume. On each axis, index 2i is for the events before boundary i, and index 2i + 1 for
            those up to and including it.
        strides: the step of each axis in the flattened table.
    """

    boundaries: Floats
    cumulative_shares: Floats
    strides: NDArray[np.int64]


@kernel
def measure_box(box: Boxes, measure: BandwidthMeasure) -> float:
    """Return the measure of one box."""
    total: float = _measure_row(box.reshape(1, len(box)), 0, measure)
    return total


@kernel
def _measure_row(boxes: Boxes, row: int, measure: BandwidthMeasure) -> float:
    """Return the measure of one box of a batch, by its row.

    The caller passes the row number, because a view of the row would cost more than the measure.
    """
    d = boxes.shape[1] // 2
    if len(measure.cumulative_shares) == 0:
        volume = 1.0
        for k in range(d):
            volume *= (
                measure.boundaries[k, boxes[row, d + k]] - measure.boundaries[k, boxes[row, k]]
            )
        return volume
    total = 0.0
    for corner in range(1 << d):
        offset, is_negative = 0, False
        for k in range(d):
            if corner >> k & 1:
                offset += measure.strides[k] * 2 * boxes[row, k]
                is_negative = not is_negative
            else:
                offset += measure.strides[k] * (2 * boxes[row, d + k] + 1)
        total += (
            -measure.cumulative_shares[offset] if is_negative else measure.cumulative_shares[offset]
        )
    return total


@kernel
def measure_union(
    boxes: Boxes, count: int, measure: BandwidthMeasure, overlap_scratch: Boxes
) -> float:
    """Return the measure of the union of the first `count` boxes.

    Subsets are enumerated depth first: if the boxes of a subset have no common point, its supersets
    are skipped.
    """
    d = boxes.shape[1] // 2
    total, subset, depth, next_box = 0.0, 0, 0, 0
    while True:
        if next_box < count:
            overlaps = True
            for k in range(d):
                low, high = boxes[next_box, k], boxes[next_box, d + k]
                if depth:
                    low = max(low, overlap_scratch[depth - 1, k])
                    high = min(high, overlap_scratch[depth - 1, d + k])
                    overlaps &= low <= high
                overlap_scratch[depth, k], overlap_scratch[depth, d + k] = low, high
            if overlaps:
                volume = _measure_row(overlap_scratch, depth, measure)
                total += -volume if depth & 1 else volume
                subset |= 1 << next_box
                depth += 1
            next_box += 1
            continue
        if depth == 0:
            return total
        while not subset >> (next_box - 1) & 1:
            next_box -= 1
        subset ^= 1 << (next_box - 1)
        depth -= 1


@kernel
def covers_box(boxes: Boxes, count: int, box: Boxes, overlap_scratch: Boxes) -> bool:
    """Return whether the union of the first `count` of `boxes` contains every cell of `box`."""
    d = len(box) // 2
    cells, max_covered = 1, 0
    for k in range(d):
        cells *= box[d + k] - box[k]
    for i in range(count):
        is_inside, inner = True, 1
        for k in range(d):
            low, high = max(boxes[i, k], box[k]), min(boxes[i, d + k], box[d + k])
            is_inside &= low == box[k] and high == box[d + k]
            inner *= max(0, high - low)
        if is_inside:
            return True
        max_covered += inner
    if cells > 0 and max_covered < cells:
        return False
    needed = 1
    for k in range(d):
        needed *= _count_axis_cells(box[k], box[d + k], box[k] == box[d + k])
    is_covered: bool = _count_covered_cells(boxes, count, box, overlap_scratch) == needed
    return is_covered


@kernel
def _count_axis_cells(low: int, high: int, is_flat: bool) -> int:
    """Return the number of cells between two boundaries.

    If the box to cover has no length on this axis (`is_flat`), its position counts as one cell:
    return 1 if it lies between the boundaries (`low <= high`), and otherwise 0.
    """
    return int(low <= high) if is_flat else max(0, high - low)


@kernel
def _count_covered_cells(boxes: Boxes, count: int, box: Boxes, overlap_scratch: Boxes) -> int:
    """Return the number of cells of `box` that the union of the first `count` boxes contains."""
    d = len(box) // 2
    covered = 0
    for subset in range(1, 1 << count):
        overlap_scratch[0] = box
        cells, is_odd = 1, False
        for i in range(count):
            if subset >> i & 1:
                is_odd = not is_odd
                for k in range(d):
                    overlap_scratch[0, k] = max(overlap_scratch[0, k], boxes[i, k])
                    overlap_scratch[0, d + k] = min(overlap_scratch[0, d + k], boxes[i, d + k])
        for k in range(d):
            cells *= _count_axis_cells(
                overlap_scratch[0, k], overlap_scratch[0, d + k], box[k] == box[d + k]
            )
        covered += cells if is_odd else -cells
    return covered


@kernel
def enclose_box(box: Boxes, other: Boxes) -> None:
    """Widen a box in place so that it contains another one."""
    d = len(box) // 2
    for k in range(d):
        box[k] = min(box[k], other[k])
        box[d + k] = max(box[d + k], other[d + k])


@kernel
def insert_box(
    boxes: Boxes,
    count: int,
    box: Boxes,
    measure: BandwidthMeasure,
    out: Boxes,
    merge_scratch: Boxes,
    overlap_scratch: Boxes,
) -> tuple[int, float]:
    """Write to `out` a filter with one more box and at most `len(boxes)` boxes.

    If the filter is full, two boxes are replaced by their hull. They are chosen, from the old boxes
    and the new one, such that the measure of the new union is smallest.

    Args:
        boxes: the filter; its length is the largest number of boxes.
        count: the number of boxes of the filter.
        box: the box to insert.
        measure: the bandwidth of boxes.
        out: receives the new filter.
        merge_scratch: working memory for one filter.
        overlap_scratch: working memory for one filter.

    Returns:
        The number of boxes in `out`, and the measure of their union. If the filter covers the box
        already, (0, 0.0) is returned and nothing is written.
    """
    max_boxes = len(boxes)
    if covers_box(boxes, count, box, overlap_scratch):
        return 0, 0.0
    if count < max_boxes:
        out[:count] = boxes[:count]
        out[count] = box
        return count + 1, measure_union(out, count + 1, measure, overlap_scratch)
    best, first, second = np.inf, 0, 1
    for i in range(max_boxes):
        for j in range(i + 1, max_boxes + 1):
            _write_merged(boxes, box, i, j, merge_scratch)
            if _measure_row(merge_scratch, 0, measure) >= best:
                continue
            volume = measure_union(merge_scratch, max_boxes, measure, overlap_scratch)
            if volume < best:
                best, first, second = volume, i, j
    _write_merged(boxes, box, first, second, out)
    return max_boxes, best


@kernel
def _write_merged(boxes: Boxes, box: Boxes, first: int, second: int, out: Boxes) -> None:
    """Write `boxes` and `box` to `out`, with two of them replaced by their hull, which is row 0.

    `first` and `second` are the rows of these two in `boxes`; `second` is `len(boxes)` if `box` is
    one of them.
    """
    max_boxes, d = len(boxes), len(box) // 2
    for k in range(d):
        low = boxes[second, k] if second < max_boxes else box[k]
        high = boxes[second, d + k] if second < max_boxes else box[d + k]
        out[0, k], out[0, d + k] = min(boxes[first, k], low), max(boxes[first, d + k], high)
    out_row = 1
    for i in range(max_boxes):
        if i != first and i != second:
            for k in range(2 * d):
                out[out_row, k] = boxes[i, k]
            out_row += 1
    if second < max_boxes:
        for k in range(2 * d):
            out[out_row, k] = box[k]
