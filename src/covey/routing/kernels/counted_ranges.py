"""Kernels that change the tree of `covey.routing.counted_ranges` by ranges, and query it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey._jit import kernel
from covey.routing.kernels.run_blocks import (
    BLOCK_COUNT,
    BLOCK_RUNS,
    ENTRIES_USED,
    ENTRY_BLOCK,
    ENTRY_CAPACITY,
    ENTRY_START,
    MIN_COUNT,
    POSITION_END,
    RUN_COUNT,
    RUN_START,
    count_ranges_at,
    find_next_start,
    find_previous_run,
    find_run,
    find_run_near,
    join_with_previous,
    split_run_at,
)

__all__ = ["apply_ranges", "contains_positions", "count_ranges", "covers_ranges", "list_runs"]

Ints = NDArray[np.int64]

_COVERED, _PARTIAL, _NEW, _MERGED = range(4)


@kernel
def apply_ranges(
    blocks: Ints,
    directory: Ints,
    state: Ints,
    firsts: Ints,
    lasts: Ints,
    increment: int,
    gap: int,
    kind_counts: Ints,
) -> tuple[int, Ints, Ints]:
    """Add `increment` to the counts of all positions of each range, one range after another.

    The count of a position is the number of ranges that contain it. The call ends early when the
    directory has no space for more blocks.

    Args:
        blocks: the runs; see `covey.routing.kernels.run_blocks`.
        directory: the directory of the blocks.
        state: the number of entries and their capacity.
        firsts: the first position of each range.
        lasts: the last position of each range.
        increment: 1 to add ranges, -1 to remove them.
        gap: gaps of at most this many positions are advertised.
        kind_counts: numbers of ranges by kind (covered, partial, new, merged), to which the call
            adds the ranges that it applies.

    Returns:
        The number of ranges that were applied, and the advertised positions that changed, as first
        and last positions of ranges.
    """
    changed = np.empty((2, 2 * len(firsts) + 16), np.int64)
    count = 0
    for i in range(len(firsts)):
        if state[ENTRIES_USED] + 2 > state[ENTRY_CAPACITY]:  # a range splits at most two blocks
            return i, changed[0, :count].copy(), changed[1, :count].copy()
        first, last = firsts[i], lasts[i]
        left, right = first, last  # ends of the neighbouring runs that no range contains
        e, s = find_run(blocks, directory, state, first)
        if blocks[directory[ENTRY_BLOCK, e], RUN_START, s] < first:
            if count_ranges_at(blocks, directory, directory[ENTRY_BLOCK, e], s) == 0:
                left = blocks[directory[ENTRY_BLOCK, e], RUN_START, s]
        elif first > 0:
            block, slot = find_previous_run(blocks, directory, state, e, s)
            if count_ranges_at(blocks, directory, block, slot) == 0:
                left = blocks[block, RUN_START, slot]
        e, s = find_run_near(blocks, directory, state, e, last + 1)
        if count_ranges_at(blocks, directory, directory[ENTRY_BLOCK, e], s) == 0:
            right = find_next_start(blocks, directory, state, e, s)
            right = right - 1 if right < POSITION_END else POSITION_END
        e = split_run_at(blocks, directory, state, e, last + 1)
        e = split_run_at(blocks, directory, state, e, first)
        e, s = find_run_near(blocks, directory, state, e, first)
        new, x, least = 0, first, POSITION_END
        while x <= last:
            block = directory[ENTRY_BLOCK, e]
            if s == 0:
                least = POSITION_END
                next_start = (
                    directory[ENTRY_START, e + 1] if e + 1 < state[ENTRIES_USED] else POSITION_END
                )
                lowest = directory[MIN_COUNT, block] + directory[BLOCK_COUNT, block]
                if next_start <= last + 1 and lowest > 0 and lowest + increment > 0:
                    directory[BLOCK_COUNT, block] += increment
                    x, e = next_start, e + 1
                    continue
            previous_count = count_ranges_at(blocks, directory, block, s)
            blocks[block, RUN_COUNT, s] += increment
            least = min(least, blocks[block, RUN_COUNT, s])
            directory[MIN_COUNT, block] = min(directory[MIN_COUNT, block], least)
            y = find_next_start(blocks, directory, state, e, s) - 1
            if previous_count == 0 or previous_count + increment == 0:
                # a to b is the run without ranges, before this range is added or after its removal.
                a, b = left if x == first else x, right if y == last else y
                if a == 0 or b == POSITION_END or b - a >= gap:  # not a filled gap
                    new += y - x + 1
                    low = a if 0 < a and x - a <= gap else x
                    high = b if b < POSITION_END and b - y <= gap else y
                    if count == changed.shape[1]:
                        changed = np.concatenate((changed, np.empty_like(changed)), axis=1)
                    changed[0, count], changed[1, count] = low, high
                    count += 1
            x = y + 1
            s += 1
            if s == directory[BLOCK_RUNS, block]:
                if directory[ENTRY_START, e] >= first:  # all its runs were visited
                    directory[MIN_COUNT, block] = least
                e, s = e + 1, 0
        join_with_previous(blocks, directory, state, e, s)
        if first > 0:
            e, s = find_run_near(blocks, directory, state, e, first)
            join_with_previous(blocks, directory, state, e, s)
        if new == 0:
            kind_counts[_COVERED] += 1
            continue
        kind_counts[_NEW if new == last - first + 1 else _PARTIAL] += 1
        has_left_neighbour = first > 0 and (first == left or (left > 0 and first - left <= gap))
        if has_left_neighbour or last == right or (right < POSITION_END and right - last <= gap):
            kind_counts[_MERGED] += 1
    return len(firsts), changed[0, :count].copy(), changed[1, :count].copy()


@kernel
def contains_positions(
    blocks: Ints, directory: Ints, state: Ints, positions: Ints, gap: int
) -> NDArray[np.bool_]:
    """Return for each position whether it is in a range, or in a gap of at most `gap` positions."""
    is_contained = np.zeros(len(positions), np.bool_)
    for i in range(len(positions)):
        if positions[i] < 0:
            continue
        e, s = find_run(blocks, directory, state, positions[i])
        is_contained[i] = count_ranges_at(blocks, directory, directory[ENTRY_BLOCK, e], s) > 0
        if gap and not is_contained[i]:
            start, next_start = (
                blocks[directory[ENTRY_BLOCK, e], RUN_START, s],
                find_next_start(blocks, directory, state, e, s),
            )
            is_contained[i] = start > 0 and next_start < POSITION_END and next_start - start <= gap
    return is_contained


@kernel
def covers_ranges(
    blocks: Ints, directory: Ints, state: Ints, firsts: Ints, lasts: Ints, gap: int
) -> NDArray[np.bool_]:
    """Return for each range whether `contains_positions` is true for all of its positions."""
    is_covered = np.ones(len(firsts), np.bool_)
    for i in range(len(firsts)):
        e, s = find_run(blocks, directory, state, firsts[i])
        start = blocks[directory[ENTRY_BLOCK, e], RUN_START, s]
        while start <= lasts[i]:
            next_start = find_next_start(blocks, directory, state, e, s)
            if count_ranges_at(blocks, directory, directory[ENTRY_BLOCK, e], s) == 0 and (
                start == 0 or next_start == POSITION_END or next_start - start > gap
            ):
                is_covered[i] = False
                break
            s += 1
            if s == directory[BLOCK_RUNS, directory[ENTRY_BLOCK, e]]:
                e, s = e + 1, 0
            start = next_start
    return is_covered


@kernel
def count_ranges(blocks: Ints, directory: Ints, state: Ints, positions: Ints) -> Ints:
    """Return for each position how many ranges contain it."""
    counts = np.zeros(len(positions), np.int64)
    for i in range(len(positions)):
        e, s = find_run(blocks, directory, state, positions[i])
        counts[i] = count_ranges_at(blocks, directory, directory[ENTRY_BLOCK, e], s)
    return counts


@kernel
def list_runs(blocks: Ints, directory: Ints, state: Ints) -> tuple[Ints, Ints]:
    """Return the starts of all runs in order, and their counts.

    The last item of both arrays is not a run: it is the end of all positions, with a count of 0.
    """
    total = 0
    for e in range(state[ENTRIES_USED]):
        total += directory[BLOCK_RUNS, directory[ENTRY_BLOCK, e]]
    starts, counts = np.full(total + 1, POSITION_END), np.zeros(total + 1, np.int64)
    run = 0
    for e in range(state[ENTRIES_USED]):
        for s in range(directory[BLOCK_RUNS, directory[ENTRY_BLOCK, e]]):
            starts[run], counts[run] = (
                blocks[directory[ENTRY_BLOCK, e], RUN_START, s],
                count_ranges_at(blocks, directory, directory[ENTRY_BLOCK, e], s),
            )
            run += 1
    return starts, counts
