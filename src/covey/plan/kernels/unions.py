"""Filters: unions of a few boxes of cells, what bandwidth they have, and what they cover.

All of it is exact: inclusion and exclusion over the subsets of a filter's boxes. `common` is room
for one box.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from covey.compiled import kernel

__all__ = ["Measure", "covers", "enclose", "inserted", "mass", "union"]

Boxes = NDArray[np.int32]
Floats = NDArray[np.float64]


class Measure(NamedTuple):
    """What bandwidth a box of cells has: its volume, or how many events of a sample are in it.

    `table`, if it is not empty, has at twice the number of a cut what is before that cut, and one
    further what is up to it.
    """

    lengths: Floats
    table: Floats
    strides: NDArray[np.int64]


@kernel
def mass(box: Boxes, measure: Measure) -> float:
    """The measure of one box."""
    d = len(box) // 2
    if len(measure.table) == 0:
        volume = 1.0
        for k in range(d):
            volume *= measure.lengths[k, box[d + k]] - measure.lengths[k, box[k]]
        return volume
    total = 0.0
    for corner in range(1 << d):
        at, is_less = 0, False
        for k in range(d):
            if corner >> k & 1:
                at += measure.strides[k] * 2 * box[k]
                is_less = not is_less
            else:
                at += measure.strides[k] * (2 * box[d + k] + 1)
        total += -measure.table[at] if is_less else measure.table[at]
    return total


@kernel
def _common(boxes: Boxes, subset: int, common: Boxes) -> bool:
    """Writes what the boxes of a subset have in common; whether there is anything."""
    d, is_first, i = len(common) // 2, True, 0
    while subset >> i:
        if subset >> i & 1:
            for k in range(d):
                low, high = boxes[i, k], boxes[i, d + k]
                if not is_first:
                    low, high = max(low, common[k]), min(high, common[d + k])
                    if low > high:
                        return False
                common[k], common[d + k] = low, high
            is_first = False
        i += 1
    return True


@kernel
def _is_odd(subset: int) -> bool:
    is_odd = False
    while subset:
        is_odd = not is_odd
        subset &= subset - 1
    return is_odd


@kernel
def union(boxes: Boxes, count: int, measure: Measure, common: Boxes) -> float:
    """The measure of the union of the first boxes."""
    total = 0.0
    for subset in range(1, 1 << count):
        if _common(boxes, subset, common):
            share = mass(common, measure)
            total += share if _is_odd(subset) else -share
    return total


@kernel
def covers(boxes: Boxes, count: int, box: Boxes, common: Boxes) -> bool:
    """Whether the union of the first boxes contains another box, cell by cell."""
    d = len(box) // 2
    for i in range(count):
        is_inside = True
        for k in range(d):
            is_inside &= boxes[i, k] <= box[k] and boxes[i, d + k] >= box[d + k]
        if is_inside:
            return True
    if count < 2:
        return False
    cells, covered = 1, 0
    for k in range(d):
        cells *= box[d + k] - box[k]
    if cells == 0:  # it has no volume to compare
        return False
    for subset in range(1, 1 << count):
        if not _common(boxes, subset, common):
            continue
        inner = 1
        for k in range(d):
            inner *= max(0, min(common[d + k], box[d + k]) - max(common[k], box[k]))
        covered += inner if _is_odd(subset) else -inner
    return covered == cells


@kernel
def enclose(box: Boxes, other: Boxes) -> None:
    """Widens a box so that it contains another."""
    d = len(box) // 2
    for k in range(d):
        box[k] = min(box[k], other[k])
        box[d + k] = max(box[d + k], other[d + k])


@kernel
def inserted(
    boxes: Boxes, count: int, box: Boxes, measure: Measure, out: Boxes, room: Boxes, common: Boxes
) -> tuple[int, float]:
    """Writes to `out` a filter that has one more box, and as many as there is room for in `boxes`.

    Where there would be too many, those two are made one that are cheapest to. Gives how many there
    are and their measure; nothing is written, and it is (0, 0), if the filter covers the box.
    `room` is for another filter.
    """
    most = len(boxes)
    if covers(boxes, count, box, common):
        return 0, 0.0
    if count < most:
        out[:count] = boxes[:count]
        out[count] = box
        return count + 1, union(out, count + 1, measure, common)
    best, first, second = np.inf, 0, 1
    for i in range(most):
        for j in range(i + 1, most + 1):
            _merged(boxes, box, i, j, room)
            if mass(room[0], measure) >= best:
                continue
            found = union(room, most, measure, common)
            if found < best:
                best, first, second = found, i, j
    _merged(boxes, box, first, second, out)
    return most, best


@kernel
def _merged(boxes: Boxes, box: Boxes, first: int, second: int, out: Boxes) -> None:
    """All boxes and one more, of which two have become one: it comes first."""
    most = len(boxes)
    out[0] = boxes[first]
    enclose(out[0], boxes[second] if second < most else box)
    place = 1
    for i in range(most):
        if i != first and i != second:
            out[place] = boxes[i]
            place += 1
    if second < most:
        out[place] = box
