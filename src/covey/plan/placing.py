"""Subscribers placed at leaves whose filters have what they want, within the leaves' room.

Only how many there are of each set of leaves is needed, and sets are few: whoever has a set that is
not among those kept is treated as if it had the largest of them that is within its own. Neither
these counts nor the flow grow with the number of subscribers. (papers: assignment)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.plan.flow import flow
from covey.plan.kernels.reach import largest_within
from covey.plan.problem import Problem
from covey.plan.reach import Bits, distinct, packed, unpacked

__all__ = ["allotted", "common_sets", "leaf_at", "leaf_of_each", "set_of_each"]

Ints = NDArray[np.int64]

MOST_SETS = 4096
"""Sets of leaves that are told apart."""


def common_sets(bits: Bits, leaves: int) -> Bits:
    """The sets that are had most often, and each leaf alone; larger ones come first."""
    some, of = distinct(bits)
    often = np.argsort(-np.bincount(of, minlength=len(some)), kind="stable")[:MOST_SETS]
    kept, _ = distinct(np.concatenate([some[often], packed(np.eye(leaves, dtype=np.bool_))]))
    kept = kept[kept.any(axis=1)]
    sizes = unpacked(kept, leaves).sum(axis=1)
    return kept[np.argsort(-sizes, kind="stable")]


def set_of_each(bits: Bits, sets: Bits) -> NDArray[np.int32]:
    """Which of some sets each row is counted to; -1 for those who have no leaf.

    Cost: a sort of the rows, and a comparison for each distinct row and set.
    """
    some, of = distinct(bits)
    found: NDArray[np.int32] = largest_within(some, sets).astype(np.int32)
    found[~some.any(axis=1)] = -1
    each: NDArray[np.int32] = found[of]
    return each


def allotted(problem: Problem, sets: Bits, counts: Ints) -> Ints:
    """How many of each set each leaf serves, at the least load that serves all, or at the most."""
    total = int(counts.sum())
    may = unpacked(sets, len(problem.tree.leaves))
    for factor in problem.factors:
        found = flow(may, counts, problem.most(factor, total))
        if found.sum() == total:
            break
    return found


def leaf_of_each(set_of: NDArray[np.int32], quotas: Ints, before: Ints) -> NDArray[np.int32]:
    """A leaf for each row, of those that serve its set; -1 for whom there is none.

    `before[s]` of set s have been served already, and it is counted up.

    >>> quotas = np.array([[1, 2], [0, 1]])
    >>> leaf_of_each(np.array([0, 0, 1, 0, 0], np.int32), quotas, np.zeros(2, np.int64)).tolist()
    [0, 1, 1, 1, -1]
    """
    order = np.argsort(set_of, kind="stable")
    counts = np.bincount(set_of[set_of >= 0], minlength=len(quotas))
    starts = np.cumsum(counts) - counts
    has_set = order[len(order) - counts.sum() :]
    sets = set_of[has_set]
    rank = np.arange(len(has_set)) - starts[sets] + before[sets]
    found = np.full(len(set_of), -1, np.int32)
    found[has_set] = leaf_at(np.cumsum(quotas, axis=1), sets, rank)
    before += counts
    return found


def leaf_at(ends: Ints, sets: NDArray[np.int32], rank: Ints) -> Ints:
    """The leaf of somebody by its set and its place among those of the set; -1 if it has none.

    Leaf l serves those of set s before `ends[s, l]` whom no leaf before it does.
    """
    leaves = (ends[sets] <= rank[:, None]).sum(axis=1)
    return np.where(leaves < ends.shape[1], leaves, -1)
