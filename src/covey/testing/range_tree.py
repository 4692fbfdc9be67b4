"""The layered range tree of the paper, for dominance: the reference of the index of projections.

k intervals [a_i, b_i] are the point (-a_1, b_1, …, -a_k, b_k) in m = 2k dimensions, and a box
covers another if its point is at least as large in every coordinate. One tree per coordinate, each
node of it with a tree of the next coordinate; the last two share one tree, whose nodes keep their
points by the last coordinate and lead from a place in a node to the same place in its children.
(papers: projection)

Cost: O(n log^(m-1) n) to build and keep, O(log^(m-1) n) and what is found to ask, in plain Python:
some thousand points with m of 4 or 6. It is here to compare with, not to be used as an index.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["RangeTree", "boxes_to_points"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_LEAF_SIZE = 16  # points of a leaf, which are tried one by one


@dataclass(frozen=True, slots=True)
class RangeTree:
    """n points in m ≥ 1 dimensions that never change.

    >>> tree = RangeTree.build([[1.0, 5.0], [3.0, 3.0], [4.0, 4.0]])
    >>> tree.find_dominating([3.0, 3.0]).tolist()
    [1, 2]
    """

    points: Floats
    root: _TreeNode | _LayeredNode | _LeafNode

    @classmethod
    def build(cls, points: ArrayLike) -> RangeTree:
        """A tree of these points, by their row numbers."""
        matrix = np.asarray(points, np.float64)
        return cls(matrix, _build_trees(matrix, np.arange(len(matrix)), 0))

    def find_dominating(self, point: ArrayLike) -> Ints:
        """The rows that are at least as large as a point in every coordinate, ascending."""
        asked = np.asarray(point, np.float64)
        found = [np.empty(0, np.int64), *self.root.find_dominating(self.points, asked)]
        return np.sort(np.concatenate(found))


def boxes_to_points(lower: Floats, upper: Floats) -> Floats:
    """Boxes, n rows and k columns of either end, as points of which those of covers dominate."""
    return np.stack([-lower, upper], axis=2).reshape(len(lower), -1)


@dataclass(frozen=True, slots=True)
class _LeafNode:
    """A few points, or all if there is one coordinate: sorted by the last, tried in the others."""

    rows: Ints
    keys: Floats

    def find_dominating(self, points: Floats, query_point: Floats) -> Iterator[Ints]:
        rows = self.rows[np.searchsorted(self.keys, query_point[-1]) :]
        yield rows[(points[rows] >= query_point).all(axis=1)]


@dataclass(frozen=True, slots=True)
class _TreeNode:
    """A node of the tree of one coordinate: its points by the next one, and both halves."""

    coordinate: int
    split: float  # the smallest of the right half
    next_coordinate: _TreeNode | _LayeredNode | _LeafNode
    left: _TreeNode | _LeafNode
    right: _TreeNode | _LeafNode

    def find_dominating(self, points: Floats, query_point: Floats) -> Iterator[Ints]:
        if query_point[self.coordinate] > self.split:
            yield from self.right.find_dominating(points, query_point)
        else:
            yield from _next_coordinate_tree(self.right).find_dominating(points, query_point)
            yield from self.left.find_dominating(points, query_point)


@dataclass(frozen=True, slots=True)
class _LayeredNode:
    """A node of the tree of the last two coordinates: its points are sorted by the last one.

    Place i of them is place `left_ordinals[i]` of the left half and `right_ordinals[i]` of the
    right one.
    """

    coordinate: int
    split: float
    rows: Ints
    keys: Floats
    left_ordinals: Ints
    right_ordinals: Ints
    left: _LayeredNode | _LeafNode
    right: _LayeredNode | _LeafNode

    def find_dominating(self, points: Floats, query_point: Floats) -> Iterator[Ints]:
        node: _LayeredNode | _LeafNode = self
        place = int(np.searchsorted(self.keys, query_point[-1]))
        while isinstance(node, _LayeredNode):
            if query_point[node.coordinate] > node.split:
                place, node = int(node.right_ordinals[place]), node.right
            else:
                yield node.right.rows[node.right_ordinals[place] :]
                place, node = int(node.left_ordinals[place]), node.left
        rows = node.rows[place:]
        yield rows[points[rows, -2] >= query_point[-2]]


def _next_coordinate_tree(node: _TreeNode | _LeafNode) -> _TreeNode | _LayeredNode | _LeafNode:
    """The points of a node that is inside in its own coordinate."""
    return node.next_coordinate if isinstance(node, _TreeNode) else node


def _build_trees(
    points: Floats, rows: Ints, coordinate: int
) -> _TreeNode | _LayeredNode | _LeafNode:
    """The trees of all coordinates from this one on."""
    left = points.shape[1] - coordinate
    if left <= 1 or len(rows) <= _LEAF_SIZE:
        return _build_leaf(points, rows)
    by_this = rows[np.argsort(points[rows, coordinate], kind="stable")]
    return (
        _build_layered(points, by_this) if left == 2 else _build_tree(points, by_this, coordinate)
    )


def _build_tree(points: Floats, rows: Ints, coordinate: int) -> _TreeNode | _LeafNode:
    """Of rows that are sorted by this coordinate."""
    if len(rows) <= _LEAF_SIZE:
        return _build_leaf(points, rows)
    half = len(rows) // 2
    return _TreeNode(
        coordinate,
        float(points[rows[half], coordinate]),
        _build_trees(points, rows, coordinate + 1),
        _build_tree(points, rows[:half], coordinate),
        _build_tree(points, rows[half:], coordinate),
    )


def _build_layered(points: Floats, rows: Ints) -> _LayeredNode | _LeafNode:
    """Of rows that are sorted by the last coordinate but one."""
    if len(rows) <= _LEAF_SIZE:
        return _build_leaf(points, rows)
    half = len(rows) // 2
    left, right = _build_layered(points, rows[:half]), _build_layered(points, rows[half:])
    by_last = rows[np.argsort(points[rows, -1], kind="stable")]
    keys = points[by_last, -1]
    places = np.append(keys, np.inf)
    in_left, in_right = np.searchsorted(left.keys, places), np.searchsorted(right.keys, places)
    in_left[-1], in_right[-1] = half, len(rows) - half
    split = float(points[rows[half], -2])
    return _LayeredNode(points.shape[1] - 2, split, by_last, keys, in_left, in_right, left, right)


def _build_leaf(points: Floats, rows: Ints) -> _LeafNode:
    by_last = rows[np.argsort(points[rows, -1], kind="stable")]
    return _LeafNode(by_last, points[by_last, -1])
