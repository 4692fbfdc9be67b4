"""Layered range tree for dominance queries: the paper's reference for `RandomProjectionIndex`.

A box of k intervals [a_i, b_i] becomes the point (-a_1, b_1, …, -a_k, b_k) in m = 2k dimensions. A
box covers another one if its point dominates the other point: it is at least as large in every
coordinate. A tree divides points by the first coordinate, and each of its nodes has a tree of its
points by the next coordinate. The last two coordinates share one tree: a node contains its points
sorted by the last coordinate and, for each position in this order, the corresponding positions in
its two halves. (papers: projection)

Cost: O(n log^(m-1) n) time and memory to build, O(log^(m-1) n + size of the result) for a query.
The tree is in plain Python, for comparisons with some thousand points and m of 4 or 6. Do not use
it as an index.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["RangeTree", "boxes_to_points"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_LEAF_SIZE = 16  # largest number of points of a leaf; a query compares each of them


@dataclass(frozen=True, slots=True)
class RangeTree:
    """Immutable range tree over n points in m ≥ 1 dimensions.

    >>> tree = RangeTree.build([[1.0, 5.0], [3.0, 3.0], [4.0, 4.0]])
    >>> tree.find_dominating([3.0, 3.0]).tolist()
    [1, 2]
    """

    points: Floats
    root: _TreeNode | _LayeredNode | _LeafNode

    @classmethod
    def build(cls, points: ArrayLike) -> RangeTree:
        """Return the tree of points, given as n rows and m columns; queries return row numbers."""
        matrix = np.asarray(points, np.float64)
        return cls(matrix, _build_trees(matrix, np.arange(len(matrix)), 0))

    def find_dominating(self, point: ArrayLike) -> Ints:
        """Return the rows of the points that dominate `point`, in ascending order."""
        query_point = np.asarray(point, np.float64)
        rows = [np.empty(0, np.int64), *self.root.find_dominating(self.points, query_point)]
        return np.sort(np.concatenate(rows))


def boxes_to_points(lower: Floats, upper: Floats) -> Floats:
    """Convert boxes to points: a box covers another one if its point dominates the other point.

    Args:
        lower: lower ends of n boxes, n rows and k columns.
        upper: upper ends of the boxes, with the same shape.

    Returns:
        Points, n rows and 2k columns: -lower and upper of the first column, then of the second, and
        so on.
    """
    return np.stack([-lower, upper], axis=2).reshape(len(lower), -1)


@dataclass(frozen=True, slots=True)
class _LeafNode:
    """Leaf of a tree: at most `_LEAF_SIZE` points, or all points if there is one coordinate.

    Points are sorted by the last coordinate: a query finds the first one that is large enough by
    binary search, and compares this and all later points one by one.
    """

    rows: Ints
    keys: Floats

    def find_dominating(self, points: Floats, query_point: Floats) -> Iterator[Ints]:
        rows = self.rows[np.searchsorted(self.keys, query_point[-1]) :]
        yield rows[(points[rows] >= query_point).all(axis=1)]


@dataclass(frozen=True, slots=True)
class _TreeNode:
    """Node of the tree of one coordinate: two halves, and a tree for the next coordinate."""

    coordinate: int
    split: float  # smallest coordinate in the right half
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
    """Node of the tree of the last two coordinates, with its points sorted by the last one.

    For key i, the first key of the left half that is not smaller is at position `left_ordinals[i]`;
    the first one of the right half is at position `right_ordinals[i]`.
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
        position = int(np.searchsorted(self.keys, query_point[-1]))
        while isinstance(node, _LayeredNode):
            if query_point[node.coordinate] > node.split:
                position, node = int(node.right_ordinals[position]), node.right
            else:
                yield node.right.rows[node.right_ordinals[position] :]
                position, node = int(node.left_ordinals[position]), node.left
        rows = node.rows[position:]
        yield rows[points[rows, -2] >= query_point[-2]]


def _next_coordinate_tree(node: _TreeNode | _LeafNode) -> _TreeNode | _LayeredNode | _LeafNode:
    """Return the tree to search if all points of a node are large enough in its coordinate.

    This is the tree of the next coordinate. A leaf has none and is searched itself, because it
    compares all coordinates.
    """
    return node.next_coordinate if isinstance(node, _TreeNode) else node


def _build_trees(
    points: Floats, rows: Ints, coordinate: int
) -> _TreeNode | _LayeredNode | _LeafNode:
    """Build the tree of some points, given by rows, for a coordinate and all later ones."""
    coordinates_left = points.shape[1] - coordinate
    if coordinates_left <= 1 or len(rows) <= _LEAF_SIZE:
        return _build_leaf(points, rows)
    sorted_rows = rows[np.argsort(points[rows, coordinate], kind="stable")]
    if coordinates_left == 2:
        return _build_layered(points, sorted_rows)
    return _build_tree(points, sorted_rows, coordinate)


def _build_tree(points: Floats, rows: Ints, coordinate: int) -> _TreeNode | _LeafNode:
    """Build the tree of one coordinate; `rows` must be sorted by this coordinate."""
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
    """Build the tree of the last two coordinates; `rows` must be sorted by the first of them."""
    if len(rows) <= _LEAF_SIZE:
        return _build_leaf(points, rows)
    half = len(rows) // 2
    left, right = _build_layered(points, rows[:half]), _build_layered(points, rows[half:])
    by_last = rows[np.argsort(points[rows, -1], kind="stable")]
    keys = points[by_last, -1]
    bounds = np.append(keys, np.inf)
    in_left, in_right = np.searchsorted(left.keys, bounds), np.searchsorted(right.keys, bounds)
    in_left[-1], in_right[-1] = half, len(rows) - half
    split = float(points[rows[half], -2])
    return _LayeredNode(points.shape[1] - 2, split, by_last, keys, in_left, in_right, left, right)


def _build_leaf(points: Floats, rows: Ints) -> _LeafNode:
    by_last = rows[np.argsort(points[rows, -1], kind="stable")]
    return _LeafNode(by_last, points[by_last, -1])
