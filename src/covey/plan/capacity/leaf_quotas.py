"""Quotas of leaves: the number of subscribers of each leaf set that each leaf serves.

The leaf set of a subscriber contains the leaves that may serve it and whose filter covers its box.
Only the number of subscribers with each set is needed, and only a limited number of sets is
distinguished: a subscriber with any other set counts for the largest distinguished set that is a
subset of its own. The sizes of these counts and of the flow therefore do not grow with the number
of subscribers. (papers: assignment)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.plan.capacity.max_flow import solve_max_flow
from covey.plan.groups.leaf_sets import Bits, find_unique_rows, pack_leaf_sets, unpack_leaf_sets
from covey.plan.kernels.leaf_bits import find_first_subset
from covey.plan.model.problem import Problem

__all__ = [
    "assign_by_quotas",
    "compute_leaf_quotas",
    "find_frequent_leaf_sets",
    "find_leaf_of_rank",
    "map_to_leaf_sets",
]

Ints = NDArray[np.int64]

MAX_LEAF_SETS = 4096
"""Largest number of frequent leaf sets that are distinguished, in addition to single leaves."""


def find_frequent_leaf_sets(covering_bits: Bits, leaf_count: int) -> Bits:
    """Return the most frequent leaf sets, and a set for each single leaf; larger sets come first.

    At most `MAX_LEAF_SETS` frequent sets are returned. Sets are rows of bits; a row of
    `covering_bits` is the leaf set of one subscriber.
    """
    distinct_sets, set_of = find_unique_rows(covering_bits)
    most_frequent = np.argsort(-np.bincount(set_of, minlength=len(distinct_sets)), kind="stable")[
        :MAX_LEAF_SETS
    ]
    frequent_sets, _ = find_unique_rows(
        np.concatenate(
            [distinct_sets[most_frequent], pack_leaf_sets(np.eye(leaf_count, dtype=np.bool_))]
        )
    )
    frequent_sets = frequent_sets[frequent_sets.any(axis=1)]
    sizes = unpack_leaf_sets(frequent_sets, leaf_count).sum(axis=1)
    return frequent_sets[np.argsort(-sizes, kind="stable")]


def map_to_leaf_sets(covering_bits: Bits, leaf_sets: Bits) -> NDArray[np.int32]:
    """Return for each row the index of the first of `leaf_sets` that is a subset of the row's set.

    The index is -1 for rows without a leaf.

    Cost: a sort of the rows, and a comparison for each distinct row and leaf set.
    """
    distinct_sets, distinct_of_row = find_unique_rows(covering_bits)
    leaf_set_of_distinct: NDArray[np.int32] = find_first_subset(distinct_sets, leaf_sets).astype(
        np.int32
    )
    leaf_set_of_distinct[~distinct_sets.any(axis=1)] = -1
    leaf_set_of_row: NDArray[np.int32] = leaf_set_of_distinct[distinct_of_row]
    return leaf_set_of_row


def compute_leaf_quotas(problem: Problem, leaf_sets: Bits, leaf_set_counts: Ints) -> Ints:
    """Return the number of subscribers of each leaf set (row) that each leaf (column) serves.

    Capacities are those at the smallest of `problem.load_factors` at which all subscribers can be
    served. If there is none, they are those at `max_load`, and as many subscribers as possible are
    served.
    """
    total = int(leaf_set_counts.sum())
    may_serve = unpack_leaf_sets(leaf_sets, len(problem.tree.leaves))
    for factor in problem.load_factors:
        quotas = solve_max_flow(
            may_serve, leaf_set_counts, problem.compute_capacities(factor, total)
        )
        if quotas.sum() == total:
            break
    return quotas


def assign_by_quotas(
    leaf_set_of_row: NDArray[np.int32], quotas: Ints, served_counts: Ints
) -> NDArray[np.int32]:
    """Return a leaf for each row, by the quotas of its leaf set; -1 if they are used up.

    `served_counts[s]` is the number of subscribers with leaf set s that earlier calls assigned. A
    row whose leaf set is -1 gets -1.

    >>> leaf_set_of_row = np.array([0, 0, 1, 0, 0], np.int32)
    >>> quotas = np.array([[1, 2], [0, 1]])
    >>> assign_by_quotas(leaf_set_of_row, quotas, np.zeros(2, np.int64)).tolist()
    [0, 1, 1, 1, -1]
    """
    order = np.argsort(leaf_set_of_row, kind="stable")
    counts = np.bincount(leaf_set_of_row[leaf_set_of_row >= 0], minlength=len(quotas))
    starts = np.cumsum(counts) - counts
    has_set = order[len(order) - counts.sum() :]
    sets = leaf_set_of_row[has_set]
    ranks = np.arange(len(has_set)) - starts[sets] + served_counts[sets]
    leaf_of = np.full(len(leaf_set_of_row), -1, np.int32)
    leaf_of[has_set] = find_leaf_of_rank(np.cumsum(quotas, axis=1), sets, ranks)
    return leaf_of


def find_leaf_of_rank(quota_ends: Ints, leaf_set_rows: NDArray[np.int32], ranks: Ints) -> Ints:
    """Return the leaf of each subscriber by its rank within its leaf set; -1 beyond the quotas.

    Args:
        quota_ends: cumulative quotas: `quota_ends[s, l]` subscribers of set s are served by leaves
            0 to l.
        leaf_set_rows: the leaf set of each subscriber.
        ranks: for each subscriber, the number of earlier subscribers with the same leaf set.
    """
    leaves = (quota_ends[leaf_set_rows] <= ranks[:, None]).sum(axis=1)
    return np.where(leaves < quota_ends.shape[1], leaves, -1)
