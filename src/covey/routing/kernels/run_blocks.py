"""B+tree of `covey.routing.counted_ranges`: runs in blocks, and a directory of the blocks.

A block has two rows: the start of each run, and the number of ranges that contain the run but are
not counted for the whole block. The directory has for each entry its block and the start of that
block. It has for each block the number of its runs, the number of ranges that are counted for the
whole block, and a lower bound of the numbers in the second row. So a range that contains a whole
block is applied in one step if the advertised positions in the block do not change.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey._jit import kernel

__all__ = [
    "BLOCK_COUNT",
    "BLOCK_RUNS",
    "DIRECTORY_ROWS",
    "ENTRIES_USED",
    "ENTRY_BLOCK",
    "ENTRY_CAPACITY",
    "ENTRY_START",
    "MAX_BLOCK_RUNS",
    "MIN_COUNT",
    "POSITION_END",
    "RUN_COUNT",
    "RUN_START",
    "count_ranges_at",
    "find_next_start",
    "find_previous_run",
    "find_run",
    "find_run_near",
    "join_with_previous",
    "split_run_at",
]  # fmt: skip

Ints = NDArray[np.int64]

MAX_BLOCK_RUNS = 128
"""Largest number of runs of a block."""
ENTRY_BLOCK, ENTRY_START, BLOCK_RUNS, BLOCK_COUNT, MIN_COUNT = range(5)
"""Rows of the directory: the first two are indexed by entry, the others by block."""
DIRECTORY_ROWS = 5
"""Number of rows of the directory."""
ENTRIES_USED, ENTRY_CAPACITY = 0, 1
"""Items of the state: the number of entries, and the number for which there is space."""
RUN_START, RUN_COUNT = 0, 1
"""Rows of a block."""
POSITION_END = np.iinfo(np.int64).max
"""End of all positions."""


@kernel(inline="always")
def count_ranges_at(blocks: Any, directory: Any, block: Any, slot: Any) -> Any:
    """Return how many ranges contain the run in a slot of a block."""
    return blocks[block, RUN_COUNT, slot] + directory[BLOCK_COUNT, block]


@kernel
def find_run(blocks: Ints, directory: Ints, state: Ints, position: int) -> tuple[int, int]:
    """Return the run that contains a position, as directory entry and slot in its block."""
    low, high = 0, state[ENTRIES_USED]
    while high - low > 1:
        middle = (low + high) >> 1
        if directory[ENTRY_START, middle] <= position:
            low = middle
        else:
            high = middle
    return low, _find_run_in_block(blocks, directory, state, directory[ENTRY_BLOCK, low], position)


@kernel
def find_run_near(
    blocks: Ints, directory: Ints, state: Ints, entry: int, position: int
) -> tuple[int, int]:
    """Return the run that contains a position, as directory entry and slot in its block.

    If the run is in the block of `entry`, this is faster than `find_run`.
    """
    if (
        entry < state[ENTRIES_USED]
        and directory[ENTRY_START, entry] <= position
        and (entry + 1 == state[ENTRIES_USED] or position < directory[ENTRY_START, entry + 1])
    ):
        return entry, _find_run_in_block(
            blocks, directory, state, directory[ENTRY_BLOCK, entry], position
        )
    entry_and_slot: tuple[int, int] = find_run(blocks, directory, state, position)
    return entry_and_slot


@kernel
def _find_run_in_block(
    blocks: Ints, directory: Ints, state: Ints, block: int, position: int
) -> int:
    """Return the slot of the last run of a block that does not start after a position."""
    slot, above = 0, directory[BLOCK_RUNS, block]
    while above - slot > 1:
        middle = (slot + above) >> 1
        if blocks[block, RUN_START, middle] <= position:
            slot = middle
        else:
            above = middle
    return slot


@kernel
def find_previous_run(
    blocks: Ints, directory: Ints, state: Ints, entry: int, slot: int
) -> tuple[int, int]:
    """Return block and slot of the run before the run in slot `slot` of the block of `entry`.

    The latter run must not be the first run of all.
    """
    if slot > 0:
        return directory[ENTRY_BLOCK, entry], slot - 1
    block = directory[ENTRY_BLOCK, entry - 1]
    return block, directory[BLOCK_RUNS, block] - 1


@kernel
def find_next_start(blocks: Ints, directory: Ints, state: Ints, entry: int, slot: int) -> int:
    """Return the start of the run after the run in slot `slot` of the block of `entry`.

    For the last run of all, return `POSITION_END`.
    """
    block = directory[ENTRY_BLOCK, entry]
    if slot + 1 < directory[BLOCK_RUNS, block]:
        return blocks[block, RUN_START, slot + 1]  # type: ignore[no-any-return]
    return directory[ENTRY_START, entry + 1] if entry + 1 < state[ENTRIES_USED] else POSITION_END


@kernel
def split_run_at(blocks: Ints, directory: Ints, state: Ints, entry: int, position: int) -> int:
    """Split a run so that a run starts at `position`; return the directory entry of its block.

    If `position` is in the block of `entry`, the search is faster.
    """
    entry, slot = find_run_near(blocks, directory, state, entry, position)
    block = directory[ENTRY_BLOCK, entry]
    if blocks[block, RUN_START, slot] == position:
        return entry
    count = blocks[block, RUN_COUNT, slot]
    if directory[BLOCK_RUNS, block] == MAX_BLOCK_RUNS:
        _split_block(blocks, directory, state, entry)
        entry, slot = find_run(blocks, directory, state, position)
        block = directory[ENTRY_BLOCK, entry]
    for i in range(directory[BLOCK_RUNS, block], slot + 1, -1):
        blocks[block, RUN_START, i], blocks[block, RUN_COUNT, i] = (
            blocks[block, RUN_START, i - 1],
            blocks[block, RUN_COUNT, i - 1],
        )
    blocks[block, RUN_START, slot + 1], blocks[block, RUN_COUNT, slot + 1] = position, count
    directory[BLOCK_RUNS, block] += 1
    return entry


@kernel
def _split_block(blocks: Ints, directory: Ints, state: Ints, entry: int) -> None:
    """Move the second half of the runs of a block to an unused block."""
    block, used = directory[ENTRY_BLOCK, entry], state[ENTRIES_USED]
    other, half = directory[ENTRY_BLOCK, used], MAX_BLOCK_RUNS // 2
    for i in range(half):
        blocks[other, RUN_START, i], blocks[other, RUN_COUNT, i] = (
            blocks[block, RUN_START, half + i],
            blocks[block, RUN_COUNT, half + i],
        )
    directory[BLOCK_RUNS, block], directory[BLOCK_RUNS, other] = half, half
    directory[BLOCK_COUNT, other] = directory[BLOCK_COUNT, block]
    directory[MIN_COUNT, other] = directory[MIN_COUNT, block]
    for i in range(used, entry + 1, -1):
        directory[ENTRY_BLOCK, i], directory[ENTRY_START, i] = (
            directory[ENTRY_BLOCK, i - 1],
            directory[ENTRY_START, i - 1],
        )
    directory[ENTRY_BLOCK, entry + 1], directory[ENTRY_START, entry + 1] = (
        other,
        blocks[other, RUN_START, 0],
    )
    state[ENTRIES_USED] += 1


@kernel
def join_with_previous(blocks: Ints, directory: Ints, state: Ints, entry: int, slot: int) -> None:
    """Join a run with the previous run if their counts are equal.

    The run is in slot `slot` of the block of `entry`, and must not be the first run of all. A block
    that becomes small may be merged with its neighbours.
    """
    block = directory[ENTRY_BLOCK, entry]
    earlier, last = find_previous_run(blocks, directory, state, entry, slot)
    if count_ranges_at(blocks, directory, earlier, last) != count_ranges_at(
        blocks, directory, block, slot
    ):
        return
    directory[BLOCK_RUNS, block] -= 1
    for i in range(slot, directory[BLOCK_RUNS, block]):
        blocks[block, RUN_START, i], blocks[block, RUN_COUNT, i] = (
            blocks[block, RUN_START, i + 1],
            blocks[block, RUN_COUNT, i + 1],
        )
    if slot == 0 and directory[BLOCK_RUNS, block]:
        directory[ENTRY_START, entry] = blocks[block, RUN_START, 0]
    if directory[BLOCK_RUNS, block] < MAX_BLOCK_RUNS // 4:
        if entry + 1 < state[ENTRIES_USED]:
            _merge_with_next_block(blocks, directory, state, entry)
        if entry > 0:
            _merge_with_next_block(blocks, directory, state, entry - 1)


@kernel
def _merge_with_next_block(blocks: Ints, directory: Ints, state: Ints, entry: int) -> None:
    """Merge a block with the next block if one is empty, or both fit in half a block together."""
    block, other = directory[ENTRY_BLOCK, entry], directory[ENTRY_BLOCK, entry + 1]
    run_count = directory[BLOCK_RUNS, block]
    if (
        run_count
        and directory[BLOCK_RUNS, other]
        and run_count + directory[BLOCK_RUNS, other] > MAX_BLOCK_RUNS // 2
    ):
        return
    count_difference = directory[BLOCK_COUNT, other] - directory[BLOCK_COUNT, block]
    for i in range(directory[BLOCK_RUNS, other]):
        blocks[block, RUN_START, run_count + i], blocks[block, RUN_COUNT, run_count + i] = (
            blocks[other, RUN_START, i],
            blocks[other, RUN_COUNT, i] + count_difference,
        )
    directory[MIN_COUNT, block] = min(
        directory[MIN_COUNT, block], directory[MIN_COUNT, other] + count_difference
    )
    directory[BLOCK_RUNS, block] += directory[BLOCK_RUNS, other]
    directory[BLOCK_RUNS, other] = 0
    directory[ENTRY_START, entry] = blocks[block, RUN_START, 0]
    state[ENTRIES_USED] -= 1
    for i in range(entry + 1, state[ENTRIES_USED]):
        directory[ENTRY_BLOCK, i], directory[ENTRY_START, i] = (
            directory[ENTRY_BLOCK, i + 1],
            directory[ENTRY_START, i + 1],
        )
    directory[ENTRY_BLOCK, state[ENTRIES_USED]] = other
