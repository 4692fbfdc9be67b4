"""Brokers in a network space: a tree below a publisher, whose leaves serve subscribers."""

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
"""The parent of a broker that gets its events from the publisher."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_CHUNK_ROWS = 1 << 15  # subscribers whose distances are held at once


@dataclass(frozen=True, slots=True)
class BrokerTree:
    """Where a publisher and n brokers are, and from whom each broker gets its events.

    Distances in the network space are latencies. `parents[i]` is a broker or `PUBLISHER`.

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
        """From anything numpy reads; without `parents` all brokers are the publisher's."""
        start, places = (
            as_numeric_array("a publisher's coordinates", publisher),
            as_numeric_array("brokers", brokers),
        )
        if start.ndim != 1 or places.ndim != 2 or places.shape[1] != len(start):
            raise InvalidArgumentError(
                f"a publisher of shape {start.shape} and brokers of shape {places.shape} are in no "
                "common space: one row of coordinates, and one for each broker"
            )
        if not (np.isfinite(start).all() and np.isfinite(places).all()):
            raise InvalidArgumentError(
                "a publisher and brokers are at finite places, or nobody is near"
            )
        if not len(places):
            raise InvalidArgumentError("there is no broker: give one at least")
        above = (
            np.full(len(places), PUBLISHER)
            if parents is None
            else as_numeric_array("parents", parents)
        )
        _check_parents(above, len(places))
        return cls(start, places, above.astype(np.int64))

    def __len__(self) -> int:
        """How many brokers there are."""
        return len(self.brokers)

    @property
    def leaves(self) -> Ints:
        """The brokers below which there is none, ascending: they serve subscribers."""
        return np.setdiff1d(np.arange(len(self)), self.parents)

    @property
    def latencies(self) -> Floats:
        """How far each broker is from the publisher, along the tree."""
        above = np.where(
            (self.parents == PUBLISHER)[:, None], self.publisher, self.brokers[self.parents]
        )
        hop = np.linalg.norm(self.brokers - above, axis=1)
        total = np.zeros(len(self))
        for broker in self.bottom_up[::-1]:
            parent = self.parents[broker]
            total[broker] = hop[broker] + (total[parent] if parent != PUBLISHER else 0.0)
        return total

    @property
    def bottom_up(self) -> Ints:
        """All brokers, each before its parent."""
        return np.argsort(-_compute_depths(self.parents), kind="stable")

    @property
    def leaf_paths(self) -> Ints:
        """For each leaf the brokers from it up to the publisher's, and -1 where it has fewer."""
        leaves = self.leaves
        paths = np.full((len(leaves), int(_compute_depths(self.parents).max())), -1, np.int64)
        at, level = leaves, 0
        while (at >= 0).any():
            paths[:, level] = at
            at, level = np.where(at >= 0, self.parents[at], -1), level + 1
        return paths


def _check_parents(parents: NDArray[Any], count: int) -> None:
    if parents.shape != (count,):
        raise InvalidArgumentError(
            f"{count} brokers have {parents.shape} parents: give each broker one"
        )
    with np.errstate(invalid="ignore"):  # of what is no number
        whole = parents.astype(np.int64)
    wrong = np.flatnonzero((whole < PUBLISHER) | (whole >= count) | (whole != parents))
    if len(wrong):
        raise InvalidArgumentError(
            f"broker {wrong[0]} has parent {parents[wrong[0]]:.15g}: that is no broker, and the "
            f"publisher is {PUBLISHER}"
        )
    if (_compute_depths(whole) > count).any():
        raise InvalidArgumentError("some brokers are below themselves: parents must form a tree")


def _compute_depths(parents: Ints) -> Ints:
    """How many brokers are on each one's way from the publisher, itself included."""
    depths, at = np.zeros(len(parents), np.int64), np.arange(len(parents))
    for _ in range(len(parents) + 1):
        is_there = at != PUBLISHER
        if not is_there.any():
            break
        depths += is_there
        at = np.where(is_there, parents[at], PUBLISHER)
    return depths


def iter_row_chunks(row_count: int) -> Iterator[slice]:
    """So many rows, some at a time."""
    return (slice(start, start + _CHUNK_ROWS) for start in range(0, row_count, _CHUNK_ROWS))


def compute_leaf_distances(tree: BrokerTree, positions: Floats) -> Floats:
    """How far each of some places is from the publisher by way of each leaf."""
    leaves = tree.leaves
    lengths: Floats = compute_path_lengths(positions, tree.brokers[leaves], tree.latencies[leaves])
    return lengths
