"""Brokers in a network space: a tree below a publisher, whose leaves serve subscribers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covey.errors import ValueRefused
from covey.plan.given import numbers

__all__ = ["PUBLISHER", "BrokerTree"]

PUBLISHER = -1
"""The parent of a broker that gets its events from the publisher."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class BrokerTree:
    """Where a publisher and n brokers are, and from whom each broker gets its events.

    Distances in the network space are latencies. `parents[i]` is a broker or `PUBLISHER`.

    >>> tree = BrokerTree.of([0, 0], [[3, 4], [3, 5], [0, 1]], [PUBLISHER, 0, PUBLISHER])
    >>> tree.leaves.tolist(), tree.latency.tolist()
    ([1, 2], [5.0, 6.0, 1.0])
    >>> tree.paths.tolist()
    [[1, 0], [2, -1]]
    """

    publisher: Floats
    brokers: Floats
    parents: Ints

    @classmethod
    def of(
        cls, publisher: ArrayLike, brokers: ArrayLike, parents: ArrayLike | None = None
    ) -> BrokerTree:
        """From anything numpy reads; without `parents` all brokers are the publisher's."""
        start, places = numbers("a publisher's coordinates", publisher), numbers("brokers", brokers)
        if start.ndim != 1 or places.ndim != 2 or places.shape[1] != len(start):
            raise ValueRefused(
                f"a publisher of shape {start.shape} and brokers of shape {places.shape} are in no "
                "common space: one row of coordinates, and one for each broker"
            )
        if not (np.isfinite(start).all() and np.isfinite(places).all()):
            raise ValueRefused("a publisher and brokers are at finite places, or nobody is near")
        if not len(places):
            raise ValueRefused("there is no broker: give one at least")
        above = np.full(len(places), PUBLISHER) if parents is None else numbers("parents", parents)
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
    def latency(self) -> Floats:
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
        return np.argsort(-_depths(self.parents), kind="stable")

    @property
    def paths(self) -> Ints:
        """For each leaf the brokers from it up to the publisher's, and -1 where it has fewer."""
        leaves = self.leaves
        paths = np.full((len(leaves), int(_depths(self.parents).max())), -1, np.int64)
        at, level = leaves, 0
        while (at >= 0).any():
            paths[:, level] = at
            at, level = np.where(at >= 0, self.parents[at], -1), level + 1
        return paths


def _check_parents(parents: NDArray[Any], count: int) -> None:
    if parents.shape != (count,):
        raise ValueRefused(f"{count} brokers have {parents.shape} parents: give each broker one")
    with np.errstate(invalid="ignore"):  # of what is no number
        whole = parents.astype(np.int64)
    wrong = np.flatnonzero((whole < PUBLISHER) | (whole >= count) | (whole != parents))
    if len(wrong):
        raise ValueRefused(
            f"broker {wrong[0]} has parent {parents[wrong[0]]:.15g}: that is no broker, and the "
            f"publisher is {PUBLISHER}"
        )
    if (_depths(whole) > count).any():
        raise ValueRefused("some brokers are below themselves: parents must form a tree")


def _depths(parents: Ints) -> Ints:
    """How many brokers are on each one's way from the publisher, itself included."""
    depths, at = np.zeros(len(parents), np.int64), np.arange(len(parents))
    for _ in range(len(parents) + 1):
        is_there = at != PUBLISHER
        if not is_there.any():
            break
        depths += is_there
        at = np.where(is_there, parents[at], PUBLISHER)
    return depths
