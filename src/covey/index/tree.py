"""A tree of bitmaps over boxes of codes.

1,024 boxes in their order make a node; so do 1,024 nodes' bounds, up to one root. A node holds, per
attribute, 64 buckets of codes and for each the set of its children that meet it: one AND per
attribute tests all children at once. Batches go down level by level, node by node, so that a
node's bitmaps stay in cache.

Cost: 8 bytes per box and attribute for the bitmaps, 4 for the codes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.index.codes import LAST, NULL, Coded, Codes
from covey.index.kernels import BUCKETS, WORDS, check, fill_bitmaps, propose
from covey.index.order import ordered

__all__ = ["BitmapTree"]

Rows = NDArray[np.int64]
NODE = 64 * WORDS


@dataclass(frozen=True, slots=True)
class _Level:
    """The nodes of one level, a row each."""

    base: NDArray[np.int64]
    shift: NDArray[np.int64]
    bitmaps: NDArray[np.uint64]
    free: NDArray[np.bool_]
    first_child: Rows


@dataclass(frozen=True, slots=True)
class BitmapTree:
    """Boxes of codes that can be asked which of them contain points or boxes."""

    boxes: Coded
    order: Rows
    levels: tuple[_Level, ...]

    @classmethod
    def build(cls, boxes: Coded) -> BitmapTree:
        """A tree of all boxes.

        Cost: n · attributes · log n, mostly for the order.
        """
        order = ordered(boxes, NODE)
        lower, upper = boxes.lower[order], boxes.upper[order]
        inside = Coded(lower, upper, boxes.exact[order])
        levels = []
        while True:
            levels.append(_level(lower, upper))
            if len(lower) <= NODE:
                break
            starts = np.arange(0, len(lower), NODE)
            lower = np.minimum.reduceat(lower, starts)
            upper = np.maximum.reduceat(upper, starts)
        return cls(inside, order, tuple(reversed(levels)))

    def containing(self, low: Codes, high: Codes) -> tuple[Rows, Rows, NDArray[np.bool_]]:
        """Boxes that contain both corners `low[i]` and `high[i]`: pairs, and which are certain.

        A pair that is not certain must be decided by the originals; no pair is missing.
        """
        if not len(self.order) or not len(low):
            none = np.empty(0, np.int64)
            return none, none, np.empty(0, np.bool_)
        rows, nodes = np.arange(len(low)), np.zeros(len(low), np.int64)
        for level in self.levels:
            by_node = np.argsort(nodes, kind="stable")
            starts = np.searchsorted(nodes[by_node], np.arange(len(level.first_child)))
            rows, nodes = propose(
                low, high, rows[by_node], starts, level.base, level.shift, level.bitmaps,
                level.free, level.first_child,
            )  # fmt: skip
        state = check(low, high, rows, nodes, self.boxes.lower, self.boxes.upper)
        kept = state > 0
        certain = (state[kept] == 2) & self.boxes.exact[nodes[kept]]
        return rows[kept], self.order[nodes[kept]], certain


def _level(lower: Codes, upper: Codes) -> _Level:
    """The nodes over children in their order."""
    count, attributes = -(-len(lower) // NODE), lower.shape[1]
    first_child = np.minimum(np.arange(count + 1) * NODE, len(lower))
    base, shift = np.zeros((count, attributes), np.int64), np.zeros((count, attributes), np.int64)
    bitmaps = np.zeros((count, attributes, BUCKETS, WORDS), np.uint64)
    free = np.zeros((count, attributes), np.bool_)
    for n in range(count):
        low, high = (codes[first_child[n] : first_child[n + 1]] for codes in (lower, upper))
        free[n] = ((low == NULL) & (high == LAST)).all(axis=0)
        base[n], shift[n] = _buckets(low, high)
        fill_bitmaps(low, high, base[n], shift[n], bitmaps[n])
    return _Level(base, shift, bitmaps, free, first_child)


def _buckets(low: Codes, high: Codes) -> tuple[Rows, Rows]:
    """Where the buckets of a node start, and how wide they are, as a power of two."""
    finite = np.where(low > 1, low, LAST).min(axis=0).astype(np.int64)
    last = np.where(high < LAST, high, 0).max(axis=0).astype(np.int64)
    last = np.maximum(last, np.where(low > 1, low, 0).max(axis=0))
    base = np.minimum(finite, last)
    width = np.maximum(1, -(-(last - base + 2) // (BUCKETS - 2)))
    return base, np.ceil(np.log2(width)).astype(np.int64)
