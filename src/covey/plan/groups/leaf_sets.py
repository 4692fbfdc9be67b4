"""Which leaves can serve whom: near enough, and with a filter that has what is wanted.

Sets of leaves are rows of bits, as `covey.plan.kernels.leaf_bits` has them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.plan.kernels.leaf_bits import (
    select_covering_leaves,
    select_near_leaves,
)
from covey.plan.model.broker_tree import compute_leaf_distances, iter_row_chunks
from covey.plan.model.filters import BrokerFilters
from covey.plan.model.problem import Problem, Subscribers

__all__ = [
    "Bits",
    "find_covering_leaves",
    "find_leaves_within_delay",
    "find_unique_rows",
    "pack_leaf_sets",
    "rank_within_key",
    "unpack_leaf_sets",
]

Bits = NDArray[np.uint64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


def find_leaves_within_delay(problem: Problem) -> Bits:
    """The leaves that may serve each subscriber, whatever it wants.

    Cost: a distance for each subscriber and leaf.
    """
    if problem.allowed_leaves is not None:
        return pack_leaf_sets(problem.allowed_leaves)
    places = problem.subscribers.positions
    return np.concatenate(
        [
            select_near_leaves(
                compute_leaf_distances(problem.tree, places[rows]), problem.max_stretch
            )
            for rows in iter_row_chunks(len(places))
        ]
    )


def find_covering_leaves(
    allowed_bits: Bits,
    subscribers: Subscribers,
    filters: BrokerFilters,
    leaf_brokers: NDArray[np.int64],
) -> Bits:
    """Of some leaves for each subscriber, those whose filter contains what it wants.

    The union of a leaf's rectangles is only looked at where no leaf has it in one rectangle.
    """
    low, high, counts = (
        filters.lower[leaf_brokers],
        filters.upper[leaf_brokers],
        filters.rectangle_counts[leaf_brokers],
    )
    found: Bits = select_covering_leaves(
        allowed_bits, subscribers.lower, subscribers.upper, low, high, counts
    )
    missing = np.flatnonzero(~found.any(axis=1))
    if len(missing):
        some = unpack_leaf_sets(allowed_bits[missing], len(leaf_brokers))
        for column, leaf in enumerate(leaf_brokers.tolist()):
            rows = np.flatnonzero(some[:, column])
            take = missing[rows]
            some[rows, column] = filters.covers(
                leaf, subscribers.lower[take], subscribers.upper[take]
            )
        found[missing] = pack_leaf_sets(some)
    return found


def pack_leaf_sets(leaf_sets: Bools) -> Bits:
    """Rows of bits from a column for each leaf.

    >>> pack_leaf_sets(np.array([[True, False, True]])).tolist()
    [[5]]
    """
    words = -(-leaf_sets.shape[1] // 64)
    wide = np.zeros((len(leaf_sets), 64 * words), np.bool_)
    wide[:, : leaf_sets.shape[1]] = leaf_sets
    return np.packbits(wide, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def unpack_leaf_sets(bits: Bits, leaf_count: int) -> Bools:
    """A column for each of so many leaves."""
    whole = np.ascontiguousarray(bits.astype("<u8")).view(np.uint8)
    return np.unpackbits(whole, axis=1, count=leaf_count, bitorder="little").view(np.bool_)


def find_unique_rows(rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """The rows that are there, each once, and for each row which of them it is."""
    whole = np.ascontiguousarray(rows)
    keys = whole.view(np.dtype((np.void, whole.dtype.itemsize * whole.shape[1]))).ravel()
    _, first, of = np.unique(keys, return_index=True, return_inverse=True)
    return whole[first], of.ravel().astype(np.int32)


def rank_within_key(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many of those with the same key come before each.

    >>> rank_within_key(np.array([7, 3, 7, 7])).tolist()
    [0, 0, 1, 2]
    """
    order = np.argsort(keys, kind="stable")
    found = np.empty(len(keys), np.int64)
    found[order] = np.arange(len(keys)) - np.searchsorted(keys[order], keys[order])
    return found
