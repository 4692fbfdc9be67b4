"""Sets of leaves: leaves that may serve a subscriber, and those whose filter also covers its box.

A set is a row of bits in the layout of `covey.plan.kernels.leaf_bits`.
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
    """Return the set of leaves that may serve each subscriber, independent of filters and loads.

    If the problem has `allowed_leaves`, the rows of this array are the sets. Otherwise, a set
    contains the leaves within `max_delay`.

    Cost: a distance for each subscriber and leaf.
    """
    if problem.allowed_leaves is not None:
        return pack_leaf_sets(problem.allowed_leaves)
    positions = problem.subscribers.positions
    return np.concatenate(
        [
            select_near_leaves(
                compute_leaf_distances(problem.tree, positions[rows]), problem.max_stretch
            )
            for rows in iter_row_chunks(len(positions))
        ]
    )


def find_covering_leaves(
    allowed_bits: Bits,
    subscribers: Subscribers,
    filters: BrokerFilters,
    leaf_brokers: NDArray[np.int64],
) -> Bits:
    """Return for each subscriber, as bits, the allowed leaves whose filter contains its box.

    A leaf is returned if a single rectangle of its filter contains the box. Only for subscribers
    without such a leaf, leaves are also returned if several rectangles together contain the box.

    Args:
        allowed_bits: the allowed leaves of each subscriber, as bits.
        subscribers: the boxes.
        filters: the filters of all brokers.
        leaf_brokers: the broker number of each leaf.
    """
    low, high, counts = (
        filters.lower[leaf_brokers],
        filters.upper[leaf_brokers],
        filters.rectangle_counts[leaf_brokers],
    )
    covering_bits: Bits = select_covering_leaves(
        allowed_bits, subscribers.lower, subscribers.upper, low, high, counts
    )
    missing = np.flatnonzero(~covering_bits.any(axis=1))
    if len(missing):
        may_serve = unpack_leaf_sets(allowed_bits[missing], len(leaf_brokers))
        for column, leaf in enumerate(leaf_brokers.tolist()):
            rows = np.flatnonzero(may_serve[:, column])
            subscriber_rows = missing[rows]
            may_serve[rows, column] = filters.covers(
                leaf, subscribers.lower[subscriber_rows], subscribers.upper[subscriber_rows]
            )
        covering_bits[missing] = pack_leaf_sets(may_serve)
    return covering_bits


def pack_leaf_sets(leaf_sets: Bools) -> Bits:
    """Return sets of leaves as rows of bits; `leaf_sets` has a row per set and a column per leaf.

    >>> pack_leaf_sets(np.array([[True, False, True]])).tolist()
    [[5]]
    """
    words = -(-leaf_sets.shape[1] // 64)
    wide = np.zeros((len(leaf_sets), 64 * words), np.bool_)
    wide[:, : leaf_sets.shape[1]] = leaf_sets
    return np.packbits(wide, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def unpack_leaf_sets(bits: Bits, leaf_count: int) -> Bools:
    """Return sets of leaves (rows) as booleans, one column per leaf; `bits` has a row per set."""
    raw_bytes = np.ascontiguousarray(bits.astype("<u8")).view(np.uint8)
    return np.unpackbits(raw_bytes, axis=1, count=leaf_count, bitorder="little").view(np.bool_)


def find_unique_rows(rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return the distinct rows in a fixed order, and the index of each row among them."""
    contiguous = np.ascontiguousarray(rows)
    keys = contiguous.view(
        np.dtype((np.void, contiguous.dtype.itemsize * contiguous.shape[1]))
    ).ravel()
    _, first, row_of = np.unique(keys, return_index=True, return_inverse=True)
    return contiguous[first], row_of.ravel().astype(np.int32)


def rank_within_key(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each element the number of earlier elements with the same key.

    >>> rank_within_key(np.array([7, 3, 7, 7])).tolist()
    [0, 0, 1, 2]
    """
    order = np.argsort(keys, kind="stable")
    ranks = np.empty(len(keys), np.int64)
    ranks[order] = np.arange(len(keys)) - np.searchsorted(keys[order], keys[order])
    return ranks
