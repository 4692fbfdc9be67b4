"""Filters: unions of a few boxes of cells, what bandwidth they have, and what they cover.

All of it is exact: inclusion and exclusion over the subsets of a filter's boxes. `common` is room
for as many boxes as a filter may have.
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
    """What bandwidth a box of cells has: its volume, or how many events of a sample are in it.

    `table`, if it is not empty, has at twice the number of a cut what is before that cut, and one
    further what is up to it.
    """

    boundaries: Floats
    cumulative_shares: Floats
    strides: NDArray[np.int64]


@kernel
def measure_box(box: Boxes, measure: BandwidthMeasure) -> float:
    """The measure of one box."""
    found: float = _measure_row(box.reshape(1, len(box)), 0, measure)
    return found


@kernel
def _measure_row(boxes: Boxes, row: int, measure: BandwidthMeasure) -> float:
    """The measure of the box in a row; views of rows would cost more than what is computed."""
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
        at, is_less = 0, False
        for k in range(d):
            if corner >> k & 1:
                at += measure.strides[k] * 2 * boxes[row, k]
                is_less = not is_less
            else:
                at += measure.strides[k] * (2 * boxes[row, d + k] + 1)
        total += -measure.cumulative_shares[at] if is_less else measure.cumulative_shares[at]
    return total


@kernel
def measure_union(
    boxes: Boxes, count: int, measure: BandwidthMeasure, overlap_scratch: Boxes
) -> float:
    """The measure of the union of the first boxes.

    Subsets are gone through by depth: where some boxes have nothing in common, more have not.
    """
    d = boxes.shape[1] // 2
    total, subset, depth, at = 0.0, 0, 0, 0
    while True:
        if at < count:
            is_there = True
            for k in range(d):
                low, high = boxes[at, k], boxes[at, d + k]
                if depth:
                    low = max(low, overlap_scratch[depth - 1, k])
                    high = min(high, overlap_scratch[depth - 1, d + k])
                    is_there &= low <= high
                overlap_scratch[depth, k], overlap_scratch[depth, d + k] = low, high
            if is_there:
                share = _measure_row(overlap_scratch, depth, measure)
                total += -share if depth & 1 else share
                subset |= 1 << at
                depth += 1
            at += 1
            continue
        if depth == 0:
            return total
        while not subset >> (at - 1) & 1:
            at -= 1
        subset ^= 1 << (at - 1)
        depth -= 1


@kernel
def covers_box(boxes: Boxes, count: int, box: Boxes, overlap_scratch: Boxes) -> bool:
    """Whether the union of the first boxes contains another box, cell by cell."""
    d = len(box) // 2
    cells, most = 1, 0
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
        most += inner
    if cells > 0 and most < cells:
        return False
    whole = 1
    for k in range(d):
        whole *= _count_axis_cells(box[k], box[d + k], box[k] == box[d + k])
    is_covered: bool = _count_covered_cells(boxes, count, box, overlap_scratch) == whole
    return is_covered


@kernel
def _count_axis_cells(low: int, high: int, is_flat: bool) -> int:
    """Cells of an axis; where a box has no length, 1 for those that have what it is on."""
    return int(low <= high) if is_flat else max(0, high - low)


@kernel
def _count_covered_cells(boxes: Boxes, count: int, box: Boxes, overlap_scratch: Boxes) -> int:
    """How many cells of a box are in one of the first boxes."""
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
    """Widens a box so that it contains another."""
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
    """Writes to `out` a filter that has one more box, and as many as there is room for in `boxes`.

    Where there would be too many, those two are made one that are cheapest to. Gives how many there
    are and their measure; nothing is written, and it is (0, 0), if the filter covers the box.
    `room` is for another filter.
    """
    most = len(boxes)
    if covers_box(boxes, count, box, overlap_scratch):
        return 0, 0.0
    if count < most:
        out[:count] = boxes[:count]
        out[count] = box
        return count + 1, measure_union(out, count + 1, measure, overlap_scratch)
    best, first, second = np.inf, 0, 1
    for i in range(most):
        for j in range(i + 1, most + 1):
            _write_merged(boxes, box, i, j, merge_scratch)
            if _measure_row(merge_scratch, 0, measure) >= best:
                continue
            found = measure_union(merge_scratch, most, measure, overlap_scratch)
            if found < best:
                best, first, second = found, i, j
    _write_merged(boxes, box, first, second, out)
    return most, best


@kernel
def _write_merged(boxes: Boxes, box: Boxes, first: int, second: int, out: Boxes) -> None:
    """All boxes and one more, of which two have become one: it comes first."""
    most, d = len(boxes), len(box) // 2
    for k in range(d):
        low = boxes[second, k] if second < most else box[k]
        high = boxes[second, d + k] if second < most else box[d + k]
        out[0, k], out[0, d + k] = min(boxes[first, k], low), max(boxes[first, d + k], high)
    place = 1
    for i in range(most):
        if i != first and i != second:
            for k in range(2 * d):
                out[place, k] = boxes[i, k]
            place += 1
    if second < most:
        for k in range(2 * d):
            out[place, k] = box[k]
