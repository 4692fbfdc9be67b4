"""Broker tree: positions and parents of brokers below a publisher; the leaves serve subscribers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covey._argument_checks import as_numeric_array, check_fields
from covey.errors import InvalidArgumentError
from covey.plan.kernels.leaf_bits import compute_path_lengths

__all__ = ["PUBLISHER", "BrokerTree"]

PUBLISHER = -1
"""Parent of a broker that receives its events directly from the publisher."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_CHUNK_ROWS = 1 << 15  # subscribers whose distances are in memory at the same time


@dataclass(frozen=True, slots=True)
class BrokerTree:
    """Positions of a publisher and n brokers, and the parent of each broker.

    Positions are coordinates in the network space; the distance between two positions is the
    latency between them.

    Args:
        publisher: coordinates of the publisher, of shape (dimensions,).
        brokers: coordinates of the brokers, of shape (n, dimensions).
        parents: `parents[i]` is the broker that sends events to broker i, or `PUBLISHER`.

    >>> parents = [PUBLISHER, 0, PUBLISHER]
    >>> tree = BrokerTree.from_arrays([0, 0], [[3, 4], [3, 5], [0, 1]], parents=parents)
    >>> tree.leaves.tolist(), tree.latencies.tolist()
    ([1, 2], [5.0, 6.0, 1.0])
    >>> tree.leaf_paths.tolist()
    [[1, 0], [2, -1]]
    """

    publisher: Floats
    brokers: Floats
    parents: Ints

    def __post_init__(self) -> None:
        check_fields(self)

    @classmethod
    def from_arrays(
        cls, publisher: ArrayLike, brokers: ArrayLike, *, parents: ArrayLike | None = None
    ) -> BrokerTree:
        """Return the tree with these coordinates and parents.

        Args:
            publisher: coordinates of the publisher: anything that NumPy converts to a
                one-dimensional array of numbers.
            brokers: one row of coordinates for each broker.
            parents: the parent of each broker, a broker number or `PUBLISHER`; by default the
                parent of every broker is the publisher.

        Raises:
            InvalidArgumentError: if the shapes do not fit together, a coordinate is not a finite
                number, there is no broker, or the parents do not form a tree.
        """
        start, coordinates = (
            as_numeric_array("a publisher's coordinates", publisher),
            as_numeric_array("brokers", brokers),
        )
        if start.ndim != 1 or coordinates.ndim != 2 or coordinates.shape[1] != len(start):
            raise InvalidArgumentError(
                f"a publisher of shape {start.shape} and brokers of shape {coordinates.shape} do "
                "not fit together: give one row of coordinates for the publisher, and a row of "
                "the same length for each broker"
            )
        if not (np.isfinite(start).all() and np.isfinite(coordinates).all()):
            raise InvalidArgumentError(
                "coordinates of the publisher and of brokers must be finite numbers"
            )
        if not len(coordinates):
            raise InvalidArgumentError("there is no broker: give at least one")
        parent_array = (
            np.full(len(coordinates), PUBLISHER)
            if parents is None
            else as_numeric_array("parents", parents)
        )
        _check_parents(parent_array, len(coordinates))
        return cls(start, coordinates, parent_array.astype(np.int64))

    def __len__(self) -> int:
        """Return the number of brokers."""
        return len(self.brokers)

    @property
    def leaves(self) -> Ints:
        """Brokers without a broker below them, ascending; only these serve subscribers."""
        return np.setdiff1d(np.arange(len(self)), self.parents)

    @property
    def latencies(self) -> Floats:
        """Latency from the publisher to each broker, summed along the tree."""
        parent_positions = np.where(
            (self.parents == PUBLISHER)[:, None], self.publisher, self.brokers[self.parents]
        )
        hop = np.linalg.norm(self.brokers - parent_positions, axis=1)
        total = np.zeros(len(self))
        for broker in self.bottom_up[::-1]:
            parent = self.parents[broker]
            total[broker] = hop[broker] + (total[parent] if parent != PUBLISHER else 0.0)
        return total

    @property
    def bottom_up(self) -> Ints:
        """All broker numbers, each broker before its parent."""
        return np.argsort(-_compute_depths(self.parents), kind="stable")

    @property
    def leaf_paths(self) -> Ints:
        """Path of each leaf: a row of brokers from the leaf up to the top level, padded with -1."""
        leaves = self.leaves
        paths = np.full((len(leaves), int(_compute_depths(self.parents).max())), -1, np.int64)
        ancestors, level = leaves, 0
        while (ancestors >= 0).any():
            paths[:, level] = ancestors
            ancestors, level = np.where(ancestors >= 0, self.parents[ancestors], -1), level + 1
        return paths


def _check_parents(parents: NDArray[Any], count: int) -> None:
    """Raise InvalidArgumentError unless every broker has a valid parent and they form a tree."""
    if parents.shape != (count,):
        raise InvalidArgumentError(
            f"parents has shape {parents.shape}, but there are {count} brokers: "
            "give each broker one parent"
        )
    with np.errstate(invalid="ignore"):  # NaN and infinity fail the comparison below
        whole_parents = parents.astype(np.int64)
    wrong = np.flatnonzero(
        (whole_parents < PUBLISHER) | (whole_parents >= count) | (whole_parents != parents)
    )
    if len(wrong):
        raise InvalidArgumentError(
            f"broker {wrong[0]} has parent {parents[wrong[0]]:.15g}: a parent must be a broker "
            f"number from 0 to {count - 1}, or {PUBLISHER} for the publisher"
        )
    if (_compute_depths(whole_parents) > count).any():
        raise InvalidArgumentError(
            "parents contains a cycle, so some brokers are below themselves: parents must form a "
            "tree"
        )


def _compute_depths(parents: Ints) -> Ints:
    """Return the level of each broker: 1 below the publisher, 2 below such a broker, and so on.

    For brokers in a cycle, or below one, the result is larger than the number of all brokers.
    """
    depths, ancestors = np.zeros(len(parents), np.int64), np.arange(len(parents))
    for _ in range(len(parents) + 1):
        is_broker = ancestors != PUBLISHER
        if not is_broker.any():
            break
        depths += is_broker
        ancestors = np.where(is_broker, parents[ancestors], PUBLISHER)
    return depths


def iter_row_chunks(row_count: int) -> Iterator[slice]:
    """Iterate over slices that cover this number of rows, each of at most `_CHUNK_ROWS` rows."""
    return (slice(start, start + _CHUNK_ROWS) for start in range(0, row_count, _CHUNK_ROWS))


def compute_leaf_distances(tree: BrokerTree, positions: Floats) -> Floats:
    """Return the length of the path from the publisher, through each leaf, to each position.

    Args:
        tree: the broker tree.
        positions: coordinates, one row for each position.

    Returns:
        One row for each position and one column for each leaf, in the order of `tree.leaves`.
    """
    leaves = tree.leaves
    lengths: Floats = compute_path_lengths(positions, tree.brokers[leaves], tree.latencies[leaves])
    return lengths
