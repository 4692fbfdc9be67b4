"""How many living ranges contain each position: a B+tree of two levels that changes range by range.

The positions fall into segments within which the number of ranges is one; neighbours differ in it.
Segments are in blocks of at most 128, and a directory has the first position of each block. The
positions that some range contains are the *union*; what is *advertised* is the union with its gaps
of at most `gap` positions filled (imperfect merging). Adding and removing give exactly the
difference that they make to what is advertised, so a neighbour that follows knows just that: what
a filled gap contains is told before anything is taken to be covered by it. (papers: mics)

Cost: per range some binary searches, the move of at most a block, and a step for each segment
inside it, or for each block where what is advertised stays as it is; the directory moves when a
block splits. 16 bytes a segment, about two segments a range.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covey.errors import ValueRefused
from covey.geometry.ranges import Ranges
from covey.table.kernels.blocks import BLOCK, BLOCK_OF, ROWS, SIZE, USED
from covey.table.kernels.coverage import change, contains, counts, covers, segments

__all__ = ["Change", "Coverage"]

Ints = NDArray[np.int64]


class Change(NamedTuple):
    """What a batch of ranges changed: the positions, and how many ranges of which kind there were.

    Of a range nothing was new (`covered`), something (`partly`) or all (`new`); `merged` of the
    last two lie at, or within a gap of, what is advertised beside them.
    """

    ranges: Ranges
    covered: int
    partly: int
    new: int
    merged: int


class _Tree(NamedTuple):
    """Blocks of segments, each by its start and its count, and the directory of the blocks.

    Entry e of the directory is for block `directory[BLOCK_OF, e]`, whose first segment starts at
    `directory[HEAD, e]`; block b has `directory[SIZE, b]` segments. Entries from `state[USED]`
    on name the blocks that are not in use. Kernels take the three arrays one by one: out of a tuple
    each access would count references.
    """

    blocks: Ints
    directory: Ints
    state: Ints


class Coverage:
    """Ranges of positions from 0 up, each contained as often as it was added.

    >>> some = Coverage(gap=1)
    >>> list(some.add([0, 12], [10, 20]).ranges)  # 11 is told as well
    [(0, 20)]
    >>> list(some.add([11], [11]).ranges), list(some.remove([0], [10]).ranges)
    ([], [(0, 10)])
    """

    def __init__(self, gap: int = 0) -> None:
        if gap < 0:
            raise ValueRefused(f"a gap of at most {gap} positions: it is 0 or more")
        self.gap = gap
        self._tree = _new_tree()

    def add(self, first: ArrayLike, last: ArrayLike) -> Change:
        """Adds ranges; gives the positions that are newly advertised."""
        return self._change(first, last, 1)

    def remove(self, first: ArrayLike, last: ArrayLike) -> Change:
        """Removes ranges that were added; gives the positions that are no longer advertised."""
        return self._change(first, last, -1)

    def contains(self, points: ArrayLike) -> NDArray[np.bool_]:
        """Whether each position is advertised."""
        asked = np.ascontiguousarray(points, np.int64)
        found: NDArray[np.bool_] = contains(*self._tree, asked, self.gap)
        return found

    def covers(self, first: ArrayLike, last: ArrayLike) -> NDArray[np.bool_]:
        """Whether all of each range is advertised: whether adding it would tell nothing."""
        firsts, lasts = np.ascontiguousarray(first, np.int64), np.ascontiguousarray(last, np.int64)
        found: NDArray[np.bool_] = covers(*self._tree, firsts, lasts, self.gap)
        return found

    def counts(self, points: ArrayLike) -> Ints:
        """How many ranges contain each position."""
        found: Ints = counts(*self._tree, np.ascontiguousarray(points, np.int64))
        return found

    @property
    def union(self) -> Ranges:
        """The positions that some range contains. Cost: a step a segment."""
        starts, counted = segments(*self._tree)
        some = np.flatnonzero(counted)
        return Ranges.of(starts[some], starts[some + 1] - 1)

    @property
    def advertised(self) -> Ranges:
        """The union with its small gaps filled."""
        return self.union.closed(self.gap)

    @property
    def stored(self) -> int:
        """How many disjoint ranges are advertised."""
        return len(self.advertised)

    def _change(self, first: ArrayLike, last: ArrayLike, by: int) -> Change:
        firsts, lasts = np.ascontiguousarray(first, np.int64), np.ascontiguousarray(last, np.int64)
        told = [(np.empty(0, np.int64), np.empty(0, np.int64))]
        kinds, done = np.zeros(4, np.int64), 0
        while done < len(firsts):
            some, a, b = change(*self._tree, firsts[done:], lasts[done:], by, self.gap, kinds)
            done += some
            told.append((a, b))
            if done < len(firsts):
                self._tree = _grown(self._tree)
        a, b = (np.concatenate(ends) for ends in zip(*told, strict=True))
        return Change(Ranges.of(a, b), *kinds.tolist())


def _new_tree() -> _Tree:
    """One segment, from 0 to the end of all positions, that no range contains."""
    directory = np.zeros((ROWS, 4), np.int64)
    directory[BLOCK_OF] = np.arange(4)
    directory[SIZE, 0] = 1
    return _Tree(np.zeros((4, 2, BLOCK), np.int64), directory, np.array([1, 4]))


def _grown(tree: _Tree) -> _Tree:
    """The same with twice as many blocks."""
    count = len(tree.blocks)
    directory = np.concatenate([tree.directory, np.zeros_like(tree.directory)], axis=1)
    directory[BLOCK_OF, count:] = np.arange(count, 2 * count)
    blocks = np.concatenate([tree.blocks, np.zeros_like(tree.blocks)])
    return _Tree(blocks, directory, np.array([tree.state[USED], 2 * count]))
