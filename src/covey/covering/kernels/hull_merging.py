"""Pairwise merging of the boxes of one group, the pair with the lowest cost first.

Each unmatched event is one bit. For every box and axis there is a row of bits with the events that
are not below the lower end of the box, and a row with the events that are not above its upper end.
The bits of a hull are the union of the bits of its boxes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey._jit import kernel

__all__ = [
    "compute_added_volume",
    "compute_side_bits",
    "count_admitted",
    "is_perfect_merge",
    "merge_pairwise",
]

Bits = NDArray[np.uint64]
Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
_MIN_ADDED_VOLUME = 1e-18  # so that an imperfect merge with a rounded volume does not cost 0


@kernel
def is_perfect_merge(lower: Codes, upper: Codes, i: int, j: int) -> bool:
    """Return whether the hull of two boxes is their union."""
    differ, one_covers, other_covers, touch = 0, True, True, True
    for k in range(lower.shape[1]):
        a, b, c, d = lower[i, k], upper[i, k], lower[j, k], upper[j, k]
        one_covers &= a <= c and d <= b
        other_covers &= c <= a and b <= d
        if a != c or b != d:
            differ += 1
            touch &= a <= d + 1 and c <= b + 1
    return one_covers or other_covers or (differ == 1 and touch)


@kernel
def compute_added_volume(bounds: Floats, volumes: Floats, i: int, j: int) -> float:
    """Return the volume that the hull of two boxes adds to their union; at least 1e-18."""
    hull, common = 1.0, 1.0
    for k in range(0, bounds.shape[1], 2):
        hull *= max(bounds[i, k + 1], bounds[j, k + 1]) - min(bounds[i, k], bounds[j, k])
        common *= max(
            0.0, min(bounds[i, k + 1], bounds[j, k + 1]) - max(bounds[i, k], bounds[j, k])
        )
    added: float = hull - volumes[i] - volumes[j] + common
    return max(_MIN_ADDED_VOLUME, added)


@kernel
def compute_side_bits(lower: Codes, upper: Codes, events: Codes) -> Bits:
    """Return bits that say which events are on the inner side of an end of a box.

    The bits are indexed by box, word of 64 events, and side. Side 2k contains the events that are
    not below the lower end on axis k; side 2k + 1 contains the events that are not above the upper
    end.
    """
    count, axes = lower.shape
    words = (len(events) + 63) // 64
    bits = np.zeros((count, words, 2 * axes), np.uint64)
    for i in range(count):
        for e in range(len(events)):
            bit = np.uint64(1) << np.uint64(e & 63)
            for k in range(axes):
                if lower[i, k] <= events[e, k]:
                    bits[i, e >> 6, 2 * k] |= bit
                if events[e, k] <= upper[i, k]:
                    bits[i, e >> 6, 2 * k + 1] |= bit
    return bits


@kernel
def count_admitted(bits: Bits, i: int, j: int, known: Bits, mark_known: bool) -> int:
    """Return the number of events in the hull of boxes i and j that no earlier merge admits.

    `known` contains the bits of events that an earlier merge admits. If `mark_known` is true, the
    counted events are added to it.
    """
    count = 0
    for w in range(bits.shape[1]):
        admitted = ~known[w]
        for side in range(bits.shape[2]):
            admitted &= bits[i, w, side] | bits[j, w, side]
            if admitted == 0:
                break
        if mark_known:
            known[w] |= admitted
        while admitted != 0:
            admitted &= admitted - np.uint64(1)
            count += 1
    return count


@kernel
def _merge_cost(boxes: Any, i: int, j: int, known: Bits, density: float) -> float:
    """Return the cost of merging boxes i and j; `merge_pairwise` says what it is.

    `boxes` is the tuple of arrays that `merge_pairwise` builds.
    """
    lower, upper, ends, volumes, bits = boxes
    if is_perfect_merge(lower, upper, i, j):
        return 0.0
    expected: float = density * compute_added_volume(ends, volumes, i, j)
    return max(expected, float(count_admitted(bits, i, j, known, False)))


@kernel
def _update_partners(
    boxes: Any, i: int, others: Any, residual_ids: Codes, known: Bits, density: float, best: Any
) -> None:
    """Compare box i with boxes `others`, and update the cheapest partners of all these boxes.

    `boxes` and `best` are the tuples of arrays that `merge_pairwise` builds; `best` is changed in
    place. Nearly all pairs are too far apart to be partners. This is decided here without a call of
    `_merge_cost`, because a call would take longer.
    """
    ends, volumes = boxes[2], boxes[3]
    age, least, partner, partner_age = best
    for j in others:
        if age[j] < 0 or j == i or residual_ids[i] != residual_ids[j]:
            continue
        hull = 1.0
        for k in range(0, ends.shape[1], 2):
            a, b, c, d = ends[i, k], ends[i, k + 1], ends[j, k], ends[j, k + 1]
            hull *= (b if b > d else d) - (a if a < c else c)
        largest_cost = max(least[i], least[j])
        if density * (hull - volumes[i] - volumes[j]) >= largest_cost:
            continue
        cost = _merge_cost(boxes, i, j, known, density)
        if cost < least[i]:
            least[i], partner[i], partner_age[i] = cost, j, age[j]
        if cost < least[j]:
            least[j], partner[j], partner_age[j] = cost, i, age[i]


@kernel
def _grow_to_hull(boxes: Any, i: int, j: int) -> None:
    """Replace box i by the hull of boxes i and j, in place.

    `boxes` is the tuple of arrays that `merge_pairwise` builds.
    """
    lower, upper, ends, volumes, bits = boxes
    volumes[i] = 1.0
    for k in range(lower.shape[1]):
        lower[i, k] = min(lower[i, k], lower[j, k])
        upper[i, k] = max(upper[i, k], upper[j, k])
        ends[i, 2 * k] = min(ends[i, 2 * k], ends[j, 2 * k])
        ends[i, 2 * k + 1] = max(ends[i, 2 * k + 1], ends[j, 2 * k + 1])
        volumes[i] *= ends[i, 2 * k + 1] - ends[i, 2 * k]
    bits[i] |= bits[j]


@kernel
def merge_pairwise(
    lower: Codes, upper: Codes, bounds: Floats, residual_ids: Codes, events: Codes, density: float,
    max_cost: float,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Merge boxes pairwise; return the pairs, their costs and whether each merge is perfect.

    The second box of a pair is merged into the first. A perfect merge costs 0. The cost of another
    merge is the larger of two numbers: the added volume times `density`, and the number of `events`
    in the hull that no earlier merge admits. Merging stops when the total cost would exceed
    `max_cost`. The arrays of boxes are overwritten by hulls.

    For each box the cheapest partner is stored. It is searched for again only when the merge is due
    and the partner has since been merged into another box or has grown. A cost can decrease when
    other merges admit events; the cost of a merge is computed again when the merge is done.
    """
    count = len(lower)
    volumes = np.ones(count)
    for i in range(count):
        for k in range(0, bounds.shape[1], 2):
            volumes[i] *= bounds[i, k + 1] - bounds[i, k]
    bits = compute_side_bits(lower, upper, events)
    is_known = np.zeros(bits.shape[1], np.uint64)
    boxes = (lower, upper, bounds, volumes, bits)
    age, least = np.zeros(count, np.int64), np.full(count, np.inf)
    partner, partner_age = np.full(count, -1, np.int64), np.zeros(count, np.int64)
    best = (age, least, partner, partner_age)
    pairs, costs = np.empty((count, 2), np.int64), np.empty(count)
    perfect = np.empty(count, np.bool_)
    for i in range(count):
        _update_partners(boxes, i, range(i + 1, count), residual_ids, is_known, density, best)
    merged, spent = 0, 0.0
    while True:
        i = int(np.argmin(least))
        if not least[i] <= max_cost - spent or least[i] == np.inf:
            break
        j = partner[i]
        if age[j] == partner_age[i]:
            i, j = min(i, j), max(i, j)
            cost = _merge_cost(boxes, i, j, is_known, density)
            pairs[merged, 0], pairs[merged, 1] = i, j
            costs[merged], perfect[merged] = cost, is_perfect_merge(lower, upper, i, j)
            count_admitted(bits, i, j, is_known, True)
            _grow_to_hull(boxes, i, j)
            age[i] += 1
            age[j] = -1  # merged into box i
            least[j] = np.inf
            spent += cost
            merged += 1
        least[i] = np.inf
        _update_partners(boxes, i, range(count), residual_ids, is_known, density, best)
    return pairs[:merged].copy(), costs[:merged].copy(), perfect[:merged].copy()
