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

__all__ = ["RangeTree", "box_points"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_BUCKET = 16  # points of a leaf, which are tried one by one


@dataclass(frozen=True, slots=True)
class RangeTree:
    """n points in m ≥ 1 dimensions that never change.

    >>> tree = RangeTree.build([[1.0, 5.0], [3.0, 3.0], [4.0, 4.0]])
    >>> tree.dominating([3.0, 3.0]).tolist()
    [1, 2]
    """

    points: Floats
    root: _Tree | _Layered | _Leaf

    @classmethod
    def build(cls, points: ArrayLike) -> RangeTree:
        """A tree of these points, by their row numbers."""
        matrix = np.asarray(points, np.float64)
        return cls(matrix, _build(matrix, np.arange(len(matrix)), 0))

    def dominating(self, point: ArrayLike) -> Ints:
        """The rows that are at least as large as a point in every coordinate, ascending."""
        asked = np.asarray(point, np.float64)
        found = [np.empty(0, np.int64), *self.root.dominating(self.points, asked)]
        return np.sort(np.concatenate(found))


def box_points(lower: Floats, upper: Floats) -> Floats:
    """Boxes, n rows and k columns of either end, as points of which those of covers dominate."""
    return np.stack([-lower, upper], axis=2).reshape(len(lower), -1)


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A few points, or all if there is one coordinate: sorted by the last, tried in the others."""

    rows: Ints
    keys: Floats

    def dominating(self, points: Floats, asked: Floats) -> Iterator[Ints]:
        rows = self.rows[np.searchsorted(self.keys, asked[-1]) :]
        yield rows[(points[rows] >= asked).all(axis=1)]


@dataclass(frozen=True, slots=True)
class _Tree:
    """A node of the tree of one coordinate: its points by the next one, and both halves."""

    coordinate: int
    split: float  # the smallest of the right half
    beyond: _Tree | _Layered | _Leaf
    left: _Tree | _Leaf
    right: _Tree | _Leaf

    def dominating(self, points: Floats, asked: Floats) -> Iterator[Ints]:
        if asked[self.coordinate] > self.split:
            yield from self.right.dominating(points, asked)
        else:
            yield from _beyond(self.right).dominating(points, asked)
            yield from self.left.dominating(points, asked)


@dataclass(frozen=True, slots=True)
class _Layered:
    """A node of the tree of the last two coordinates: its points are sorted by the last one.

    Place i of them is place `in_left[i]` of the left half and `in_right[i]` of the right one.
    """

    coordinate: int
    split: float
    rows: Ints
    keys: Floats
    in_left: Ints
    in_right: Ints
    left: _Layered | _Leaf
    right: _Layered | _Leaf

    def dominating(self, points: Floats, asked: Floats) -> Iterator[Ints]:
        node: _Layered | _Leaf = self
        place = int(np.searchsorted(self.keys, asked[-1]))
        while isinstance(node, _Layered):
            if asked[node.coordinate] > node.split:
                place, node = int(node.in_right[place]), node.right
            else:
                yield node.right.rows[node.in_right[place] :]
                place, node = int(node.in_left[place]), node.left
        rows = node.rows[place:]
        yield rows[points[rows, -2] >= asked[-2]]


def _beyond(node: _Tree | _Leaf) -> _Tree | _Layered | _Leaf:
    """The points of a node that is inside in its own coordinate."""
    return node.beyond if isinstance(node, _Tree) else node


def _build(points: Floats, rows: Ints, coordinate: int) -> _Tree | _Layered | _Leaf:
    """The trees of all coordinates from this one on."""
    left = points.shape[1] - coordinate
    if left <= 1 or len(rows) <= _BUCKET:
        return _leaf(points, rows)
    by_this = rows[np.argsort(points[rows, coordinate], kind="stable")]
    return _layered(points, by_this) if left == 2 else _tree(points, by_this, coordinate)


def _tree(points: Floats, rows: Ints, coordinate: int) -> _Tree | _Leaf:
    """Of rows that are sorted by this coordinate."""
    if len(rows) <= _BUCKET:
        return _leaf(points, rows)
    half = len(rows) // 2
    return _Tree(
        coordinate,
        float(points[rows[half], coordinate]),
        _build(points, rows, coordinate + 1),
        _tree(points, rows[:half], coordinate),
        _tree(points, rows[half:], coordinate),
    )


def _layered(points: Floats, rows: Ints) -> _Layered | _Leaf:
    """Of rows that are sorted by the last coordinate but one."""
    if len(rows) <= _BUCKET:
        return _leaf(points, rows)
    half = len(rows) // 2
    left, right = _layered(points, rows[:half]), _layered(points, rows[half:])
    by_last = rows[np.argsort(points[rows, -1], kind="stable")]
    keys = points[by_last, -1]
    places = np.append(keys, np.inf)
    in_left, in_right = np.searchsorted(left.keys, places), np.searchsorted(right.keys, places)
    in_left[-1], in_right[-1] = half, len(rows) - half
    split = float(points[rows[half], -2])
    return _Layered(points.shape[1] - 2, split, by_last, keys, in_left, in_right, left, right)


def _leaf(points: Floats, rows: Ints) -> _Leaf:
    by_last = rows[np.argsort(points[rows, -1], kind="stable")]
    return _Leaf(by_last, points[by_last, -1])
