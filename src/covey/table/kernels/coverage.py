"""How a range changes the tree of `covey.table.coverage`, and what that is asked."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.compiled import kernel
from covey.table.kernels.blocks import (
    ALL,
    BLOCK_OF,
    COUNT,
    END,
    HEAD,
    LEAST,
    ROOM,
    SIZE,
    START,
    USED,
    before,
    count_of,
    find,
    find_near,
    join,
    next_start,
    split,
)  # fmt: skip

__all__ = ["change", "contains", "counts", "covers", "segments"]

Ints = NDArray[np.int64]

_COVERED, _PARTLY, _NEW, _MERGED = range(4)


@kernel
def change(
    blocks: Ints,
    directory: Ints,
    state: Ints,
    firsts: Ints,
    lasts: Ints,
    by: int,
    gap: int,
    kinds: Ints,
) -> tuple[int, Ints, Ints]:
    """Changes range after range while there is room; gives how many, and the positions told."""
    told = np.empty((2, 2 * len(firsts) + 16), np.int64)
    count = 0
    for i in range(len(firsts)):
        if state[USED] + 2 > state[ROOM]:  # a range splits two blocks at most
            return i, told[0, :count].copy(), told[1, :count].copy()
        first, last = firsts[i], lasts[i]
        left, right = first, last  # of the run of positions beside it that no range contains
        e, s = find(blocks, directory, state, first)
        if blocks[directory[BLOCK_OF, e], START, s] < first:
            if count_of(blocks, directory, directory[BLOCK_OF, e], s) == 0:
                left = blocks[directory[BLOCK_OF, e], START, s]
        elif first > 0:
            block, place = before(blocks, directory, state, e, s)
            if count_of(blocks, directory, block, place) == 0:
                left = blocks[block, START, place]
        e, s = find_near(blocks, directory, state, e, last + 1)
        if count_of(blocks, directory, directory[BLOCK_OF, e], s) == 0:
            right = next_start(blocks, directory, state, e, s)
            right = right - 1 if right < END else END
        e = split(blocks, directory, state, e, last + 1)
        e = split(blocks, directory, state, e, first)
        e, s = find_near(blocks, directory, state, e, first)
        new, x, least = 0, first, END
        while x <= last:
            block = directory[BLOCK_OF, e]
            if s == 0:
                least = END
                after = directory[HEAD, e + 1] if e + 1 < state[USED] else END
                lowest = directory[LEAST, block] + directory[ALL, block]
                if after <= last + 1 and lowest > 0 and lowest + by > 0:
                    directory[ALL, block] += by
                    x, e = after, e + 1
                    continue
            was = count_of(blocks, directory, block, s)
            blocks[block, COUNT, s] += by
            least = min(least, blocks[block, COUNT, s])
            directory[LEAST, block] = min(directory[LEAST, block], least)
            y = next_start(blocks, directory, state, e, s) - 1
            if was == 0 or was + by == 0:
                # The run that this one makes an end of, or is now part of.
                a, b = left if x == first else x, right if y == last else y
                if a == 0 or b == END or b - a >= gap:  # it is no filled gap
                    new += y - x + 1
                    low = a if 0 < a and x - a <= gap else x
                    high = b if b < END and b - y <= gap else y
                    if count == told.shape[1]:
                        told = np.concatenate((told, np.empty_like(told)), axis=1)
                    told[0, count], told[1, count] = low, high
                    count += 1
            x = y + 1
            s += 1
            if s == directory[SIZE, block]:
                if directory[HEAD, e] >= first:  # all of it was seen
                    directory[LEAST, block] = least
                e, s = e + 1, 0
        join(blocks, directory, state, e, s)
        if first > 0:
            e, s = find_near(blocks, directory, state, e, first)
            join(blocks, directory, state, e, s)
        if new == 0:
            kinds[_COVERED] += 1
            continue
        kinds[_NEW if new == last - first + 1 else _PARTLY] += 1
        beside = first > 0 and (first == left or (left > 0 and first - left <= gap))
        if beside or last == right or (right < END and right - last <= gap):
            kinds[_MERGED] += 1
    return len(firsts), told[0, :count].copy(), told[1, :count].copy()


@kernel
def contains(
    blocks: Ints, directory: Ints, state: Ints, points: Ints, gap: int
) -> NDArray[np.bool_]:
    """Whether each position is in the union, or in a gap of it that is filled."""
    found = np.zeros(len(points), np.bool_)
    for i in range(len(points)):
        if points[i] < 0:
            continue
        e, s = find(blocks, directory, state, points[i])
        found[i] = count_of(blocks, directory, directory[BLOCK_OF, e], s) > 0
        if gap and not found[i]:
            start, after = (
                blocks[directory[BLOCK_OF, e], START, s],
                next_start(blocks, directory, state, e, s),
            )
            found[i] = start > 0 and after < END and after - start <= gap
    return found


@kernel
def covers(
    blocks: Ints, directory: Ints, state: Ints, firsts: Ints, lasts: Ints, gap: int
) -> NDArray[np.bool_]:
    """The same for all of each range."""
    found = np.ones(len(firsts), np.bool_)
    for i in range(len(firsts)):
        e, s = find(blocks, directory, state, firsts[i])
        start = blocks[directory[BLOCK_OF, e], START, s]
        while start <= lasts[i]:
            after = next_start(blocks, directory, state, e, s)
            if count_of(blocks, directory, directory[BLOCK_OF, e], s) == 0 and (
                start == 0 or after == END or after - start > gap
            ):
                found[i] = False
                break
            s += 1
            if s == directory[SIZE, directory[BLOCK_OF, e]]:
                e, s = e + 1, 0
            start = after
    return found


@kernel
def counts(blocks: Ints, directory: Ints, state: Ints, points: Ints) -> Ints:
    """How many ranges contain each position."""
    found = np.zeros(len(points), np.int64)
    for i in range(len(points)):
        e, s = find(blocks, directory, state, points[i])
        found[i] = count_of(blocks, directory, directory[BLOCK_OF, e], s)
    return found


@kernel
def segments(blocks: Ints, directory: Ints, state: Ints) -> tuple[Ints, Ints]:
    """All segments in order, and the end of all positions."""
    total = 0
    for e in range(state[USED]):
        total += directory[SIZE, directory[BLOCK_OF, e]]
    starts, counts = np.full(total + 1, END), np.zeros(total + 1, np.int64)
    at = 0
    for e in range(state[USED]):
        for s in range(directory[SIZE, directory[BLOCK_OF, e]]):
            starts[at], counts[at] = (
                blocks[directory[BLOCK_OF, e], START, s],
                count_of(blocks, directory, directory[BLOCK_OF, e], s),
            )
            at += 1
    return starts, counts
