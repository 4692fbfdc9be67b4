"""Assignment of all subscribers with filters that were made for a sample.

Such filters cover nearly all subscribers; they are widened to cover the remaining ones. A maximum
flow then decides which leaves serve the subscribers of each leaf set, and how many each of them
serves.
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

_SAMPLE_ROWS = 1 << 17  # about this many subscribers are enough to find the frequent leaf sets


def find_all_covering_leaves(problem: Problem, allowed_bits: Bits, filters: BrokerFilters) -> Bits:
    """Return for each subscriber the allowed leaves whose filter covers its box, as bits."""
    leaves, subscribers = problem.tree.leaves, problem.subscribers
    return np.concatenate(
        [
            find_covering_leaves(allowed_bits[rows], subscribers.take(rows), filters, leaves)
            for rows in iter_row_chunks(len(subscribers))
        ]
    )


def find_uncovered(covering_bits: Bits) -> NDArray[np.int64]:
    """Return the rows without a set bit: subscribers that the filter of no allowed leaf covers."""
    return np.flatnonzero(~covering_bits.any(axis=1))


def assign_within_capacity(problem: Problem, covering_bits: Bits) -> NDArray[np.int32]:
    """Return for each subscriber a leaf that can serve it, within the capacities of leaves.

    `covering_bits` contains the leaves that can serve each subscriber. The returned leaf is an
    index into the leaves of the tree. It is -1 if no leaf can serve the subscriber, or if the
    capacities at `max_load` do not suffice for it.

    Raises:
        CoveyError: if scipy is not installed.
    """
    leaf_sets = find_frequent_leaf_sets(
        covering_bits[:: max(1, len(covering_bits) // _SAMPLE_ROWS)], len(problem.tree.leaves)
    )
    leaf_set_of_row = map_to_leaf_sets(covering_bits, leaf_sets)
    quotas = compute_leaf_quotas(
        problem,
        leaf_sets,
        np.bincount(leaf_set_of_row[leaf_set_of_row >= 0], minlength=len(leaf_sets)),
    )
    return assign_by_quotas(leaf_set_of_row, quotas, np.zeros(len(leaf_sets), np.int64))


def assign_all(problem: Problem, filters: BrokerFilters) -> Plan:
    """Return a plan for all subscribers with these filters, widened where necessary.

    The plan respects the smallest of `problem.load_factors` at which all subscribers find capacity;
    if there is none, some leaves exceed `max_load`.

    Cost: a distance for each subscriber and leaf; for each subscriber, 16 bytes per 64 leaves; and
    a maximum flow whose size does not depend on the number of subscribers.
    """
    leaves = problem.tree.leaves
    allowed_bits = find_leaves_within_delay(problem)
    covering_bits = find_all_covering_leaves(problem, allowed_bits, filters)
    uncovered = find_uncovered(covering_bits)
    if len(uncovered):
        uncovered_problem = problem.take(uncovered)
        capacities = problem.compute_capacities(problem.max_load)
        _, filters = extend_assignment(
            uncovered_problem, filters, np.zeros(len(leaves), np.int64), capacities
        )
        covering_bits[uncovered] = find_all_covering_leaves(
            uncovered_problem, allowed_bits[uncovered], filters
        )
    for factor in problem.load_factors:
        plan = _assign_all_at_load(
            problem.with_max_load(factor), allowed_bits, covering_bits, filters
        )
        if plan.feasible_load_factor is not None:
            break
    return replace(plan, problem=problem)


def _assign_all_at_load(
    problem: Problem, allowed_bits: Bits, covering_bits: Bits, filters: BrokerFilters
) -> Plan:
    """Return a plan for all subscribers within `max_load` of the problem, if that is possible.

    Args:
        problem: the problem, with the load factor to try as its `max_load`.
        allowed_bits: the leaves that may serve each subscriber.
        covering_bits: the allowed leaves whose filter covers the subscriber's box.
        filters: the filters to start from; they are widened where necessary.
    """
    leaves, leaf_of = problem.tree.leaves, assign_within_capacity(problem, covering_bits)
    if (leaf_of < 0).any():
        loads = np.bincount(leaf_of[leaf_of >= 0], minlength=len(leaves))
        capacities = problem.compute_capacities(problem.max_load)
        leaf_of, filters = make_room_for_unassigned(
            problem, allowed_bits, covering_bits, leaf_of, loads, capacities, filters
        )
    return Plan(problem, leaves[leaf_of].astype(np.int32), filters)


def enforce_capacity(plan: Plan) -> Plan:
    """Return the plan if its loads respect `target_load`; otherwise, assign all subscribers again.

    The new plan has the filters of `plan`, widened where necessary. In the problem of the result,
    `max_load` is the smallest of `load_factors` that the result respects. If there is none,
    `max_load` is not changed, and leaves exceed it.
    """
    problem = plan.problem
    feasible_plan = (
        plan
        if plan.feasible_load_factor == problem.target_load
        else assign_all(problem, plan.filters)
    )
    return replace(
        feasible_plan,
        problem=problem.with_max_load(feasible_plan.feasible_load_factor or problem.max_load),
    )


def relieve_overload(plan: Plan, moves_first: NDArray[np.bool_]) -> Plan:
    """Return the plan with subscribers of overloaded leaves moved to other leaves.

    Each leaf gives away the subscribers beyond its capacity at `max_load`. Subscribers for which
    `moves_first` is True are given away before the others, and among equals those that more leaves
    can serve. To free capacity for them, other subscribers may be moved, too.
    """
    problem, leaves = plan.problem, plan.problem.tree.leaves
    capacities = problem.compute_capacities(problem.max_load)
    excess = np.maximum(0, plan.loads - capacities)
    if not excess.any():
        return plan
    allowed_bits = find_leaves_within_delay(problem)
    covering_bits = find_all_covering_leaves(problem, allowed_bits, plan.filters)
    choices = np.bitwise_count(covering_bits).sum(axis=1, dtype=np.int64)
    order = np.lexsort((-choices, ~moves_first))
    previous_leaf_of = np.searchsorted(leaves, plan.assignment)
    moving_rows = order[rank_within_key(previous_leaf_of[order]) < excess[previous_leaf_of[order]]]
    leaf_of = previous_leaf_of.astype(np.int32)
    leaf_of[moving_rows] = -1
    leaf_of, filters = make_room_for_unassigned(
        problem, allowed_bits, covering_bits, leaf_of, plan.loads - excess, capacities, plan.filters
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
    """Return a leaf for each subscriber, and filters that are widened where necessary.

    Assigned subscribers move to another leaf if that frees capacity for unassigned ones. A
    subscriber for which no capacity can be freed is assigned, beyond capacity, to the allowed leaf
    at which filters widen least.

    Args:
        problem: the subscribers and the tree.
        allowed_bits: the leaves that may serve each subscriber.
        covering_bits: the allowed leaves whose filter covers the subscriber's box.
        leaf_of: the leaf of each subscriber, or -1 for unassigned ones.
        loads: the number of subscribers that each leaf serves, including any that are not in
            `problem`.
        capacities: the number of subscribers that each leaf may serve.
        filters: the filters to start from.
    """
    covering_bits, leaf_of, loads = covering_bits.copy(), leaf_of.copy(), loads.copy()
    sizes = (problem.subscribers.upper - problem.subscribers.lower).prod(axis=1)
    make_room(allowed_bits, covering_bits, sizes, leaf_of, loads, capacities)
    filters = _widen_filters(problem, covering_bits, leaf_of, filters)
    unassigned = np.flatnonzero(leaf_of < 0)
    if len(unassigned):
        leaf_of[unassigned], filters = extend_assignment(
            problem.take(unassigned), filters, capacities, capacities
        )
    return leaf_of, filters


def _widen_filters(
    problem: Problem, covering_bits: Bits, leaf_of: NDArray[np.int32], filters: BrokerFilters
) -> BrokerFilters:
    """Return filters, widened such that the leaf of each assigned subscriber covers its box."""
    leaf_bits = np.zeros_like(covering_bits)
    rows = np.flatnonzero(leaf_of >= 0)
    leaf_bits[rows, leaf_of[rows] >> 6] = np.uint64(1) << (leaf_of[rows] & 63).astype(np.uint64)
    uncovered = rows[~(leaf_bits[rows] & covering_bits[rows]).any(axis=1)]
    if not len(uncovered):
        return filters
    count = len(problem.tree.leaves)
    uncovered_problem = replace(
        problem.take(uncovered), allowed_leaves=unpack_leaf_sets(leaf_bits[uncovered], count)
    )
    zero_loads = np.zeros(count, np.int64)
    return extend_assignment(uncovered_problem, filters, zero_loads, zero_loads + len(uncovered))[1]
