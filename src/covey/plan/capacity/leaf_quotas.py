"""Subscribers placed at leaves whose filters have what they want, within the leaves' room.

Only how many there are of each set of leaves is needed, and sets are few: whoever has a set that is
not among those kept is treated as if it had the largest of them that is within its own. Neither
these counts nor the flow grow with the number of subscribers. (papers: assignment)
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
"""Sets of leaves that are told apart."""


def find_frequent_leaf_sets(covering_bits: Bits, leaf_count: int) -> Bits:
    """The sets that are had most often, and each leaf alone; larger ones come first."""
    some, of = find_unique_rows(covering_bits)
    often = np.argsort(-np.bincount(of, minlength=len(some)), kind="stable")[:MAX_LEAF_SETS]
    kept, _ = find_unique_rows(
        np.concatenate([some[often], pack_leaf_sets(np.eye(leaf_count, dtype=np.bool_))])
    )
    kept = kept[kept.any(axis=1)]
    sizes = unpack_leaf_sets(kept, leaf_count).sum(axis=1)
    return kept[np.argsort(-sizes, kind="stable")]


def map_to_leaf_sets(covering_bits: Bits, leaf_sets: Bits) -> NDArray[np.int32]:
    """Which of some sets each row is counted to; -1 for those who have no leaf.

    Cost: a sort of the rows, and a comparison for each distinct row and set.
    """
    some, of = find_unique_rows(covering_bits)
    found: NDArray[np.int32] = find_first_subset(some, leaf_sets).astype(np.int32)
    found[~some.any(axis=1)] = -1
    each: NDArray[np.int32] = found[of]
    return each


def compute_leaf_quotas(problem: Problem, leaf_sets: Bits, leaf_set_counts: Ints) -> Ints:
    """How many of each set each leaf serves, at the least load that serves all, or at the most."""
    total = int(leaf_set_counts.sum())
    may = unpack_leaf_sets(leaf_sets, len(problem.tree.leaves))
    for factor in problem.load_factors:
        found = solve_max_flow(may, leaf_set_counts, problem.compute_capacities(factor, total))
        if found.sum() == total:
            break
    return found


def assign_by_quotas(
    leaf_set_of_row: NDArray[np.int32], quotas: Ints, served_counts: Ints
) -> NDArray[np.int32]:
    """A leaf for each row, of those that serve its set; -1 for whom there is none.

    `served_counts[s]` of set s have been served already.

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
    rank = np.arange(len(has_set)) - starts[sets] + served_counts[sets]
    found = np.full(len(leaf_set_of_row), -1, np.int32)
    found[has_set] = find_leaf_of_rank(np.cumsum(quotas, axis=1), sets, rank)
    return found


def find_leaf_of_rank(quota_ends: Ints, leaf_set_rows: NDArray[np.int32], ranks: Ints) -> Ints:
    """The leaf of somebody by its set and its place among those of the set; -1 if it has none.

    Leaf l serves those of set s before `ends[s, l]` whom no leaf before it does.
    """
    leaves = (quota_ends[leaf_set_rows] <= ranks[:, None]).sum(axis=1)
    return np.where(leaves < quota_ends.shape[1], leaves, -1)
