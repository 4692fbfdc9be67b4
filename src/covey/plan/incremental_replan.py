"""Plans that follow their subscribers: who comes is served, who goes is forgotten, few move."""

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
    """The plan for other subscribers of the same brokers, at which few of the old ones move.

    Subscriber s of the problem is `previous_rows[s]` of the plan's, or -1 if it is new. New ones
    are served where they cost least, filters shrink to what is left, and a search moves at most the
    share `max_moved_share` of all subscribers. Only where there is no room otherwise more of them
    move, about as few as must. Who wants something else than before, or is elsewhere, counts as
    new.

    Cost: a search of so many steps.

    >>> from covey.plan import greedy
    >>> from covey.plan.workload.problems import make_hot_spots_problem
    >>> whole = make_hot_spots_problem(3_000, 10)
    >>> old, now = np.arange(2_000), np.arange(500, 3_000)
    >>> plan = greedy(whole.take(old))
    >>> found = replan(plan, whole.take(now), np.where(now < 2_000, now, -1), steps=20)
    >>> found.verify().is_valid
    True
    """
    count, known = len(problem.subscribers), len(previous_plan.assignment)
    if (
        previous_rows.shape != (count,)
        or previous_rows.max(initial=-1) >= known
        or previous_rows.dtype.kind != "i"
    ):
        raise InvalidArgumentError(
            f"previous_rows is of shape {previous_rows.shape}: "
            "for each subscriber its row in the plan, or -1"
        )
    check_range("steps", steps, 0)
    check_range("seed", seed, 0)
    if not 0 <= max_moved_share <= 1:
        raise InvalidArgumentError(
            f"max_moved_share={max_moved_share}: the share of subscribers who may move, from 0 to 1"
        )
    if not np.array_equal(previous_plan.problem.tree.parents, problem.tree.parents):
        raise InvalidArgumentError(
            "the plan is for another tree of brokers: a plan follows its subscribers"
        )
    leaves = problem.tree.leaves
    stays = _is_unchanged(previous_plan.problem.subscribers, problem.subscribers, previous_rows)
    at = np.where(stays, np.searchsorted(leaves, previous_plan.assignment[previous_rows]), -1)
    least = (
        previous_plan.feasible_load_factor or problem.max_load
    )  # of less load, more would have to move
    for factor in [*(f for f in problem.load_factors if f >= least), problem.max_load]:
        held = problem.with_max_load(factor)
        start = _extend_previous_plan(held, previous_plan, at)
        if start.feasible_load_factor is not None:
            break
    demand = DemandGroups.from_problem(problem, filters=start.filters)
    now = np.searchsorted(leaves, start.assignment)
    was = np.zeros((len(leaves), len(demand.group_sizes)), np.int32)
    np.add.at(was, (at[at >= 0], demand.group_of_subscriber[at >= 0]), 1)
    state = to_filter_state(start.filters, problem.max_rectangles, demand)
    forced = int(np.count_nonzero(now[stays] != at[stays]))
    most_gone = max(forced, int(max_moved_share * len(previous_rows)))
    effort = SearchBudget(steps, seed=seed, original_by_group=was, max_moved=most_gone)
    by_group, state = run_search(
        held, demand, count_by_leaf(now, len(leaves), demand), state, effort
    )
    return to_plan(problem, demand, _keep_previous_leaves(by_group, demand, at), state)


def _is_unchanged(
    old_subscribers: Subscribers, new_subscribers: Subscribers, previous_rows: Ints
) -> NDArray[np.bool_]:
    """Who was there before, at the same place, and wants the same."""
    same = previous_rows >= 0
    for was, is_now in (
        (old_subscribers.positions, new_subscribers.positions),
        (old_subscribers.lower, new_subscribers.lower),
        (old_subscribers.upper, new_subscribers.upper),
    ):
        same &= (was[previous_rows] == is_now).all(axis=1)
    return same


def _extend_previous_plan(problem: Problem, previous_plan: Plan, previous_leaf_of: Ints) -> Plan:
    """Old subscribers where they were and new ones where they cost least, with fitting filters."""
    leaves, most = problem.tree.leaves, problem.compute_capacities(problem.max_load)
    new, old = np.flatnonzero(previous_leaf_of < 0), np.flatnonzero(previous_leaf_of >= 0)
    leaf = previous_leaf_of.copy()
    filters = replace(
        previous_plan.filters, rectangle_counts=0 * previous_plan.filters.rectangle_counts
    )
    if len(old):
        filters = fit_filters(problem.take(old), previous_leaf_of[old], previous_plan.filters)
    if len(new):
        loads = np.bincount(previous_leaf_of[previous_leaf_of >= 0], minlength=len(leaves))
        leaf[new], filters = extend_assignment(problem.take(new), filters, loads, most)
    return relieve_overload(
        Plan(problem, leaves[leaf].astype(np.int32), filters), previous_leaf_of < 0
    )


def _keep_previous_leaves(
    by_group: NDArray[np.int32], demand: DemandGroups, previous_leaf_of: Ints
) -> NDArray[np.int32]:
    """A leaf for each subscriber; of those who are alike, as many old ones stay as can."""
    left, found = by_group.copy(), np.full(len(previous_leaf_of), -1, np.int32)
    rows = np.flatnonzero(previous_leaf_of >= 0)
    keys = previous_leaf_of[rows] * len(demand.group_sizes) + demand.group_of_subscriber[rows]
    stays = rows[
        rank_within_key(keys) < left[previous_leaf_of[rows], demand.group_of_subscriber[rows]]
    ]
    found[stays] = previous_leaf_of[stays]
    np.subtract.at(left, (previous_leaf_of[stays], demand.group_of_subscriber[stays]), 1)
    others = np.flatnonzero(found < 0)
    rest = replace(demand, group_of_subscriber=demand.group_of_subscriber[others])
    found[others] = expand_to_subscribers(left, rest)
    return found
