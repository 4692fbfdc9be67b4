"""How many ranges contain each position: a B+tree of two levels that is changed range by range.

Positions are divided into runs. All positions of a run are in the same number of ranges, its count;
neighbouring runs have different counts. Runs are stored in blocks of at most 128, and a directory
has the first position of each block. The *union* is the set of positions that at least one range
contains. The *advertised* positions are the union and its gaps of at most `gap` positions
(imperfect merging). Adding or removing ranges returns exactly the advertised positions that change.
A neighbour that applies these changes knows the advertised positions exactly. A gap is advertised
as soon as it has at most `gap` positions; a range that is added within it later is covered.
(papers: mics)

Cost: per range some binary searches, the move of at most one block, and a step for each run inside
the range; a block within the range takes only one step if the advertised positions in it do not
change. The directory is moved when a block is split. 16 bytes per run, about two runs per range.
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
    """Change of the advertised positions by a batch of ranges, and number of ranges of each kind.

    Args:
        ranges: the advertised positions that were added or removed.
        covered_count: number of ranges that changed nothing.
        partial_count: number of ranges of which some positions changed.
        new_count: number of ranges of which all positions changed.
        merged_count: number of partial and new ranges that are next to other advertised positions,
            or so near to them that the gap is filled.
    """

    ranges: RangeSet
    covered_count: int
    partial_count: int
    new_count: int
    merged_count: int


class _RunTree(NamedTuple):
    """Blocks of runs, and the directory of the blocks.

    A block has for each of its runs the start, and the number of ranges that contain the run,
    without the `directory[BLOCK_COUNT, b]` ranges that are counted for the whole block b. Entry e
    of the directory is for block `directory[ENTRY_BLOCK, e]`, whose first run starts at
    `directory[ENTRY_START, e]`; block b has `directory[BLOCK_RUNS, b]` runs. The entries from
    `state[ENTRIES_USED]` on are for unused blocks. Kernels take the three arrays one by one,
    because each access through a tuple would update reference counts.
    """

    blocks: Ints
    directory: Ints
    state: Ints


class CountedRanges:
    """Ranges of positions, which are at least 0; a range may be added several times.

    Args:
        gap: gaps of at most this many positions are advertised as well.

    >>> ranges = CountedRanges(gap=1)
    >>> list(ranges.add([0, 12], [10, 20]).ranges)  # includes 11, a gap
    [(0, 20)]
    >>> list(ranges.add([11], [11]).ranges), list(ranges.remove([0], [10]).ranges)
    ([], [(0, 10)])
    """

    def __init__(self, gap: int = 0) -> None:
        if gap < 0:
            raise InvalidArgumentError(f"gap must be at least 0 positions, got {gap}")
        self.gap = gap
        self._tree = _build_empty_tree()

    def add(self, first: ArrayLike, last: ArrayLike) -> RangeDelta:
        """Add ranges; return the positions that are newly advertised."""
        return self._apply_ranges(first, last, 1)

    def remove(self, first: ArrayLike, last: ArrayLike) -> RangeDelta:
        """Remove ranges that were added; return the positions that are no longer advertised."""
        return self._apply_ranges(first, last, -1)

    def contains(self, positions: ArrayLike) -> NDArray[np.bool_]:
        """Return for each position whether it is advertised."""
        position_array = np.ascontiguousarray(positions, np.int64)
        is_advertised: NDArray[np.bool_] = contains_positions(*self._tree, position_array, self.gap)
        return is_advertised

    def covers(self, first: ArrayLike, last: ArrayLike) -> NDArray[np.bool_]:
        """Return for each range whether all of its positions are advertised."""
        firsts, lasts = np.ascontiguousarray(first, np.int64), np.ascontiguousarray(last, np.int64)
        is_covered: NDArray[np.bool_] = covers_ranges(*self._tree, firsts, lasts, self.gap)
        return is_covered

    def count_ranges(self, positions: ArrayLike) -> Ints:
        """Return for each position how many ranges contain it."""
        counts: Ints = count_ranges(*self._tree, np.ascontiguousarray(positions, np.int64))
        return counts

    @property
    def union(self) -> RangeSet:
        """Positions that at least one range contains. Cost: a step for each run."""
        starts, counted = list_runs(*self._tree)
        nonempty_runs = np.flatnonzero(counted)
        return RangeSet.from_ranges(starts[nonempty_runs], starts[nonempty_runs + 1] - 1)

    @property
    def advertised_ranges(self) -> RangeSet:
        """Advertised positions: the union with its gaps of at most `gap` positions filled."""
        return self.union.fill_gaps(self.gap)

    @property
    def range_count(self) -> int:
        """Number of disjoint advertised ranges."""
        return len(self.advertised_ranges)

    def _apply_ranges(self, first: ArrayLike, last: ArrayLike, increment: int) -> RangeDelta:
        """Add `increment` to the counts of all positions of each range; return what changed.

        If the tree has no space for more blocks, it is enlarged, and the kernel is called again for
        the remaining ranges.
        """
        firsts, lasts = np.ascontiguousarray(first, np.int64), np.ascontiguousarray(last, np.int64)
        changed_ranges = [(np.empty(0, np.int64), np.empty(0, np.int64))]
        kind_counts, done = np.zeros(4, np.int64), 0
        while done < len(firsts):
            range_count, a, b = apply_ranges(
                *self._tree, firsts[done:], lasts[done:], increment, self.gap, kind_counts
            )
            done += range_count
            changed_ranges.append((a, b))
            if done < len(firsts):
                self._tree = _double_capacity(self._tree)
        a, b = (np.concatenate(ends) for ends in zip(*changed_ranges, strict=True))
        return RangeDelta(RangeSet.from_ranges(a, b), *kind_counts.tolist())


def _build_empty_tree() -> _RunTree:
    """Return a tree with one run, which contains all positions and has a count of 0."""
    directory = np.zeros((DIRECTORY_ROWS, 4), np.int64)
    directory[ENTRY_BLOCK] = np.arange(4)
    directory[BLOCK_RUNS, 0] = 1
    return _RunTree(np.zeros((4, 2, MAX_BLOCK_RUNS), np.int64), directory, np.array([1, 4]))


def _double_capacity(tree: _RunTree) -> _RunTree:
    """Return the tree with space for twice as many blocks."""
    count = len(tree.blocks)
    directory = np.concatenate([tree.directory, np.zeros_like(tree.directory)], axis=1)
    directory[ENTRY_BLOCK, count:] = np.arange(count, 2 * count)
    blocks = np.concatenate([tree.blocks, np.zeros_like(tree.blocks)])
    return _RunTree(blocks, directory, np.array([tree.state[ENTRIES_USED], 2 * count]))
