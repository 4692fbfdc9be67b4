"""Partition of boxes: repeated divisions in two, so that similar boxes become neighbours."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey._jit import kernel
from covey.index.kernels.bits import LAST
from covey.index.kernels.tree_nodes import find_tightest_attribute

Codes = NDArray[np.uint16]
Ints = NDArray[np.int64]

_SAMPLE = 2048  # boxes from which a division is chosen
_SPLITS = 32  # buckets of codes, at whose borders a division is tried
_MIN_SIDE_SHARE = 0.1  # smallest share of the boxes on one side of a division

__all__ = ["find_most_selective", "partition_boxes"]


@kernel
def find_most_selective(
    codes: Codes, chance_below: NDArray[np.float32]
) -> tuple[Ints, NDArray[np.float32]]:
    """Return for each box the attribute on which an event is least likely to be within the box.

    The second array has the chance that an event is within the box on that attribute.
    `chance_below[k, c]` is the chance that the code of an event on attribute k is below c.
    """
    width = codes.shape[1] // 2
    attributes, chances = np.zeros(len(codes), np.int64), np.full(len(codes), np.float32(2))
    for i in range(len(codes)):
        for k in range(width):
            chance = chance_below[k, codes[i, width + k] + 1] - chance_below[k, codes[i, k]]
            if chance < chances[i]:
                chances[i], attributes[i] = chance, k
    return attributes, chances


@kernel
def partition_boxes(
    codes: Codes,
    chance_below: NDArray[np.float32],
    max_codes: Ints,
    order: NDArray[np.int32],
    max_leaf_size: int,
) -> Ints:
    """Sort the rows of boxes in `order` in place, and return the end of each leaf.

    The rows are divided in two repeatedly. A part with at most `max_leaf_size` boxes is a leaf, and
    is not divided further. The boxes of a leaf are sorted by their lower codes on one attribute.
    `chance_below` is that of `find_most_selective`; `max_codes` has the highest code of each
    attribute.
    """
    ends = np.empty(len(order) // max_leaf_size * 2 + 2, np.int64)
    count = 0
    stack = [(np.int64(0), np.int64(len(order)))]
    keys = np.empty(len(order), np.uint16)
    while len(stack):
        start, stop = stack.pop()
        if stop - start <= max_leaf_size:
            leaf_rows = order[start:stop]
            leaf_codes = codes[:, find_tightest_attribute(codes, leaf_rows)][leaf_rows]
            leaf_rows[:] = leaf_rows[np.argsort(leaf_codes, kind="mergesort")]
            ends[count] = stop
            count += 1
            continue
        column, share = _find_best_split(codes, chance_below, max_codes, order[start:stop])
        leaves = -(-(stop - start) // max_leaf_size)
        left_leaves = min(leaves - 1, max(1, int(share * leaves + 0.5)))
        middle = start + (stop - start) * left_leaves // leaves
        for i in range(start, stop):
            keys[i] = codes[order[i], column]
        _quick_select(keys, order, start, stop - 1, middle)
        stack.append((middle, stop))
        stack.append((start, middle))
    return ends[:count].copy()


@kernel
def _find_best_split(
    codes: Codes, chance_below: NDArray[np.float32], max_codes: Ints, rows: NDArray[np.int32]
) -> tuple[int, float]:
    """Return the column of codes to divide by, and the share of boxes in the lower part.

    The lower part has the boxes with the smaller codes. The division with the least work is chosen
    on a sample of the boxes. The work of a division is the sum over both parts of the number of
    boxes times the chance that an event reaches the part, divided by the chance that an event
    reaches any of the boxes.
    """
    width = codes.shape[1] // 2
    count = min(len(rows), _SAMPLE)
    lowers, uppers = np.empty(count, np.int64), np.empty(count, np.int64)
    boxes = np.empty(_SPLITS, np.int64)
    lowest, highest = np.empty(_SPLITS, np.int64), np.empty(_SPLITS, np.int64)
    right_lowest, right_highest = np.empty(_SPLITS, np.int64), np.empty(_SPLITS, np.int64)
    least_work, best_column, best_share = np.inf, 0, 0.5
    for k in range(width):
        for i in range(count):
            row = rows[i * len(rows) // count]
            lowers[i] = codes[row, k]
            uppers[i] = min(np.int64(codes[row, width + k]), max_codes[k])
        total_chance = chance_below[k, uppers.max() + 1] - chance_below[k, lowers.min()] + 1e-9
        for side in range(2):
            split_codes = lowers if side == 0 else uppers
            first, span = split_codes.min(), split_codes.max() - split_codes.min() + 1
            if span == 1:
                continue
            boxes[:], lowest[:], highest[:] = 0, LAST, 0
            for i in range(count):
                b = (split_codes[i] - first) * _SPLITS // span
                boxes[b] += 1
                lowest[b], highest[b] = min(lowest[b], lowers[i]), max(highest[b], uppers[i])
            low, high = np.int64(LAST), np.int64(0)
            for b in range(_SPLITS - 1, -1, -1):
                low, high = min(low, lowest[b]), max(high, highest[b])
                right_lowest[b], right_highest[b] = low, high
            low, high, left_count = np.int64(LAST), np.int64(0), 0
            for b in range(_SPLITS - 1):
                left_count += boxes[b]
                low, high = min(low, lowest[b]), max(high, highest[b])
                if not _MIN_SIDE_SHARE * count <= left_count <= (1 - _MIN_SIDE_SHARE) * count:
                    continue
                work = left_count * (chance_below[k, high + 1] - chance_below[k, low])
                work += (count - left_count) * (
                    chance_below[k, right_highest[b + 1] + 1] - chance_below[k, right_lowest[b + 1]]
                )
                if work / total_chance < least_work:
                    least_work, best_column = work / total_chance, side * width + k
                    best_share = left_count / count
    return best_column, best_share


@kernel
def _quick_select(
    keys: NDArray[np.uint16], order: NDArray[np.int32], first: int, last: int, middle: int
) -> None:
    """Reorder `keys` and `order` from index `first` to index `last`, both included.

    Afterwards, no key before index `middle` is larger than a key from `middle` on.
    """
    while last > first:
        a, b, c = keys[first], keys[(first + last) >> 1], keys[last]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = first, last
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            last = j
        elif middle >= i:
            first = i
        else:
            break
