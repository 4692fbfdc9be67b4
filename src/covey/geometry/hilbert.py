"""Hilbert's curve: a position for every cell of a grid, and boxes of cells as ranges of positions.

The grid has d dimensions of 2^bits cells each, with d·bits at most 62. Neighbours on the curve are
neighbours in the grid, so a box consists of few ranges: on average, the number of cells in its
surface divided by 2d. The ranges are computed by halving blocks of the grid in the order of the
curve. A block inside the box is a range, a block outside the box is dropped, and a block that is
partly inside the box is halved again. (papers: mics)

Cost: some nanoseconds per bit of a position; some tens of nanoseconds for each block that is partly
inside a box. Wide boxes in many dimensions have a large surface and thus many ranges; bound their
number with `max_ranges`, or do not use the curve for them.
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
"""Largest number of bits of a position, which is an int64."""
_EXTRA_RANGES = 256  # a box with more than 4·max_ranges + 256 ranges is computed with larger cells
_BLOCKS_PER_RANGE = 64  # the same if more blocks than this are visited per possible range
_UNBOUNDED = 1 << 40  # max_ranges for boxes without a limit


def encode_cells(cells: ArrayLike, bits: int) -> Ints:
    """Return the position of each cell on the curve.

    Args:
        cells: a row for each cell, with a coordinate from 0 to 2^`bits` - 1 in each column.
        bits: number of bits of a coordinate.

    Raises:
        InvalidArgumentError: `cells` is not two-dimensional, a coordinate is out of range, `bits`
            is below 1, or the number of columns times `bits` exceeds 62.

    >>> encode_cells([[0, 0], [1, 0], [1, 1], [0, 1]], 1).tolist()
    [0, 3, 2, 1]
    """
    grid = _check_cells(cells, bits)
    positions: Ints = (
        _encode_cells_kernel(grid, bits) if grid.shape[1] else np.zeros(len(grid), np.int64)
    )
    return positions


def decompose_boxes(
    lower: ArrayLike, upper: ArrayLike, bits: int, *, max_ranges: int | None = None
) -> RangeSets:
    """Return for each box the positions of its cells, as ranges.

    If a box has more than `max_ranges` ranges, the smallest gaps between them are filled until
    `max_ranges` remain. These ranges also contain positions outside the box. If a box has more than
    4·`max_ranges` + 256 ranges, or needs too many blocks, its ranges are first computed with larger
    cells. The cost of a box is therefore at most proportional to `max_ranges`.

    Args:
        lower: a row for each box with its lowest cell, as in the argument `cells` of
            `encode_cells`. The box contains this cell.
        upper: a row for each box with its highest cell. The box contains this cell.
        bits: number of bits of a coordinate.
        max_ranges: largest number of ranges of a box; None for no limit.

    Raises:
        InvalidArgumentError: `encode_cells` would not accept `lower` or `upper`, their shapes
            differ, a coordinate in `upper` is below the one in `lower`, or `max_ranges` is below 1.

    >>> list(decompose_boxes([[0, 0]], [[1, 2]], 2).row(0))
    [(0, 4), (7, 7)]
    >>> list(decompose_boxes([[0, 0]], [[1, 2]], 2, max_ranges=1).row(0))
    [(0, 7)]
    """
    if max_ranges is not None and max_ranges < 1:
        raise InvalidArgumentError(f"max_ranges must be at least 1, got {max_ranges}")
    low, high = _check_cells(lower, bits), _check_cells(upper, bits)
    if low.shape != high.shape or (low > high).any():
        raise InvalidArgumentError(
            "upper must have the same shape as lower, and none of its coordinates may be below "
            f"that of lower: the shapes are {high.shape} (upper) and {low.shape} (lower)"
        )
    bound = _UNBOUNDED if max_ranges is None else min(max_ranges, _UNBOUNDED)
    return RangeSets(*_decompose_boxes_kernel(low, high, bits, bound, 4 * bound + _EXTRA_RANGES))


def _check_cells(cells: ArrayLike, bits: int) -> Ints:
    """Return cells as an array of int64; see `encode_cells` for what is checked."""
    grid = np.ascontiguousarray(cells, np.int64)
    if grid.ndim != 2 or bits < 1 or grid.shape[1] * bits > MAX_BITS:
        raise InvalidArgumentError(
            "cells must be a two-dimensional array, bits at least 1, and the number of columns "
            f"times bits at most {MAX_BITS}: got an array of shape {grid.shape} and {bits} bits"
        )
    if ((grid < 0) | (grid >> bits != 0)).any():
        raise InvalidArgumentError(
            f"with {bits} bits, coordinates of cells must be from 0 to {(1 << bits) - 1}: "
            f"got coordinates from {int(grid.min())} to {int(grid.max())}"
        )
    return grid


# The curve enters a block of the grid at one of its corners, and leaves it at the other end of an
# edge of that corner. `entry` has one bit per dimension for the corner; `axis` is the dimension of
# the edge. Halving a block in each dimension gives 2^d sub-blocks. The curve visits them in the
# order of a Gray code, rotated and mirrored to agree with `entry` and `axis`.


@kernel
def _encode_cells_kernel(cells: Ints, bits: int) -> Ints:
    """Return the position of each cell; see `encode_cells`."""
    count, d = cells.shape
    positions = np.zeros(count, np.int64)
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
        positions[i] = position
    return positions


@kernel
def _find_block_orientation(step: int, entry: int, axis: int, d: int) -> tuple[int, int]:
    """Return the entry and the axis of sub-block number `step`, in the order of the curve.

    `entry` and `axis` are those of the whole block, and `d` is the number of dimensions.
    """
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
    """Return the ranges of all boxes as the columns of `RangeSets`: offsets, first and last.

    If a box has more than `range_capacity` ranges, its ranges are computed again with cells of
    twice the width, until there are at most `range_capacity`. If there are still more than
    `max_ranges`, the smallest gaps between them are filled.
    """
    count, d = lower.shape
    offsets = np.zeros(count + 1, np.int64)
    firsts, lasts = np.empty(4 * count + 64, np.int64), np.empty(4 * count + 64, np.int64)
    buffer = np.empty((2, 64), np.int64)
    corners, states = np.empty((d * bits + 2, d), np.int64), np.empty((d * bits + 2, 6), np.int64)
    for i in range(count):
        depth = d * bits
        range_count, buffer = _decompose_box(
            lower[i], upper[i], bits, depth, range_capacity, buffer, corners, states
        )
        while range_count > range_capacity:
            depth -= d
            range_count, buffer = _decompose_box(
                lower[i], upper[i], bits, depth, range_capacity, buffer, corners, states
            )
        if range_count > max_ranges:
            range_count = _fill_smallest_gaps(buffer, range_count, max_ranges)
        start = offsets[i]
        offsets[i + 1] = start + range_count
        while start + range_count > len(firsts):
            firsts = np.concatenate((firsts, np.empty_like(firsts)))
            lasts = np.concatenate((lasts, np.empty_like(lasts)))
        firsts[start : start + range_count] = buffer[0, :range_count]
        lasts[start : start + range_count] = buffer[1, :range_count]
    return offsets, firsts[: offsets[count]].copy(), lasts[: offsets[count]].copy()


@kernel
def _decompose_box(
    lower: Ints, upper: Ints, bits: int, depth: int, range_capacity: int,
    range_buffer: Ints, corners: Ints, states: Ints,
) -> tuple[int, Ints]:  # fmt: skip
    """Write the ranges of one box, computed from blocks that are halved at most `depth` times.

    A range is written to one column of `range_buffer`: its first position, then its last position.
    `corners` and `states` are working memory: a stack of blocks, one block per row.

    Returns:
        The number of ranges, and the array with the ranges: `range_buffer`, or a larger array if
        `range_buffer` was too small. The number is `range_capacity` + 1 if the box has more ranges
        than `range_capacity`, or if too many blocks were visited.
    """
    d = len(lower)
    whole = (1 << d) - 1
    inside = 0
    for m in range(d):
        corners[0, m] = 0
        if lower[m] == 0 and upper[m] == (1 << bits) - 1:
            inside |= 1 << m
    # For each block: number of halvings; leading bits of its position; those of these bits that
    # were added since all dimensions were last halved; entry; axis; and one bit for each dimension
    # in which the block lies inside the box.
    states[0] = np.array([0, 0, 0, 0, 0, inside])
    stack_size, range_count, visited = 1, 0, 0
    while stack_size:
        stack_size -= 1
        visited += 1
        if visited > _BLOCKS_PER_RANGE * range_capacity:
            return range_capacity + 1, range_buffer
        halvings, position, step, entry, axis, inside = states[stack_size]
        if inside == whole or halvings == depth:
            remaining_bits = d * bits - halvings
            first, last = position << remaining_bits, ((position + 1) << remaining_bits) - 1
            if range_count and range_buffer[1, range_count - 1] + 1 == first:
                range_buffer[1, range_count - 1] = last
                continue
            if range_count == range_capacity:
                return range_capacity + 1, range_buffer
            if range_count == range_buffer.shape[1]:
                range_buffer = np.concatenate((range_buffer, np.empty_like(range_buffer)), axis=1)
            range_buffer[0, range_count], range_buffer[1, range_count] = first, last
            range_count += 1
            continue
        level, b = bits - 1 - halvings // d, d - 1 - halvings % d
        m = (b + axis + 1) % d
        corner = corners[stack_size, m]
        slot = stack_size
        for bit in (1, 0):  # the half that the curve visits later goes deeper into the stack
            side = bit ^ (step & 1) ^ ((entry >> m) & 1)
            low = corner | (side << level)
            high = low + (1 << level) - 1
            if low > upper[m] or high < lower[m]:
                continue
            if stack_size > slot:
                corners[stack_size] = corners[slot]
            inside_now = inside
            if lower[m] <= low and high <= upper[m]:
                inside_now |= 1 << m
            corners[stack_size, m] = low
            next_step = (step << 1) | bit
            states[stack_size, 0], states[stack_size, 1] = halvings + 1, (position << 1) | bit
            states[stack_size, 2], states[stack_size, 5] = next_step, inside_now
            states[stack_size, 3], states[stack_size, 4] = entry, axis
            if b == 0:
                states[stack_size, 3], states[stack_size, 4] = _find_block_orientation(
                    next_step, entry, axis, d
                )
                states[stack_size, 2] = 0
            stack_size += 1
    return range_count, range_buffer


@kernel
def _fill_smallest_gaps(range_buffer: Ints, range_count: int, max_ranges: int) -> int:
    """Fill the smallest gaps between ranges in place until `max_ranges` remain; return the number.

    The first `range_count` columns of `range_buffer` are ranges, in ascending order.
    """
    gaps = range_buffer[0, 1:range_count] - range_buffer[1, : range_count - 1]
    begins_range = np.zeros(range_count, np.bool_)
    begins_range[np.argsort(-gaps, kind="mergesort")[: max_ranges - 1] + 1] = True
    count = 1
    for i in range(1, range_count):
        if begins_range[i]:
            range_buffer[0, count] = range_buffer[0, i]
            count += 1
        range_buffer[1, count - 1] = range_buffer[1, i]
    return count
