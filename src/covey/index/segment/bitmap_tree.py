"""Tree of bitmaps over boxes of codes.

A leaf has up to 1,024 similar boxes as children. A node of the level above has up to 1,024 leaves
as children, each with the bounds of its boxes, and so on up to one root. For each attribute, a node
divides the codes into buckets. For each bucket it has a bitmap: the set of the children that meet
the bucket. So one AND per attribute tests all children at once. Batches descend level by level and
node by node, so that the bitmaps of a node stay in the processor's cache.

Cost: 128 bytes per bucket, attribute and leaf, which is 5 bytes per box and attribute.
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
"""Largest number of children of a node, and of boxes of a leaf."""
_BUCKETS_OF_LEAVES = 38
_BUCKETS_ABOVE = 1000


class TreeLevel(NamedTuple):
    """Nodes of one level of the tree. The names of the fields are those of stored arrays.

    Args:
        children: node v has the children `children[v]` to `children[v + 1]` - 1.
        tests: node v has the tests `tests[v]` to `tests[v + 1]` - 1, one for each attribute tested.
        attribute: the attribute of each test.
        base: for each test, the lowest code of its second bucket; see `find_bucket`.
        scale: for each test, the number of buckets per code, times 2^16.
        size: for each test, the number of buckets.
        offset: for each test, the position in `sets` of its first bitmap.
        sets: the bitmaps of children, `WORDS` words for each bucket.
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
        """Build the nodes over boxes; node v has boxes `children[v]` to `children[v + 1]` - 1."""
        width, nodes = codes.shape[1] // 2, len(children) - 1
        node_tests = np.zeros((4, nodes, width), np.int32)
        counts = np.array(
            [
                write_node_tests(codes, children, max_buckets, v, *node_tests[:, v])
                for v in range(nodes)
            ],
            np.int64,
        )
        is_used = np.arange(width) < counts[:, None]
        attribute, base, scale, size = (column[is_used] for column in node_tests)
        tests = np.concatenate([[0], np.cumsum(counts)])
        ends = np.cumsum(size, dtype=np.int64) * WORDS
        offset = np.concatenate([[0], ends[:-1]])
        sets = np.empty(ends[-1], np.uint64)
        for v in range(nodes):
            node_boxes = slice(children[v], children[v + 1])
            for t in range(tests[v], tests[v + 1]):
                k = attribute[t]
                lower, upper = codes[node_boxes, k], codes[node_boxes, width + k]
                write_bucket_sets(
                    lower, upper, base[t], scale[t], size[t], sets[offset[t] : ends[t]]
                )
        return cls(children, tests, attribute, base, scale, size, offset, sets)


@dataclass(frozen=True, slots=True)
class BitmapTree:
    """Tree of bitmaps; `levels` are the levels of nodes from the root to the leaves."""

    levels: tuple[TreeLevel, ...]

    @classmethod
    def build(cls, codes: Codes, leaves: Ints) -> BitmapTree:
        """Build a tree over boxes; leaf i has boxes `leaves[i]` to `leaves[i + 1]` - 1.

        Cost: some nanoseconds per box and attribute.
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
        """Return the tree that `to_arrays` turned into arrays."""
        names = TreeLevel._fields
        count = sum(name.startswith("tree.") for name in arrays) // len(names)
        return cls(
            tuple(TreeLevel(*(arrays[f"tree.{i}.{name}"] for name in names)) for i in range(count))
        )

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the tree as named arrays."""
        return {
            f"tree.{i}.{name}": array
            for i, level in enumerate(self.levels)
            for name, array in level._asdict().items()
        }

    def find_leaves(
        self, low: Codes, high: Codes | None, *, max_pairs: int | None = None
    ) -> tuple[Ints, NDArray[np.int32]]:
        """Find for each row the leaves that may have a box that contains both corners of the row.

        Returns:
            Arrays `starts` and `rows`: leaf i is reached by `rows[starts[i]:starts[i + 1]]`.

        Raises:
            ResultTooLargeError: if there are more than `max_pairs` pairs of a row and a leaf.
        """
        return self._descend_levels(descend, self.levels[:-1], low, high, max_pairs)

    def find_overlapping_boxes(self, low: Codes, high: Codes) -> tuple[Ints, NDArray[np.int32]]:
        """Find for each row the boxes that may overlap the box between its corners.

        Returns:
            Arrays `starts` and `rows`: box i may overlap `rows[starts[i]:starts[i + 1]]`.
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
        """Descend `levels` with the kernel `visit_level`.

        Return `starts` and `rows` of the children of the last level, as `find_leaves` does for the
        leaves.
        """
        rows, starts = np.arange(len(low), dtype=np.int32), np.array([0, len(low)], np.int64)
        for level in levels:
            arguments = (low, high, rows, starts, *level)
            children, rows = collect_pairs(
                visit_level, len(level.children) - 1, arguments, max_pairs=max_pairs
            )
            starts, rows = group_by(children, rows, int(level.children[-1]))
        return starts, rows
