"""A plan for some subscribers, spread to all of them.

Filters that were made for a sample have room for nearly all: who finds no filter widens one, and a
flow says how many of each set of leaves go where.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from covey.plan.assigning import extended
from covey.plan.filters import Filters
from covey.plan.kernels.room import made_room
from covey.plan.placing import allotted, common_sets, leaf_of_each, set_of_each
from covey.plan.plan import Plan
from covey.plan.problem import Problem
from covey.plan.reach import Bits, chunks, near_leaves, ranks, reached, unpacked

__all__ = ["all_reached", "missing", "placed", "relieved", "spread", "with_room", "within_room"]

_SAMPLE = 1 << 17  # subscribers from whom it is learnt which sets of leaves are common


def all_reached(problem: Problem, near: Bits, filters: Filters) -> Bits:
    """The leaves that can serve each subscriber with these filters."""
    leaves, wanted = problem.tree.leaves, problem.subscribers
    return np.concatenate(
        [reached(near[rows], wanted.take(rows), filters, leaves) for rows in chunks(len(wanted))]
    )


def missing(bits: Bits) -> NDArray[np.int64]:
    """The subscribers whom no leaf can serve."""
    return np.flatnonzero(~bits.any(axis=1))


def placed(problem: Problem, bits: Bits) -> NDArray[np.int32]:
    """A leaf for each subscriber, of those that can serve it; -1 for whom none can, or has room."""
    sets = common_sets(bits[:: max(1, len(bits) // _SAMPLE)], len(problem.tree.leaves))
    set_of = set_of_each(bits, sets)
    quotas = allotted(problem, sets, np.bincount(set_of[set_of >= 0], minlength=len(sets)))
    return leaf_of_each(set_of, quotas, np.zeros(len(sets), np.int64))


def spread(problem: Problem, filters: Filters) -> Plan:
    """All subscribers served with filters that some of them have, widened where they must be.

    The load is the one that is wanted, or else the least that is tried and found room for.

    Cost: a distance for each subscriber and leaf, 16 bytes for each subscriber and 64 leaves, and a
    flow whose size does not depend on the number of subscribers.
    """
    leaves = problem.tree.leaves
    near = near_leaves(problem)
    bits = all_reached(problem, near, filters)
    without = missing(bits)
    if len(without):
        some, most = problem.take(without), problem.most(problem.most_load)
        _, filters = extended(some, filters, np.zeros(len(leaves), np.int64), most)
        bits[without] = all_reached(some, near[without], filters)
    for factor in problem.factors:
        plan = _spread_at(problem.held_to(factor), near, bits, filters)
        if plan.factor is not None:
            break
    return replace(plan, problem=problem)


def _spread_at(problem: Problem, near: Bits, bits: Bits, filters: Filters) -> Plan:
    """The same at the most load of the problem; `near` is who may serve each, `bits` who can."""
    leaves, leaf_of = problem.tree.leaves, placed(problem, bits)
    if (leaf_of < 0).any():
        loads = np.bincount(leaf_of[leaf_of >= 0], minlength=len(leaves))
        most = problem.most(problem.most_load)
        filters = with_room(problem, near, bits.copy(), leaf_of, loads, most, filters)
    return Plan(problem, leaves[leaf_of].astype(np.int32), filters)


def within_room(plan: Plan) -> Plan:
    """The plan, where leaves serve no more than they should; else another with about its filters.

    Its problem is held to the least load that is tried and found room for. Where there is room at
    no load, leaves serve more than they may.
    """
    problem = plan.problem
    found = plan if plan.factor == problem.load else spread(problem, plan.filters)
    return replace(found, problem=problem.held_to(found.factor or problem.most_load))


def relieved(plan: Plan, goes_first: NDArray[np.bool_]) -> Plan:
    """The plan; where leaves serve more than they may, so many are served elsewhere.

    Those go first of whom it is said, and who have most leaves to choose from.
    """
    problem, leaves = plan.problem, plan.problem.tree.leaves
    most = problem.most(problem.most_load)
    over = np.maximum(0, plan.loads - most)
    if not over.any():
        return plan
    near = near_leaves(problem)
    bits = all_reached(problem, near, plan.filters)
    choices = np.bitwise_count(bits).sum(axis=1, dtype=np.int64)
    order = np.lexsort((-choices, ~goes_first))
    at = np.searchsorted(leaves, plan.assignment)
    goes = order[ranks(at[order]) < over[at[order]]]
    leaf_of = at.astype(np.int32)
    leaf_of[goes] = -1
    filters = with_room(problem, near, bits, leaf_of, plan.loads - over, most, plan.filters)
    return Plan(problem, leaves[leaf_of].astype(np.int32), filters)


def with_room(
    problem: Problem, near: Bits, bits: Bits, leaf_of: NDArray[np.int32], loads: NDArray[np.int64],
    most: NDArray[np.int64], filters: Filters,
) -> Filters:  # fmt: skip
    """Gives a leaf to those who have none (-1), for which others move; filters widened for them.

    `near` is who may serve each, and `bits` who can. `loads` is of all that leaves serve, the given
    ones and others. Who finds no room at all goes where it costs least.
    """
    sizes = (problem.subscribers.upper - problem.subscribers.lower).prod(axis=1)
    made_room(near, bits, sizes, leaf_of, loads, most)
    filters = _widened(problem, bits, leaf_of, filters)
    left = np.flatnonzero(leaf_of < 0)
    if len(left):
        leaf_of[left], filters = extended(problem.take(left), filters, most, most)
    return filters


def _widened(problem: Problem, bits: Bits, leaf_of: NDArray[np.int32], filters: Filters) -> Filters:
    """Filters for those, too, who are at a leaf whose filter does not have what they want."""
    own = np.zeros_like(bits)
    rows = np.flatnonzero(leaf_of >= 0)
    own[rows, leaf_of[rows] >> 6] = np.uint64(1) << (leaf_of[rows] & 63).astype(np.uint64)
    others = rows[~(own[rows] & bits[rows]).any(axis=1)]
    if not len(others):
        return filters
    count = len(problem.tree.leaves)
    there = replace(problem.take(others), allowed=unpacked(own[others], count))
    none = np.zeros(count, np.int64)
    return extended(there, filters, none, none + len(others))[1]
