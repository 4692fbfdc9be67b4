"""Incremental replanning: adapt a plan to changed subscribers, with few moves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from covey._argument_checks import check_arguments, check_range
from covey.errors import InvalidArgumentError
from covey.plan.capacity.full_assignment import relieve_overload
from covey.plan.greedy_assignment import extend_assignment
from covey.plan.groups.assignment_counts import count_by_leaf, expand_to_subscribers, fit_filters
from covey.plan.groups.demand_groups import DemandGroups
from covey.plan.groups.filter_state import to_filter_state, to_plan
from covey.plan.groups.leaf_sets import rank_within_key
from covey.plan.local_search.search_rounds import SearchBudget, run_search
from covey.plan.model.plan import Plan
from covey.plan.model.problem import Problem, Subscribers

__all__ = ["replan"]

Ints = NDArray[np.int64]


@check_arguments
def replan(
    previous_plan: Plan,
    problem: Problem,
    previous_rows: Ints,
    *,
    max_moved_share: float = 0.02,
    steps: int = 400,
    seed: int = 0,
) -> Plan:
    """Return a plan for changed subscribers of the same broker tree, with few moves.

    First, filters are fitted to the old subscribers that remain. Then each new subscriber is
    assigned to the leaf at which filters widen least, and a search improves the plan. A subscriber
    whose position or box has changed counts as new.

    The limit on loads is the first of `problem.load_factors` that suffices, or `max_load` if none
    does. Factors below `previous_plan.feasible_load_factor` are not tried, because more subscribers
    would have to move. The number of old subscribers that change their leaf exceeds the limit of
    `max_moved_share` only if leaves would otherwise exceed their capacity; in this case, the number
    is close to the smallest possible one.

    Args:
        previous_plan: the plan to adapt.
        problem: the subscribers and limits to plan for. Brokers must have the same parents as in
            the previous plan.
        previous_rows: the row of each subscriber in the previous problem, or -1 if it is new.
        max_moved_share: how many old subscribers may change their leaf, as a share of all
            subscribers in `problem`.
        steps: the number of steps of the search.
        seed: the seed of the search; the same seed gives the same plan.

    Raises:
        InvalidArgumentError: if an argument is out of its range, or the parents of brokers differ.

    Cost: mainly that of the steps; see `search`.

    >>> from covey.plan import greedy
    >>> from covey.plan.workload.problems import make_hot_spots_problem
    >>> whole = make_hot_spots_problem(3_000, 10)
    >>> old, now = np.arange(2_000), np.arange(500, 3_000)
    >>> plan = greedy(whole.take(old))
    >>> adapted = replan(plan, whole.take(now), np.where(now < 2_000, now, -1), steps=20)
    >>> adapted.verify().is_valid
    True
    """
    count, known = len(problem.subscribers), len(previous_plan.assignment)
    if (
        previous_rows.shape != (count,)
        or previous_rows.max(initial=-1) >= known
        or previous_rows.dtype.kind != "i"
    ):
        raise InvalidArgumentError(
            f"previous_rows must have one integer per subscriber ({count}): the row of the "
            f"subscriber in the previous plan (0 to {known - 1}), or -1 if it is new; got shape "
            f"{previous_rows.shape}, type {previous_rows.dtype} and largest value "
            f"{previous_rows.max(initial=-1)}"
        )
    check_range("steps", steps, 0)
    check_range("seed", seed, 0)
    if not 0 <= max_moved_share <= 1:
        raise InvalidArgumentError(f"max_moved_share must be from 0 to 1, got {max_moved_share}")
    if not np.array_equal(previous_plan.problem.tree.parents, problem.tree.parents):
        raise InvalidArgumentError(
            "previous_plan is for another broker tree: its brokers must have the same parents as "
            "those of the problem"
        )
    leaves = problem.tree.leaves
    is_unchanged = _is_unchanged(
        previous_plan.problem.subscribers, problem.subscribers, previous_rows
    )
    previous_leaf_of = np.where(
        is_unchanged, np.searchsorted(leaves, previous_plan.assignment[previous_rows]), -1
    )
    # With a smaller load factor than before, more subscribers would have to move.
    min_factor = previous_plan.feasible_load_factor or problem.max_load
    for factor in [*(f for f in problem.load_factors if f >= min_factor), problem.max_load]:
        limited_problem = problem.with_max_load(factor)
        start = _extend_previous_plan(limited_problem, previous_plan, previous_leaf_of)
        if start.feasible_load_factor is not None:
            break
    demand = DemandGroups.from_problem(problem, filters=start.filters)
    leaf_of = np.searchsorted(leaves, start.assignment)
    original_by_group = np.zeros((len(leaves), len(demand.group_sizes)), np.int32)
    np.add.at(
        original_by_group,
        (
            previous_leaf_of[previous_leaf_of >= 0],
            demand.group_of_subscriber[previous_leaf_of >= 0],
        ),
        1,
    )
    state = to_filter_state(start.filters, problem.max_rectangles, demand)
    forced_moves = int(np.count_nonzero(leaf_of[is_unchanged] != previous_leaf_of[is_unchanged]))
    max_moved = max(forced_moves, int(max_moved_share * len(previous_rows)))
    budget = SearchBudget(
        steps, seed=seed, original_by_group=original_by_group, max_moved=max_moved
    )
    by_group, state = run_search(
        limited_problem, demand, count_by_leaf(leaf_of, len(leaves), demand), state, budget
    )
    return to_plan(
        problem, demand, _keep_previous_leaves(by_group, demand, previous_leaf_of), state
    )


def _is_unchanged(
    old_subscribers: Subscribers, new_subscribers: Subscribers, previous_rows: Ints
) -> NDArray[np.bool_]:
    """Return which of `new_subscribers` are in `old_subscribers`, with the same position and box.

    `previous_rows` has, for each of `new_subscribers`, its row in `old_subscribers`, or -1.
    """
    same = previous_rows >= 0
    for old_rows, new_rows in (
        (old_subscribers.positions, new_subscribers.positions),
        (old_subscribers.lower, new_subscribers.lower),
        (old_subscribers.upper, new_subscribers.upper),
    ):
        same &= (old_rows[previous_rows] == new_rows).all(axis=1)
    return same


def _extend_previous_plan(problem: Problem, previous_plan: Plan, previous_leaf_of: Ints) -> Plan:
    """Return a plan that keeps old subscribers at their leaves and assigns new ones greedily.

    `previous_leaf_of` contains the leaf of each old subscriber, and -1 for new ones. Filters are
    fitted to the old subscribers before new ones are assigned. If a leaf is then beyond its
    capacity at `max_load`, subscribers are moved away from it, new ones before old ones.
    """
    leaves, capacities = problem.tree.leaves, problem.compute_capacities(problem.max_load)
    new, old = np.flatnonzero(previous_leaf_of < 0), np.flatnonzero(previous_leaf_of >= 0)
    leaf_of = previous_leaf_of.copy()
    filters = replace(
        previous_plan.filters, rectangle_counts=0 * previous_plan.filters.rectangle_counts
    )
    if len(old):
        filters = fit_filters(problem.take(old), previous_leaf_of[old], previous_plan.filters)
    if len(new):
        loads = np.bincount(previous_leaf_of[previous_leaf_of >= 0], minlength=len(leaves))
        leaf_of[new], filters = extend_assignment(problem.take(new), filters, loads, capacities)
    return relieve_overload(
        Plan(problem, leaves[leaf_of].astype(np.int32), filters), previous_leaf_of < 0
    )


def _keep_previous_leaves(
    by_group: NDArray[np.int32], demand: DemandGroups, previous_leaf_of: Ints
) -> NDArray[np.int32]:
    """Return a leaf for each subscriber, such that as many as possible keep their previous leaf.

    `by_group` contains the number of subscribers of each group (column) that each leaf (row) must
    serve. Subscribers of one group are interchangeable. `previous_leaf_of` contains the previous
    leaf of each subscriber, or -1 for new subscribers.
    """
    remaining_counts, leaf_of = by_group.copy(), np.full(len(previous_leaf_of), -1, np.int32)
    rows = np.flatnonzero(previous_leaf_of >= 0)
    keys = previous_leaf_of[rows] * len(demand.group_sizes) + demand.group_of_subscriber[rows]
    stays = rows[
        rank_within_key(keys)
        < remaining_counts[previous_leaf_of[rows], demand.group_of_subscriber[rows]]
    ]
    leaf_of[stays] = previous_leaf_of[stays]
    np.subtract.at(
        remaining_counts, (previous_leaf_of[stays], demand.group_of_subscriber[stays]), 1
    )
    unassigned = np.flatnonzero(leaf_of < 0)
    remaining_demand = replace(demand, group_of_subscriber=demand.group_of_subscriber[unassigned])
    leaf_of[unassigned] = expand_to_subscribers(remaining_counts, remaining_demand)
    return leaf_of
