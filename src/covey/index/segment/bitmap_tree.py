"""A tree of bitmaps over boxes of codes.

Up to 1,024 boxes that are near each other make a leaf; up to 1,024 leaves' bounds make a node, and
so on up to one root. A node holds, per attribute, buckets of codes and for each the set
of its children that meet it: one AND per attribute tests all children at once. Batches go down
level by level, node by node, so that a node's sets stay in cache.

Cost: 128 bytes per bucket, attribute and leaf: 5 bytes per box and attribute.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covey.index.kernels.bits import WORDS
from covey.index.kernels.tree_nodes import write_bucket_sets, write_node_tests
from covey.index.kernels.tree_search import descend, descend_overlapping
from covey.index.segment.query.pair_buffer import collect_pairs, group_by

__all__ = ["MAX_CHILDREN", "BitmapTree", "TreeLevel"]

Codes = NDArray[np.uint16]
Ints = NDArray[np.int64]

MAX_CHILDREN = 64 * WORDS
"""How many children a node has at most."""
_BUCKETS_OF_LEAVES = 38
_BUCKETS_ABOVE = 1000


class TreeLevel(NamedTuple):
    """Nodes of one level: node v has children[v] to children[v + 1] and so its tests.

    Test t is of an attribute whose codes from `base` on are spread over `size` buckets by `scale`;
    the sets of its buckets start at `offset`. The names of the fields are those of stored arrays.
    """

    children: Ints
    tests: Ints
    attribute: NDArray[np.int32]
    base: NDArray[np.int32]
    scale: NDArray[np.int32]
    size: NDArray[np.int32]
    offset: Ints
    sets: NDArray[np.uint64]

    @classmethod
    def build(cls, codes: Codes, children: Ints, max_buckets: int) -> TreeLevel:
        """The nodes over boxes in their order, of which node v has children[v] to [v + 1]."""
        width, nodes = codes.shape[1] // 2, len(children) - 1
        how = np.zeros((4, nodes, width), np.int32)
        counts = np.array(
            [write_node_tests(codes, children, max_buckets, v, *how[:, v]) for v in range(nodes)],
            np.int64,
        )
        used = np.arange(width) < counts[:, None]
        attribute, base, scale, size = (given[used] for given in how)
        tests = np.concatenate([[0], np.cumsum(counts)])
        ends = np.cumsum(size, dtype=np.int64) * WORDS
        offset = np.concatenate([[0], ends[:-1]])
        sets = np.empty(ends[-1], np.uint64)
        for v in range(nodes):
            inside = slice(children[v], children[v + 1])
            for t in range(tests[v], tests[v + 1]):
                k = attribute[t]
                lower, upper = codes[inside, k], codes[inside, width + k]
                write_bucket_sets(
                    lower, upper, base[t], scale[t], size[t], sets[offset[t] : ends[t]]
                )
        return cls(children, tests, attribute, base, scale, size, offset, sets)


@dataclass(frozen=True, slots=True)
class BitmapTree:
    """Levels from the root to the leaves."""

    levels: tuple[TreeLevel, ...]

    @classmethod
    def build(cls, codes: Codes, leaves: Ints) -> BitmapTree:
        """A tree over boxes in their order; leaf i is boxes leaves[i] to leaves[i + 1].

        Cost: boxes · attributes, some nanoseconds each.
        """
        levels = [TreeLevel.build(codes, leaves, _BUCKETS_OF_LEAVES)]
        width = codes.shape[1] // 2
        while len(leaves) > 2:
            lower = np.minimum.reduceat(codes[:, :width], leaves[:-1])
            upper = np.maximum.reduceat(codes[:, width:], leaves[:-1])
            codes = np.hstack([lower, upper])
            nodes = -(-len(codes) // MAX_CHILDREN)
            leaves = np.arange(nodes + 1) * len(codes) // nodes
            levels.append(TreeLevel.build(codes, leaves, _BUCKETS_ABOVE))
        return cls(tuple(reversed(levels)))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> BitmapTree:
        """A tree from what `to_arrays` gave."""
        names = TreeLevel._fields
        count = sum(name.startswith("tree.") for name in arrays) // len(names)
        return cls(
            tuple(TreeLevel(*(arrays[f"tree.{i}.{name}"] for name in names)) for i in range(count))
        )

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """All that it is made of."""
        return {
            f"tree.{i}.{name}": array
            for i, level in enumerate(self.levels)
            for name, array in level._asdict().items()
        }

    def find_leaves(
        self, low: Codes, high: Codes | None, *, max_pairs: int | None = None
    ) -> tuple[Ints, NDArray[np.int32]]:
        """The leaves that may have boxes which contain both corners of each row.

        Gives rows by leaf: leaf i is reached by `rows[starts[i]:starts[i + 1]]`.
        Raises `ResultTooLargeError` if that are more than `max_pairs`.
        """
        return self._descend_levels(descend, self.levels[:-1], low, high, max_pairs)

    def find_overlapping_boxes(self, low: Codes, high: Codes) -> tuple[Ints, NDArray[np.int32]]:
        """The boxes that may have codes in common with all that is between a row's corners.

        Gives rows by box, as `find_leaves` does by leaf.
        """
        return self._descend_levels(descend_overlapping, self.levels, low, high)

    def _descend_levels(
        self,
        visit_level: Any,
        levels: Sequence[TreeLevel],
        low: Codes,
        high: Codes | None,
        max_pairs: int | None = None,
    ) -> tuple[Ints, NDArray[np.int32]]:
        rows, starts = np.arange(len(low), dtype=np.int32), np.array([0, len(low)], np.int64)
        for level in levels:
            given = (low, high, rows, starts, *level)
            children, rows = collect_pairs(
                visit_level, len(level.children) - 1, given, max_pairs=max_pairs
            )
            starts, rows = group_by(children, rows, int(level.children[-1]))
        return starts, rows
