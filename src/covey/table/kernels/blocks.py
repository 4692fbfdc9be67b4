"""The B+tree of `covey.table.coverage`: segments in blocks, and a directory of the blocks.

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
    "ALL", "BLOCK", "BLOCK_OF", "COUNT", "END", "HEAD", "LEAST", "ROOM", "ROWS", "SIZE", "START",
    "USED", "before", "count_of", "find", "find_near", "join", "next_start", "split",
]  # fmt: skip

Ints = NDArray[np.int64]

BLOCK = 128
"""How many segments a block has at most."""
BLOCK_OF, HEAD, SIZE, ALL, LEAST = range(5)
"""Rows of the directory, the first two by entry, the others by block."""
ROWS = 5
USED, ROOM = 0, 1
"""Of the state: how many entries there are, and for how many there is room."""
START, COUNT = 0, 1
"""Of a block."""
END = np.iinfo(np.int64).max
"""The end of all positions."""


@kernel(inline="always")
def count_of(blocks: Any, directory: Any, block: Any, place: Any) -> Any:
    """How many ranges contain a segment."""
    return blocks[block, COUNT, place] + directory[ALL, block]


@kernel
def find(blocks: Ints, directory: Ints, state: Ints, position: int) -> tuple[int, int]:
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
def find_near(
    blocks: Ints, directory: Ints, state: Ints, entry: int, position: int
) -> tuple[int, int]:
    """The same, at once if it is in the block of a given entry."""
    if (
        entry < state[USED]
        and directory[HEAD, entry] <= position
        and (entry + 1 == state[USED] or position < directory[HEAD, entry + 1])
    ):
        return entry, _find_in(blocks, directory, state, directory[BLOCK_OF, entry], position)
    found: tuple[int, int] = find(blocks, directory, state, position)
    return found


@kernel
def _find_in(blocks: Ints, directory: Ints, state: Ints, block: int, position: int) -> int:
    """The place of the last segment of a block that does not start after a position."""
    place, above = 0, directory[SIZE, block]
    while above - place > 1:
        middle = (place + above) >> 1
        if blocks[block, START, middle] <= position:
            place = middle
        else:
            above = middle
    return place


@kernel
def before(blocks: Ints, directory: Ints, state: Ints, entry: int, place: int) -> tuple[int, int]:
    """Block and place of the segment before one that is not the first."""
    if place > 0:
        return directory[BLOCK_OF, entry], place - 1
    block = directory[BLOCK_OF, entry - 1]
    return block, directory[SIZE, block] - 1


@kernel
def next_start(blocks: Ints, directory: Ints, state: Ints, entry: int, place: int) -> int:
    """Where the segment after one starts; the end of all positions after the last."""
    block = directory[BLOCK_OF, entry]
    if place + 1 < directory[SIZE, block]:
        return blocks[block, START, place + 1]  # type: ignore[no-any-return]
    return directory[HEAD, entry + 1] if entry + 1 < state[USED] else END


@kernel
def split(blocks: Ints, directory: Ints, state: Ints, entry: int, position: int) -> int:
    """Lets a segment start at a position, which may be near an entry; gives its own entry."""
    entry, place = find_near(blocks, directory, state, entry, position)
    block = directory[BLOCK_OF, entry]
    if blocks[block, START, place] == position:
        return entry
    count = blocks[block, COUNT, place]
    if directory[SIZE, block] == BLOCK:
        _halve(blocks, directory, state, entry)
        entry, place = find(blocks, directory, state, position)
        block = directory[BLOCK_OF, entry]
    for i in range(directory[SIZE, block], place + 1, -1):
        blocks[block, START, i], blocks[block, COUNT, i] = (
            blocks[block, START, i - 1],
            blocks[block, COUNT, i - 1],
        )
    blocks[block, START, place + 1], blocks[block, COUNT, place + 1] = position, count
    directory[SIZE, block] += 1
    return entry


@kernel
def _halve(blocks: Ints, directory: Ints, state: Ints, entry: int) -> None:
    """Moves the second half of a block to a free one."""
    block, used = directory[BLOCK_OF, entry], state[USED]
    other, half = directory[BLOCK_OF, used], BLOCK // 2
    for i in range(half):
        blocks[other, START, i], blocks[other, COUNT, i] = (
            blocks[block, START, half + i],
            blocks[block, COUNT, half + i],
        )
    directory[SIZE, block], directory[SIZE, other] = half, half
    directory[ALL, other] = directory[ALL, block]
    directory[LEAST, other] = directory[LEAST, block]
    for i in range(used, entry + 1, -1):
        directory[BLOCK_OF, i], directory[HEAD, i] = (
            directory[BLOCK_OF, i - 1],
            directory[HEAD, i - 1],
        )
    directory[BLOCK_OF, entry + 1], directory[HEAD, entry + 1] = other, blocks[other, START, 0]
    state[USED] += 1


@kernel
def join(blocks: Ints, directory: Ints, state: Ints, entry: int, place: int) -> None:
    """Makes a segment, not the first, one with that before if their counts agree."""
    block = directory[BLOCK_OF, entry]
    earlier, last = before(blocks, directory, state, entry, place)
    if count_of(blocks, directory, earlier, last) != count_of(blocks, directory, block, place):
        return
    directory[SIZE, block] -= 1
    for i in range(place, directory[SIZE, block]):
        blocks[block, START, i], blocks[block, COUNT, i] = (
            blocks[block, START, i + 1],
            blocks[block, COUNT, i + 1],
        )
    if place == 0 and directory[SIZE, block]:
        directory[HEAD, entry] = blocks[block, START, 0]
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
    more = directory[ALL, other] - directory[ALL, block]
    for i in range(directory[SIZE, other]):
        blocks[block, START, have + i], blocks[block, COUNT, have + i] = (
            blocks[other, START, i],
            blocks[other, COUNT, i] + more,
        )
    directory[LEAST, block] = min(directory[LEAST, block], directory[LEAST, other] + more)
    directory[SIZE, block] += directory[SIZE, other]
    directory[SIZE, other] = 0
    directory[HEAD, entry] = blocks[block, START, 0]
    state[USED] -= 1
    for i in range(entry + 1, state[USED]):
        directory[BLOCK_OF, i], directory[HEAD, i] = (
            directory[BLOCK_OF, i + 1],
            directory[HEAD, i + 1],
        )
    directory[BLOCK_OF, state[USED]] = other
