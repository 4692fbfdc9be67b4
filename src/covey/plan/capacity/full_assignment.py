"""A plan for some subscribers, spread to all of them.

Filters that were made for a sample have room for nearly all: who finds no filter widens one, and a
flow says how many of each set of leaves go where.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from covey.plan.capacity.leaf_quotas import (
    assign_by_quotas,
    compute_leaf_quotas,
    find_frequent_leaf_sets,
    map_to_leaf_sets,
)
from covey.plan.greedy_assignment import extend_assignment
from covey.plan.groups.leaf_sets import (
    Bits,
    find_covering_leaves,
    find_leaves_within_delay,
    rank_within_key,
    unpack_leaf_sets,
)
from covey.plan.kernels.augmenting_paths import make_room
from covey.plan.model.broker_tree import iter_row_chunks
from covey.plan.model.filters import BrokerFilters
from covey.plan.model.plan import Plan
from covey.plan.model.problem import Problem

__all__ = [
    "assign_all",
    "assign_within_capacity",
    "enforce_capacity",
    "find_all_covering_leaves",
    "find_uncovered",
    "make_room_for_unassigned",
    "relieve_overload",
]

_SAMPLE_ROWS = 1 << 17  # subscribers from whom it is learnt which sets of leaves are common


def find_all_covering_leaves(problem: Problem, allowed_bits: Bits, filters: BrokerFilters) -> Bits:
    """The leaves that can serve each subscriber with these filters."""
    leaves, wanted = problem.tree.leaves, problem.subscribers
    return np.concatenate(
        [
            find_covering_leaves(allowed_bits[rows], wanted.take(rows), filters, leaves)
            for rows in iter_row_chunks(len(wanted))
        ]
    )


def find_uncovered(covering_bits: Bits) -> NDArray[np.int64]:
    """The subscribers whom no leaf can serve."""
    return np.flatnonzero(~covering_bits.any(axis=1))


def assign_within_capacity(problem: Problem, covering_bits: Bits) -> NDArray[np.int32]:
    """A leaf for each subscriber, of those that can serve it; -1 for whom none can, or has room."""
    sets = find_frequent_leaf_sets(
        covering_bits[:: max(1, len(covering_bits) // _SAMPLE_ROWS)], len(problem.tree.leaves)
    )
    set_of = map_to_leaf_sets(covering_bits, sets)
    quotas = compute_leaf_quotas(
        problem, sets, np.bincount(set_of[set_of >= 0], minlength=len(sets))
    )
    return assign_by_quotas(set_of, quotas, np.zeros(len(sets), np.int64))


def assign_all(problem: Problem, filters: BrokerFilters) -> Plan:
    """All subscribers served with filters that some of them have, widened where they must be.

    The load is the one that is wanted, or else the least that is tried and found room for.

    Cost: a distance for each subscriber and leaf, 16 bytes for each subscriber and 64 leaves, and a
    flow whose size does not depend on the number of subscribers.
    """
    leaves = problem.tree.leaves
    near = find_leaves_within_delay(problem)
    bits = find_all_covering_leaves(problem, near, filters)
    without = find_uncovered(bits)
    if len(without):
        some, most = problem.take(without), problem.compute_capacities(problem.max_load)
        _, filters = extend_assignment(some, filters, np.zeros(len(leaves), np.int64), most)
        bits[without] = find_all_covering_leaves(some, near[without], filters)
    for factor in problem.load_factors:
        plan = _assign_all_at_load(problem.with_max_load(factor), near, bits, filters)
        if plan.feasible_load_factor is not None:
            break
    return replace(plan, problem=problem)


def _assign_all_at_load(
    problem: Problem, allowed_bits: Bits, covering_bits: Bits, filters: BrokerFilters
) -> Plan:
    """The same at the most load of the problem; `near` is who may serve each, `bits` who can."""
    leaves, leaf_of = problem.tree.leaves, assign_within_capacity(problem, covering_bits)
    if (leaf_of < 0).any():
        loads = np.bincount(leaf_of[leaf_of >= 0], minlength=len(leaves))
        most = problem.compute_capacities(problem.max_load)
        leaf_of, filters = make_room_for_unassigned(
            problem, allowed_bits, covering_bits, leaf_of, loads, most, filters
        )
    return Plan(problem, leaves[leaf_of].astype(np.int32), filters)


def enforce_capacity(plan: Plan) -> Plan:
    """The plan, where leaves serve no more than they should; else another with about its filters.

    Its problem is held to the least load that is tried and found room for. Where there is room at
    no load, leaves serve more than they may.
    """
    problem = plan.problem
    found = (
        plan
        if plan.feasible_load_factor == problem.target_load
        else assign_all(problem, plan.filters)
    )
    return replace(
        found, problem=problem.with_max_load(found.feasible_load_factor or problem.max_load)
    )


def relieve_overload(plan: Plan, moves_first: NDArray[np.bool_]) -> Plan:
    """The plan; where leaves serve more than they may, so many are served elsewhere.

    Those go first of whom it is said, and who have most leaves to choose from.
    """
    problem, leaves = plan.problem, plan.problem.tree.leaves
    most = problem.compute_capacities(problem.max_load)
    over = np.maximum(0, plan.loads - most)
    if not over.any():
        return plan
    near = find_leaves_within_delay(problem)
    bits = find_all_covering_leaves(problem, near, plan.filters)
    choices = np.bitwise_count(bits).sum(axis=1, dtype=np.int64)
    order = np.lexsort((-choices, ~moves_first))
    at = np.searchsorted(leaves, plan.assignment)
    goes = order[rank_within_key(at[order]) < over[at[order]]]
    leaf_of = at.astype(np.int32)
    leaf_of[goes] = -1
    leaf_of, filters = make_room_for_unassigned(
        problem, near, bits, leaf_of, plan.loads - over, most, plan.filters
    )
    return Plan(problem, leaves[leaf_of].astype(np.int32), filters)


def make_room_for_unassigned(
    problem: Problem,
    allowed_bits: Bits,
    covering_bits: Bits,
    leaf_of: NDArray[np.int32],
    loads: NDArray[np.int64],
    capacities: NDArray[np.int64],
    filters: BrokerFilters,
) -> tuple[NDArray[np.int32], BrokerFilters]:
    """Return a leaf for all, also for those who have none (-1), and filters widened for them.

    Others move where that makes room. `loads` is of all that leaves serve, the given subscribers
    and others. Who finds no room at all goes where it costs least.
    """
    covering_bits, leaf_of, loads = covering_bits.copy(), leaf_of.copy(), loads.copy()
    sizes = (problem.subscribers.upper - problem.subscribers.lower).prod(axis=1)
    make_room(allowed_bits, covering_bits, sizes, leaf_of, loads, capacities)
    filters = _widen_filters(problem, covering_bits, leaf_of, filters)
    left = np.flatnonzero(leaf_of < 0)
    if len(left):
        leaf_of[left], filters = extend_assignment(
            problem.take(left), filters, capacities, capacities
        )
    return leaf_of, filters


def _widen_filters(
    problem: Problem, covering_bits: Bits, leaf_of: NDArray[np.int32], filters: BrokerFilters
) -> BrokerFilters:
    """Filters for those, too, who are at a leaf whose filter does not have what they want."""
    own = np.zeros_like(covering_bits)
    rows = np.flatnonzero(leaf_of >= 0)
    own[rows, leaf_of[rows] >> 6] = np.uint64(1) << (leaf_of[rows] & 63).astype(np.uint64)
    others = rows[~(own[rows] & covering_bits[rows]).any(axis=1)]
    if not len(others):
        return filters
    count = len(problem.tree.leaves)
    there = replace(problem.take(others), allowed_leaves=unpack_leaf_sets(own[others], count))
    none = np.zeros(count, np.int64)
    return extend_assignment(there, filters, none, none + len(others))[1]
