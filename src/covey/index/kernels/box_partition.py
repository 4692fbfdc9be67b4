"""Boxes cut in two again and again, so that near ones come together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey._jit import kernel
from covey.index.kernels.bits import LAST
from covey.index.kernels.tree_nodes import find_tightest_attribute

Codes = NDArray[np.uint16]
Ints = NDArray[np.int64]

_SAMPLE, _SPLITS, _MIN_SIDE_SHARE = 2048, 32, 0.1

__all__ = ["find_most_selective", "partition_boxes"]


@kernel
def find_most_selective(
    codes: Codes, chance_below: NDArray[np.float32]
) -> tuple[Ints, NDArray[np.float32]]:
    """The attribute by which each box is least likely to be reached, and how likely that is."""
    width = codes.shape[1] // 2
    found, least = np.zeros(len(codes), np.int64), np.full(len(codes), np.float32(2))
    for i in range(len(codes)):
        for k in range(width):
            chance = chance_below[k, codes[i, width + k] + 1] - chance_below[k, codes[i, k]]
            if chance < least[i]:
                least[i], found[i] = chance, k
    return found, least


@kernel
def partition_boxes(
    codes: Codes,
    chance_below: NDArray[np.float32],
    max_codes: Ints,
    order: NDArray[np.int32],
    max_leaf_size: int,
) -> Ints:
    """Orders some boxes in place; gives where each leaf ends."""
    ends = np.empty(len(order) // max_leaf_size * 2 + 2, np.int64)
    count = 0
    stack = [(np.int64(0), np.int64(len(order)))]
    keys = np.empty(len(order), np.uint16)
    while len(stack):
        start, stop = stack.pop()
        if stop - start <= max_leaf_size:
            inside = order[start:stop]
            by = codes[:, find_tightest_attribute(codes, inside)][inside]
            inside[:] = inside[np.argsort(by, kind="mergesort")]
            ends[count] = stop
            count += 1
            continue
        column, share = _find_best_split(codes, chance_below, max_codes, order[start:stop])
        leaves = -(-(stop - start) // max_leaf_size)
        left = min(leaves - 1, max(1, int(share * leaves + 0.5)))
        middle = start + (stop - start) * left // leaves
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
    """The end to cut by, as a column of codes, and the share of boxes that go left."""
    width = codes.shape[1] // 2
    count = min(len(rows), _SAMPLE)
    lowers, uppers = np.empty(count, np.int64), np.empty(count, np.int64)
    boxes = np.empty(_SPLITS, np.int64)
    least, most = np.empty(_SPLITS, np.int64), np.empty(_SPLITS, np.int64)
    right_least, right_most = np.empty(_SPLITS, np.int64), np.empty(_SPLITS, np.int64)
    best, best_column, best_share = np.inf, 0, 0.5
    for k in range(width):
        for i in range(count):
            row = rows[i * len(rows) // count]
            lowers[i] = codes[row, k]
            uppers[i] = min(np.int64(codes[row, width + k]), max_codes[k])
        whole = chance_below[k, uppers.max() + 1] - chance_below[k, lowers.min()] + 1e-9
        for side in range(2):
            cut_by = lowers if side == 0 else uppers
            first, span = cut_by.min(), cut_by.max() - cut_by.min() + 1
            if span == 1:
                continue
            boxes[:], least[:], most[:] = 0, LAST, 0
            for i in range(count):
                b = (cut_by[i] - first) * _SPLITS // span
                boxes[b] += 1
                least[b], most[b] = min(least[b], lowers[i]), max(most[b], uppers[i])
            low, high = np.int64(LAST), np.int64(0)
            for b in range(_SPLITS - 1, -1, -1):
                low, high = min(low, least[b]), max(high, most[b])
                right_least[b], right_most[b] = low, high
            low, high, left = np.int64(LAST), np.int64(0), 0
            for b in range(_SPLITS - 1):
                left += boxes[b]
                low, high = min(low, least[b]), max(high, most[b])
                if not _MIN_SIDE_SHARE * count <= left <= (1 - _MIN_SIDE_SHARE) * count:
                    continue
                work = left * (chance_below[k, high + 1] - chance_below[k, low])
                work += (count - left) * (
                    chance_below[k, right_most[b + 1] + 1] - chance_below[k, right_least[b + 1]]
                )
                if work / whole < best:
                    best, best_column = work / whole, side * width + k
                    best_share = left / count
    return best_column, best_share


@kernel
def _quick_select(
    keys: NDArray[np.uint16], order: NDArray[np.int32], first: int, last: int, middle: int
) -> None:
    """Moves boxes so that none before `middle` has a larger key than any from there on."""
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
