"""Hilbert's curve: a position for every cell of a grid, and boxes of cells as ranges of positions.

The grid has d dimensions of 2^bits cells each, d·bits at most 62. Neighbours on the curve are
neighbours in the grid, so a box is few ranges: on average its surface by 2d. They are found by
halving the grid again and again, in the order of the curve: a part wholly inside the box is one
range, one outside is dropped, and only parts that the box's surface cuts are halved further.
(papers: mics)

Cost: some nanoseconds per bit of a position; per box, some tens of nanoseconds for each part cut.
Wrong choice for wide boxes in many dimensions, whose surface is large: `max_ranges` bounds
their number.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covey._jit import kernel
from covey.errors import InvalidArgumentError
from covey.geometry.range_sets import RangeSets

__all__ = ["MAX_BITS", "decompose_boxes", "encode_cells"]

Ints = NDArray[np.int64]

MAX_BITS = 62
"""How many bits a position may have."""
_EXTRA_RANGES = 256  # ranges beyond 4·most up to which the smallest gaps of a box are looked for
_BLOCKS_PER_RANGE = 64  # looked at per range before larger cells are taken
_UNBOUNDED = 1 << 40


def encode_cells(cells: ArrayLike, bits: int) -> Ints:
    """The position of each cell (row) on the curve.

    >>> encode_cells([[0, 0], [1, 0], [1, 1], [0, 1]], 1).tolist()
    [0, 3, 2, 1]
    """
    grid = _check_cells(cells, bits)
    found: Ints = (
        _encode_cells_kernel(grid, bits) if grid.shape[1] else np.zeros(len(grid), np.int64)
    )
    return found


def decompose_boxes(
    lower: ArrayLike, upper: ArrayLike, bits: int, *, max_ranges: int | None = None
) -> RangeSets:
    """For each box, given by its corners (both inside), the ranges of its cells.

    If there are more than `max_ranges`, the smallest gaps between them are filled until there are
    not: what is given then contains the box. A box of more than 4·`max_ranges` + 256 ranges is
    looked at in larger cells, so that a box costs no more than in proportion to `max_ranges`.

    >>> list(decompose_boxes([[0, 0]], [[1, 2]], 2).row(0))
    [(0, 4), (7, 7)]
    >>> list(decompose_boxes([[0, 0]], [[1, 2]], 2, max_ranges=1).row(0))
    [(0, 7)]
    """
    if max_ranges is not None and max_ranges < 1:
        raise InvalidArgumentError(f"a box needs at least one range, not {max_ranges}")
    low, high = _check_cells(lower, bits), _check_cells(upper, bits)
    if low.shape != high.shape or (low > high).any():
        raise InvalidArgumentError(
            "boxes have as many upper corners as lower ones, and none is below"
        )
    bound = _UNBOUNDED if max_ranges is None else min(max_ranges, _UNBOUNDED)
    return RangeSets(*_decompose_boxes_kernel(low, high, bits, bound, 4 * bound + _EXTRA_RANGES))


def _check_cells(cells: ArrayLike, bits: int) -> Ints:
    grid = np.ascontiguousarray(cells, np.int64)
    if grid.ndim != 2 or bits < 1 or grid.shape[1] * bits > MAX_BITS:
        raise InvalidArgumentError(
            f"cells are rows of d numbers with d·bits from 1 to {MAX_BITS}: "
            f"not of shape {grid.shape} with {bits} bits"
        )
    if ((grid < 0) | (grid >> bits != 0)).any():
        raise InvalidArgumentError(f"a cell's numbers are from 0 to {(1 << bits) - 1}")
    return grid


# A part of the grid is entered at one of its corners and left at the end of one of the edges there.
# `entry` has a bit a dimension for that corner, `axis` is the edge's dimension. The 2^d halves of
# halves of a part are walked in the order of a Gray code, turned and mirrored to fit these two.


@kernel
def _encode_cells_kernel(cells: Ints, bits: int) -> Ints:
    count, d = cells.shape
    found = np.zeros(count, np.int64)
    for i in range(count):
        entry, axis, position = 0, 0, 0
        for level in range(bits - 1, -1, -1):
            step, above = 0, 0
            for b in range(d - 1, -1, -1):
                m = (b + axis + 1) % d
                bit = ((cells[i, m] >> level) & 1) ^ ((entry >> m) & 1) ^ above
                step, above = (step << 1) | bit, bit
            position = (position << d) | step
            entry, axis = _find_block_orientation(step, entry, axis, d)
        found[i] = position
    return found


@kernel
def _find_block_orientation(step: int, entry: int, axis: int, d: int) -> tuple[int, int]:
    """Entry and axis of the part that is walked as number `step` of a part's 2^d."""
    if step == 0:
        return entry, (axis + 1) % d
    even = (step - 1) & ~1
    corner = even ^ (even >> 1)
    for b in range(d):
        entry ^= ((corner >> b) & 1) << ((b + axis + 1) % d)
    ones = step if step & 1 else step - 1
    turn = 0
    while ones & 1:
        ones >>= 1
        turn += 1
    return entry, (axis + turn + 1) % d


@kernel
def _decompose_boxes_kernel(
    lower: Ints, upper: Ints, bits: int, max_ranges: int, range_capacity: int
) -> tuple[Ints, Ints, Ints]:
    count, d = lower.shape
    offsets = np.zeros(count + 1, np.int64)
    firsts, lasts = np.empty(4 * count + 64, np.int64), np.empty(4 * count + 64, np.int64)
    some = np.empty((2, 64), np.int64)
    corners, states = np.empty((d * bits + 2, d), np.int64), np.empty((d * bits + 2, 6), np.int64)
    for i in range(count):
        depth = d * bits
        found, some = _decompose_box(
            lower[i], upper[i], bits, depth, range_capacity, some, corners, states
        )
        while found > range_capacity:
            depth -= d
            found, some = _decompose_box(
                lower[i], upper[i], bits, depth, range_capacity, some, corners, states
            )
        if found > max_ranges:
            found = _fill_smallest_gaps(some, found, max_ranges)
        start = offsets[i]
        offsets[i + 1] = start + found
        while start + found > len(firsts):
            firsts = np.concatenate((firsts, np.empty_like(firsts)))
            lasts = np.concatenate((lasts, np.empty_like(lasts)))
        firsts[start : start + found] = some[0, :found]
        lasts[start : start + found] = some[1, :found]
    return offsets, firsts[: offsets[count]].copy(), lasts[: offsets[count]].copy()


@kernel
def _decompose_box(
    lower: Ints, upper: Ints, bits: int, depth: int, range_capacity: int,
    range_buffer: Ints, corners: Ints, states: Ints,
) -> tuple[int, Ints]:  # fmt: skip
    """Ranges of one box from parts of at most `depth` halvings; stops at `range_capacity`."""
    d = len(lower)
    whole = (1 << d) - 1
    inside = 0
    for m in range(d):
        corners[0, m] = 0
        if lower[m] == 0 and upper[m] == (1 << bits) - 1:
            inside |= 1 << m
    # halvings so far, position so far, steps of this level so far, entry, axis, dimensions inside
    states[0] = np.array([0, 0, 0, 0, 0, inside])
    waiting, found, looked = 1, 0, 0
    while waiting:
        waiting -= 1
        looked += 1
        if looked > _BLOCKS_PER_RANGE * range_capacity:
            return range_capacity + 1, range_buffer
        halved, position, step, entry, axis, inside = states[waiting]
        if inside == whole or halved == depth:
            left = d * bits - halved
            first, last = position << left, ((position + 1) << left) - 1
            if found and range_buffer[1, found - 1] + 1 == first:
                range_buffer[1, found - 1] = last
                continue
            if found == range_capacity:
                return range_capacity + 1, range_buffer
            if found == range_buffer.shape[1]:
                range_buffer = np.concatenate((range_buffer, np.empty_like(range_buffer)), axis=1)
            range_buffer[0, found], range_buffer[1, found] = first, last
            found += 1
            continue
        level, b = bits - 1 - halved // d, d - 1 - halved % d
        m = (b + axis + 1) % d
        corner = corners[waiting, m]
        kept = waiting
        for bit in (1, 0):  # the later half waits below the earlier
            side = bit ^ (step & 1) ^ ((entry >> m) & 1)
            low = corner | (side << level)
            high = low + (1 << level) - 1
            if low > upper[m] or high < lower[m]:
                continue
            if waiting > kept:
                corners[waiting] = corners[kept]
            now = inside
            if lower[m] <= low and high <= upper[m]:
                now |= 1 << m
            corners[waiting, m] = low
            taken = (step << 1) | bit
            states[waiting, 0], states[waiting, 1] = halved + 1, (position << 1) | bit
            states[waiting, 2], states[waiting, 5] = taken, now
            states[waiting, 3], states[waiting, 4] = entry, axis
            if b == 0:
                states[waiting, 3], states[waiting, 4] = _find_block_orientation(
                    taken, entry, axis, d
                )
                states[waiting, 2] = 0
            waiting += 1
    return found, range_buffer


@kernel
def _fill_smallest_gaps(range_buffer: Ints, range_count: int, max_ranges: int) -> int:
    """Fills the smallest gaps, in place, so that `max_ranges` are left."""
    gaps = range_buffer[0, 1:range_count] - range_buffer[1, : range_count - 1]
    kept = np.zeros(range_count, np.bool_)
    kept[np.argsort(-gaps, kind="mergesort")[: max_ranges - 1] + 1] = True
    count = 1
    for i in range(1, range_count):
        if kept[i]:
            range_buffer[0, count] = range_buffer[0, i]
            count += 1
        range_buffer[1, count - 1] = range_buffer[1, i]
    return count
