"""The B+tree of `covey.table.coverage`: how a range changes it, and what it is asked.

Segments are rows of a block: where each starts, and how many ranges contain it besides those that
contain all of the block. The directory has for each entry its block and where that starts, and for
each block how many segments it has, how many ranges contain all of it, and what none of its rows is
below. So a range that changes nothing of what is advertised in a block need not look into it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.compiled import kernel

__all__ = [
    "BLOCK", "BLOCK_OF", "HEAD", "ROWS", "SIZE", "USED", "change", "contains", "counts", "covers",
    "segments",
]  # fmt: skip

Ints = NDArray[np.int64]

BLOCK = 128
"""How many segments a block has at most."""
BLOCK_OF, HEAD, SIZE, _ALL, _LEAST = range(5)
ROWS = 5
"""How many rows the directory has."""
USED, _ROOM = 0, 1
_END = np.iinfo(np.int64).max
_COVERED, _PARTLY, _NEW, _MERGED = range(4)
_START, _COUNT = 0, 1


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
        if state[USED] + 2 > state[_ROOM]:  # a range splits two blocks at most
            return i, told[0, :count].copy(), told[1, :count].copy()
        first, last = firsts[i], lasts[i]
        left, right = first, last  # of the run of positions beside it that no range contains
        e, s = _find(blocks, directory, state, first)
        if blocks[directory[BLOCK_OF, e], _START, s] < first:
            if _count(blocks, directory, directory[BLOCK_OF, e], s) == 0:
                left = blocks[directory[BLOCK_OF, e], _START, s]
        elif first > 0:
            block, place = _before(blocks, directory, state, e, s)
            if _count(blocks, directory, block, place) == 0:
                left = blocks[block, _START, place]
        e, s = _find_near(blocks, directory, state, e, last + 1)
        if _count(blocks, directory, directory[BLOCK_OF, e], s) == 0:
            right = _next_start(blocks, directory, state, e, s)
            right = right - 1 if right < _END else _END
        e = _split(blocks, directory, state, e, last + 1)
        e = _split(blocks, directory, state, e, first)
        e, s = _find_near(blocks, directory, state, e, first)
        new, x, least = 0, first, _END
        while x <= last:
            block = directory[BLOCK_OF, e]
            if s == 0:
                least = _END
                after = directory[HEAD, e + 1] if e + 1 < state[USED] else _END
                lowest = directory[_LEAST, block] + directory[_ALL, block]
                if after <= last + 1 and lowest > 0 and lowest + by > 0:
                    directory[_ALL, block] += by
                    x, e = after, e + 1
                    continue
            was = _count(blocks, directory, block, s)
            blocks[block, _COUNT, s] += by
            least = min(least, blocks[block, _COUNT, s])
            directory[_LEAST, block] = min(directory[_LEAST, block], least)
            y = _next_start(blocks, directory, state, e, s) - 1
            if was == 0 or was + by == 0:
                # The run that this one makes an end of, or is now part of.
                a, b = left if x == first else x, right if y == last else y
                if a == 0 or b == _END or b - a >= gap:  # it is no filled gap
                    new += y - x + 1
                    low = a if 0 < a and x - a <= gap else x
                    high = b if b < _END and b - y <= gap else y
                    if count == told.shape[1]:
                        told = np.concatenate((told, np.empty_like(told)), axis=1)
                    told[0, count], told[1, count] = low, high
                    count += 1
            x = y + 1
            s += 1
            if s == directory[SIZE, block]:
                if directory[HEAD, e] >= first:  # all of it was seen
                    directory[_LEAST, block] = least
                e, s = e + 1, 0
        _join(blocks, directory, state, e, s)
        if first > 0:
            e, s = _find_near(blocks, directory, state, e, first)
            _join(blocks, directory, state, e, s)
        if new == 0:
            kinds[_COVERED] += 1
            continue
        kinds[_NEW if new == last - first + 1 else _PARTLY] += 1
        beside = first > 0 and (first == left or (left > 0 and first - left <= gap))
        if beside or last == right or (right < _END and right - last <= gap):
            kinds[_MERGED] += 1
    return len(firsts), told[0, :count].copy(), told[1, :count].copy()


@kernel(inline="always")
def _count(blocks: Any, directory: Any, block: Any, place: Any) -> Any:
    """How many ranges contain a segment."""
    return blocks[block, _COUNT, place] + directory[_ALL, block]


@kernel
def _find(blocks: Ints, directory: Ints, state: Ints, position: int) -> tuple[int, int]:
    """The segment that a position is in, as directory entry and place in its block."""
    low, high = 0, state[USED]
    while high - low > 1:
        middle = (low + high) >> 1
        if directory[HEAD, middle] <= position:
            low = middle
        else:
            high = middle
    return low, _find_in(blocks, directory, state, directory[BLOCK_OF, low], position)


@kernel
def _find_near(
    blocks: Ints, directory: Ints, state: Ints, entry: int, position: int
) -> tuple[int, int]:
    """The same, at once if it is in the block of a given entry."""
    if (
        entry < state[USED]
        and directory[HEAD, entry] <= position
        and (entry + 1 == state[USED] or position < directory[HEAD, entry + 1])
    ):
        return entry, _find_in(blocks, directory, state, directory[BLOCK_OF, entry], position)
    found: tuple[int, int] = _find(blocks, directory, state, position)
    return found


@kernel
def _find_in(blocks: Ints, directory: Ints, state: Ints, block: int, position: int) -> int:
    """The place of the last segment of a block that does not start after a position."""
    place, above = 0, directory[SIZE, block]
    while above - place > 1:
        middle = (place + above) >> 1
        if blocks[block, _START, middle] <= position:
            place = middle
        else:
            above = middle
    return place


@kernel
def _before(blocks: Ints, directory: Ints, state: Ints, entry: int, place: int) -> tuple[int, int]:
    """Block and place of the segment before one that is not the first."""
    if place > 0:
        return directory[BLOCK_OF, entry], place - 1
    block = directory[BLOCK_OF, entry - 1]
    return block, directory[SIZE, block] - 1


@kernel
def _next_start(blocks: Ints, directory: Ints, state: Ints, entry: int, place: int) -> int:
    """Where the segment after one starts; the end of all positions after the last."""
    block = directory[BLOCK_OF, entry]
    if place + 1 < directory[SIZE, block]:
        return blocks[block, _START, place + 1]  # type: ignore[no-any-return]
    return directory[HEAD, entry + 1] if entry + 1 < state[USED] else _END


@kernel
def _split(blocks: Ints, directory: Ints, state: Ints, entry: int, position: int) -> int:
    """Lets a segment start at a position, which may be near an entry; gives its own entry."""
    entry, place = _find_near(blocks, directory, state, entry, position)
    block = directory[BLOCK_OF, entry]
    if blocks[block, _START, place] == position:
        return entry
    count = blocks[block, _COUNT, place]
    if directory[SIZE, block] == BLOCK:
        _halve(blocks, directory, state, entry)
        entry, place = _find(blocks, directory, state, position)
        block = directory[BLOCK_OF, entry]
    for i in range(directory[SIZE, block], place + 1, -1):
        blocks[block, _START, i], blocks[block, _COUNT, i] = (
            blocks[block, _START, i - 1],
            blocks[block, _COUNT, i - 1],
        )
    blocks[block, _START, place + 1], blocks[block, _COUNT, place + 1] = position, count
    directory[SIZE, block] += 1
    return entry


@kernel
def _halve(blocks: Ints, directory: Ints, state: Ints, entry: int) -> None:
    """Moves the second half of a block to a free one."""
    block, used = directory[BLOCK_OF, entry], state[USED]
    other, half = directory[BLOCK_OF, used], BLOCK // 2
    for i in range(half):
        blocks[other, _START, i], blocks[other, _COUNT, i] = (
            blocks[block, _START, half + i],
            blocks[block, _COUNT, half + i],
        )
    directory[SIZE, block], directory[SIZE, other] = half, half
    directory[_ALL, other] = directory[_ALL, block]
    directory[_LEAST, other] = directory[_LEAST, block]
    for i in range(used, entry + 1, -1):
        directory[BLOCK_OF, i], directory[HEAD, i] = (
            directory[BLOCK_OF, i - 1],
            directory[HEAD, i - 1],
        )
    directory[BLOCK_OF, entry + 1], directory[HEAD, entry + 1] = other, blocks[other, _START, 0]
    state[USED] += 1


@kernel
def _join(blocks: Ints, directory: Ints, state: Ints, entry: int, place: int) -> None:
    """Makes a segment, not the first, one with that before if their counts agree."""
    block = directory[BLOCK_OF, entry]
    before, last = _before(blocks, directory, state, entry, place)
    if _count(blocks, directory, before, last) != _count(blocks, directory, block, place):
        return
    directory[SIZE, block] -= 1
    for i in range(place, directory[SIZE, block]):
        blocks[block, _START, i], blocks[block, _COUNT, i] = (
            blocks[block, _START, i + 1],
            blocks[block, _COUNT, i + 1],
        )
    if place == 0 and directory[SIZE, block]:
        directory[HEAD, entry] = blocks[block, _START, 0]
    if directory[SIZE, block] < BLOCK // 4:
        if entry + 1 < state[USED]:
            _put_together(blocks, directory, state, entry)
        if entry > 0:
            _put_together(blocks, directory, state, entry - 1)


@kernel
def _put_together(blocks: Ints, directory: Ints, state: Ints, entry: int) -> None:
    """Makes one of a block and the next if they fill no more than half of it."""
    block, other = directory[BLOCK_OF, entry], directory[BLOCK_OF, entry + 1]
    have = directory[SIZE, block]
    if have and directory[SIZE, other] and have + directory[SIZE, other] > BLOCK // 2:
        return
    more = directory[_ALL, other] - directory[_ALL, block]
    for i in range(directory[SIZE, other]):
        blocks[block, _START, have + i], blocks[block, _COUNT, have + i] = (
            blocks[other, _START, i],
            blocks[other, _COUNT, i] + more,
        )
    directory[_LEAST, block] = min(directory[_LEAST, block], directory[_LEAST, other] + more)
    directory[SIZE, block] += directory[SIZE, other]
    directory[SIZE, other] = 0
    directory[HEAD, entry] = blocks[block, _START, 0]
    state[USED] -= 1
    for i in range(entry + 1, state[USED]):
        directory[BLOCK_OF, i], directory[HEAD, i] = (
            directory[BLOCK_OF, i + 1],
            directory[HEAD, i + 1],
        )
    directory[BLOCK_OF, state[USED]] = other


@kernel
def contains(
    blocks: Ints, directory: Ints, state: Ints, points: Ints, gap: int
) -> NDArray[np.bool_]:
    """Whether each position is in the union, or in a gap of it that is filled."""
    found = np.zeros(len(points), np.bool_)
    for i in range(len(points)):
        if points[i] < 0:
            continue
        e, s = _find(blocks, directory, state, points[i])
        found[i] = _count(blocks, directory, directory[BLOCK_OF, e], s) > 0
        if gap and not found[i]:
            start, after = (
                blocks[directory[BLOCK_OF, e], _START, s],
                _next_start(blocks, directory, state, e, s),
            )
            found[i] = start > 0 and after < _END and after - start <= gap
    return found


@kernel
def covers(
    blocks: Ints, directory: Ints, state: Ints, firsts: Ints, lasts: Ints, gap: int
) -> NDArray[np.bool_]:
    """The same for all of each range."""
    found = np.ones(len(firsts), np.bool_)
    for i in range(len(firsts)):
        e, s = _find(blocks, directory, state, firsts[i])
        start = blocks[directory[BLOCK_OF, e], _START, s]
        while start <= lasts[i]:
            after = _next_start(blocks, directory, state, e, s)
            if _count(blocks, directory, directory[BLOCK_OF, e], s) == 0 and (
                start == 0 or after == _END or after - start > gap
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
        e, s = _find(blocks, directory, state, points[i])
        found[i] = _count(blocks, directory, directory[BLOCK_OF, e], s)
    return found


@kernel
def segments(blocks: Ints, directory: Ints, state: Ints) -> tuple[Ints, Ints]:
    """All segments in order, and the end of all positions."""
    total = 0
    for e in range(state[USED]):
        total += directory[SIZE, directory[BLOCK_OF, e]]
    starts, counts = np.full(total + 1, _END), np.zeros(total + 1, np.int64)
    at = 0
    for e in range(state[USED]):
        for s in range(directory[SIZE, directory[BLOCK_OF, e]]):
            starts[at], counts[at] = (
                blocks[directory[BLOCK_OF, e], _START, s],
                _count(blocks, directory, directory[BLOCK_OF, e], s),
            )
            at += 1
    return starts, counts
