"""The few rectangles whose boxes have the most value beyond the volume of their union."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey._jit import kernel

__all__ = ["find_best_rectangles"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@kernel
def _sum_values(tables: Floats, mask: int) -> float:
    total = 0.0
    for part in range(len(tables)):
        total += tables[part, (mask >> (8 * part)) & 255]
    return total


@kernel
def find_best_rectangles(
    values: Floats, masks: Ints, lower: Floats, upper: Floats, sizes: Floats, max_rectangles: int,
    must_share_box: bool, value_to_beat: float, chosen: Ints,
) -> float:  # fmt: skip
    """The most that values exceed the volume of a union of `count` rectangles or fewer, at most 3.

    Box i has `values[i]`. Rectangle r contains the boxes of `masks[r]`, a bit each. If `is_shared`,
    only unions count of which two rectangles have a box in common. Writes which rectangles, -1 for
    none; if nothing is more than `least`, that is the answer and nothing is written.

    Cost: all triples, but for those whose values added up are less than what was found.
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
            two = sizes[a] + sizes[b] - _compute_common_volume(lower, upper, a, b, a)
            both = _sum_values(tables, masks[a] | masks[b])
            shares = not must_share_box or masks[a] & masks[b] != 0
            if shares and both - two > best:
                best = both - two
                chosen[0], chosen[1], chosen[2] = a, b, -1
            for k in range(j + 1, len(order) if max_rectangles > 2 else 0):
                c = order[k]
                if both + gains[c] - two <= best:
                    break
                if not shares and masks[c] & (masks[a] | masks[b]) == 0:
                    continue
                three = two + sizes[c] - _compute_common_volume(lower, upper, a, c, a)
                three += _compute_common_volume(lower, upper, a, b, c) - _compute_common_volume(
                    lower, upper, b, c, b
                )
                gain = _sum_values(tables, masks[a] | masks[b] | masks[c]) - three
                if gain > best:
                    best = gain
                    chosen[0], chosen[1], chosen[2] = a, b, c
    return best


@kernel
def _compute_common_volume(lower: Floats, upper: Floats, a: int, b: int, c: int) -> float:
    """The volume that three rectangles have in common."""
    volume = 1.0
    for k in range(lower.shape[1]):
        low = max(lower[a, k], lower[b, k], lower[c, k])
        high = min(upper[a, k], upper[b, k], upper[c, k])
        volume *= max(0.0, high - low)
    return volume
