"""How many living ranges contain each position: a B+tree of two levels that changes range by range.

The positions fall into runs within which the number of ranges is the same; neighbours differ in it.
Runs are in blocks of at most 128, and a directory has the first position of each block. The
positions that some range contains are the *union*; what is *advertised* is the union with its gaps
of at most `gap` positions filled (imperfect merging). Adding and removing give exactly the
difference that they make to what is advertised, so a neighbour that follows knows just that: what
a filled gap contains is told before anything is taken to be covered by it. (papers: mics)

Cost: per range some binary searches, the move of at most a block, and a step for each run inside
it, or for each block where what is advertised stays as it is; the directory moves when a block
splits. 16 bytes a run, about two runs a range.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covey.errors import InvalidArgumentError
from covey.geometry.range_sets import RangeSet
from covey.routing.kernels.counted_ranges import (
    apply_ranges,
    contains_positions,
    count_ranges,
    covers_ranges,
    list_runs,
)
from covey.routing.kernels.run_blocks import (
    BLOCK_RUNS,
    DIRECTORY_ROWS,
    ENTRIES_USED,
    ENTRY_BLOCK,
    MAX_BLOCK_RUNS,
)

__all__ = ["CountedRanges", "RangeDelta"]

Ints = NDArray[np.int64]


class RangeDelta(NamedTuple):
    """What a batch of ranges changed: the positions, and how many ranges of which kind there were.

    Of a range nothing was new (`covered_count`), something (`partial_count`) or all (`new_count`);
    `merged_count` of the last two lie at, or within a gap of, what is advertised beside them.
    """

    ranges: RangeSet
    covered_count: int
    partial_count: int
    new_count: int
    merged_count: int


class _RunTree(NamedTuple):
    """Blocks of runs, each by its start and its count, and the directory of the blocks.

    Entry e of the directory is for block `directory[ENTRY_BLOCK, e]`, whose first run starts at
    `directory[ENTRY_START, e]`; block b has `directory[BLOCK_RUNS, b]` runs. Entries from
    `state[ENTRIES_USED]` on name the blocks that are not in use. Kernels take the three arrays one
    by one: out of a tuple each access would count references.
    """

    blocks: Ints
    directory: Ints
    state: Ints


class CountedRanges:
    """Ranges of positions from 0 up, each contained as often as it was added.

    >>> some = CountedRanges(gap=1)
    >>> list(some.add([0, 12], [10, 20]).ranges)  # 11 is told as well
    [(0, 20)]
    >>> list(some.add([11], [11]).ranges), list(some.remove([0], [10]).ranges)
    ([], [(0, 10)])
    """

    def __init__(self, gap: int = 0) -> None:
        if gap < 0:
            raise InvalidArgumentError(f"a gap of at most {gap} positions: it is 0 or more")
        self.gap = gap
        self._tree = _build_empty_tree()

    def add(self, first: ArrayLike, last: ArrayLike) -> RangeDelta:
        """Adds ranges; gives the positions that are newly advertised."""
        return self._apply_ranges(first, last, 1)

    def remove(self, first: ArrayLike, last: ArrayLike) -> RangeDelta:
        """Removes ranges that were added; gives the positions that are no longer advertised."""
        return self._apply_ranges(first, last, -1)

    def contains(self, positions: ArrayLike) -> NDArray[np.bool_]:
        """Whether each position is advertised."""
        asked = np.ascontiguousarray(positions, np.int64)
        found: NDArray[np.bool_] = contains_positions(*self._tree, asked, self.gap)
        return found

    def covers(self, first: ArrayLike, last: ArrayLike) -> NDArray[np.bool_]:
        """Whether all of each range is advertised: whether adding it would tell nothing."""
        firsts, lasts = np.ascontiguousarray(first, np.int64), np.ascontiguousarray(last, np.int64)
        found: NDArray[np.bool_] = covers_ranges(*self._tree, firsts, lasts, self.gap)
        return found

    def count_ranges(self, positions: ArrayLike) -> Ints:
        """How many ranges contain each position."""
        found: Ints = count_ranges(*self._tree, np.ascontiguousarray(positions, np.int64))
        return found

    @property
    def union(self) -> RangeSet:
        """The positions that some range contains. Cost: a step a run."""
        starts, counted = list_runs(*self._tree)
        some = np.flatnonzero(counted)
        return RangeSet.from_ranges(starts[some], starts[some + 1] - 1)

    @property
    def advertised_ranges(self) -> RangeSet:
        """The union with its small gaps filled."""
        return self.union.fill_gaps(self.gap)

    @property
    def range_count(self) -> int:
        """How many disjoint ranges are advertised."""
        return len(self.advertised_ranges)

    def _apply_ranges(self, first: ArrayLike, last: ArrayLike, increment: int) -> RangeDelta:
        firsts, lasts = np.ascontiguousarray(first, np.int64), np.ascontiguousarray(last, np.int64)
        told = [(np.empty(0, np.int64), np.empty(0, np.int64))]
        kinds, done = np.zeros(4, np.int64), 0
        while done < len(firsts):
            some, a, b = apply_ranges(
                *self._tree, firsts[done:], lasts[done:], increment, self.gap, kinds
            )
            done += some
            told.append((a, b))
            if done < len(firsts):
                self._tree = _double_capacity(self._tree)
        a, b = (np.concatenate(ends) for ends in zip(*told, strict=True))
        return RangeDelta(RangeSet.from_ranges(a, b), *kinds.tolist())


def _build_empty_tree() -> _RunTree:
    """One run, from 0 to the end of all positions, that no range contains."""
    directory = np.zeros((DIRECTORY_ROWS, 4), np.int64)
    directory[ENTRY_BLOCK] = np.arange(4)
    directory[BLOCK_RUNS, 0] = 1
    return _RunTree(np.zeros((4, 2, MAX_BLOCK_RUNS), np.int64), directory, np.array([1, 4]))


def _double_capacity(tree: _RunTree) -> _RunTree:
    """The tree with room for twice as many blocks."""
    count = len(tree.blocks)
    directory = np.concatenate([tree.directory, np.zeros_like(tree.directory)], axis=1)
    directory[ENTRY_BLOCK, count:] = np.arange(count, 2 * count)
    blocks = np.concatenate([tree.blocks, np.zeros_like(tree.blocks)])
    return _RunTree(blocks, directory, np.array([tree.state[ENTRIES_USED], 2 * count]))
