"""Search for the union of up to three rectangles that earns most: its value less its volume."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey._jit import kernel

__all__ = ["find_best_rectangles"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@kernel
def _sum_values(tables: Floats, mask: int) -> float:
    """Return the sum of the values of the boxes in a mask.

    Bit i of the mask is set if box i is in it. `tables[i, b]` is the sum of the values of boxes 8i
    to 8i + 7 if byte i of the mask is b.
    """
    total = 0.0
    for part in range(len(tables)):
        total += tables[part, (mask >> (8 * part)) & 255]
    return total


@kernel
def find_best_rectangles(
    values: Floats, masks: Ints, lower: Floats, upper: Floats, sizes: Floats, max_rectangles: int,
    must_share_box: bool, value_to_beat: float, chosen: Ints,
) -> float:  # fmt: skip
    """Return the most that a union of rectangles earns: the values of its boxes less its volume.

    Args:
        values: the value of each box.
        masks: bit i of `masks[r]` says that rectangle r contains box i. The boxes of a union are
            those that at least one of its rectangles contains.
        lower: lower ends of the rectangles.
        upper: upper ends of the rectangles.
        sizes: volumes of the rectangles.
        max_rectangles: the largest number of rectangles of a union, at most 3.
        must_share_box: only consider unions in which two rectangles contain a common box.
        value_to_beat: only unions that earn more than this count. If there is none, this value is
            returned, and `chosen` is not changed.
        chosen: receives the numbers of the rectangles of the best union, padded with -1 to three.

    Cost: at most all triples of rectangles; triples whose values are too small are skipped.
    """
    tables = np.zeros((8, 256))
    for part in range(8):
        for mask in range(256):
            for bit in range(8):
                if mask >> bit & 1 and 8 * part + bit < len(values):
                    tables[part, mask] += values[8 * part + bit]
    gains = np.empty(len(masks))
    for r in range(len(masks)):
        gains[r] = _sum_values(tables, masks[r])
    order = np.argsort(-gains)
    best = value_to_beat
    for i in range(len(order)):
        a = order[i]
        if max_rectangles * gains[a] <= best:
            break
        if not must_share_box and gains[a] - sizes[a] > best:
            best = gains[a] - sizes[a]
            chosen[0], chosen[1], chosen[2] = a, -1, -1
        for j in range(i + 1, len(order) if max_rectangles > 1 else 0):
            b = order[j]
            if gains[a] + (max_rectangles - 1) * gains[b] - sizes[a] <= best:
                break
            two_volume = sizes[a] + sizes[b] - _compute_common_volume(lower, upper, a, b, a)
            both_values = _sum_values(tables, masks[a] | masks[b])
            shares = not must_share_box or masks[a] & masks[b] != 0
            if shares and both_values - two_volume > best:
                best = both_values - two_volume
                chosen[0], chosen[1], chosen[2] = a, b, -1
            for k in range(j + 1, len(order) if max_rectangles > 2 else 0):
                c = order[k]
                if both_values + gains[c] - two_volume <= best:
                    break
                if not shares and masks[c] & (masks[a] | masks[b]) == 0:
                    continue
                three_volume = two_volume + sizes[c] - _compute_common_volume(lower, upper, a, c, a)
                three_volume += _compute_common_volume(
                    lower, upper, a, b, c
                ) - _compute_common_volume(lower, upper, b, c, b)
                gain = _sum_values(tables, masks[a] | masks[b] | masks[c]) - three_volume
                if gain > best:
                    best = gain
                    chosen[0], chosen[1], chosen[2] = a, b, c
    return best


@kernel
def _compute_common_volume(lower: Floats, upper: Floats, a: int, b: int, c: int) -> float:
    """Return the volume of the intersection of three rectangles, by their rows a, b and c."""
    volume = 1.0
    for k in range(lower.shape[1]):
        low = max(lower[a, k], lower[b, k], lower[c, k])
        high = min(upper[a, k], upper[b, k], upper[c, k])
        volume *= max(0.0, high - low)
    return volume
