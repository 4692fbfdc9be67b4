"""Which leaves can serve whom: near enough, and with a filter that has what is wanted.

Sets of leaves are rows of bits, as `covey.plan.kernels.reach` has them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.plan.filters import Filters
from covey.plan.kernels.reach import near, path_lengths, within
from covey.plan.problem import Problem, Subscribers
from covey.plan.tree import BrokerTree

__all__ = [
    "Bits",
    "chunks",
    "distinct",
    "lengths_to",
    "near_leaves",
    "packed",
    "ranks",
    "reached",
    "unpacked",
]

Bits = NDArray[np.uint64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

_AT_ONCE = 1 << 15  # subscribers whose distances are held at once


def chunks(count: int) -> Iterator[slice]:
    """So many rows, some at a time."""
    return (slice(start, start + _AT_ONCE) for start in range(0, count, _AT_ONCE))


def lengths_to(tree: BrokerTree, places: Floats) -> Floats:
    """How far each of some places is from the publisher by way of each leaf."""
    leaves = tree.leaves
    lengths: Floats = path_lengths(places, tree.brokers[leaves], tree.latency[leaves])
    return lengths


def near_leaves(problem: Problem) -> Bits:
    """The leaves that may serve each subscriber, whatever it wants.

    Cost: a distance for each subscriber and leaf.
    """
    if problem.allowed is not None:
        return packed(problem.allowed)
    places = problem.subscribers.positions
    return np.concatenate(
        [
            near(lengths_to(problem.tree, places[rows]), problem.farthest)
            for rows in chunks(len(places))
        ]
    )


def reached(bits: Bits, wanted: Subscribers, filters: Filters, leaves: NDArray[np.int64]) -> Bits:
    """Of some leaves for each subscriber, those whose filter contains what it wants.

    The union of a leaf's rectangles is only looked at where no leaf has it in one rectangle.
    """
    low, high, counts = filters.lower[leaves], filters.upper[leaves], filters.counts[leaves]
    found: Bits = within(bits, wanted.lower, wanted.upper, low, high, counts)
    missing = np.flatnonzero(~found.any(axis=1))
    if len(missing):
        some = unpacked(bits[missing], len(leaves))
        for column, leaf in enumerate(leaves.tolist()):
            rows = np.flatnonzero(some[:, column])
            take = missing[rows]
            some[rows, column] = filters.covers(leaf, wanted.lower[take], wanted.upper[take])
        found[missing] = packed(some)
    return found


def packed(sets: Bools) -> Bits:
    """Rows of bits from a column for each leaf.

    >>> packed(np.array([[True, False, True]])).tolist()
    [[5]]
    """
    words = -(-sets.shape[1] // 64)
    wide = np.zeros((len(sets), 64 * words), np.bool_)
    wide[:, : sets.shape[1]] = sets
    return np.packbits(wide, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def unpacked(bits: Bits, leaves: int) -> Bools:
    """A column for each of so many leaves."""
    whole = np.ascontiguousarray(bits.astype("<u8")).view(np.uint8)
    return np.unpackbits(whole, axis=1, count=leaves, bitorder="little").view(np.bool_)


def distinct(rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """The rows that are there, each once, and for each row which of them it is."""
    whole = np.ascontiguousarray(rows)
    keys = whole.view(np.dtype((np.void, whole.dtype.itemsize * whole.shape[1]))).ravel()
    _, first, of = np.unique(keys, return_index=True, return_inverse=True)
    return whole[first], of.ravel().astype(np.int32)


def ranks(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many of those with the same key come before each.

    >>> ranks(np.array([7, 3, 7, 7])).tolist()
    [0, 0, 1, 2]
    """
    order = np.argsort(keys, kind="stable")
    found = np.empty(len(keys), np.int64)
    found[order] = np.arange(len(keys)) - np.searchsorted(keys[order], keys[order])
    return found
