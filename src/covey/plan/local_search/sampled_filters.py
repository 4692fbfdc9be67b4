"""Search for filters for many subscribers, on a sample of them.

In a second phase, the subscribers that the filters of the first phase do not cover are added.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from covey.plan.greedy_assignment import extend_assignment, greedy
from covey.plan.groups.assignment_counts import count_by_leaf
from covey.plan.groups.demand_groups import DemandGroups
from covey.plan.groups.filter_state import to_filter_state, to_filters
from covey.plan.local_search.search_rounds import SearchBudget, improve_plan, run_search
from covey.plan.model.filters import BrokerFilters
from covey.plan.model.plan import Plan
from covey.plan.model.problem import Problem

__all__ = ["search_sampled_filters"]

_FIRST_PHASE_SHARE = 0.7  # share of the steps in the first phase, on the sample alone


def search_sampled_filters(
    sample_problem: Problem,
    subscriber_count: int,
    find_missed_problem: Callable[[BrokerFilters], Problem | None],
    start: Plan | None,
    budget: SearchBudget,
) -> BrokerFilters:
    """Return filters for many subscribers, from a search on a sample of them.

    The search has two phases. In the second one, the subscribers that the filters of the first
    phase do not cover are added to the sample. Each of these has weight 1. Each subscriber of the
    sample has a weight of `subscriber_count` divided by the size of the sample, rounded down.

    Args:
        sample_problem: the problem with a sample of the subscribers.
        subscriber_count: the number of all subscribers.
        find_missed_problem: a function that takes filters, and returns the problem with all
            subscribers whose boxes the filters do not cover, or None if there is none.
        start: the plan of the sample to start from; by default a greedy plan.
        budget: the limits of the search.
    """
    start = greedy(sample_problem, seed=budget.seed) if start is None else start
    first_budget = _limit_to_first_phase(budget)
    improved = improve_plan(start, first_budget)
    sample_problem = improved.problem
    leaf_of = np.searchsorted(sample_problem.tree.leaves, improved.assignment)
    filters = improved.filters
    weights = np.full(len(leaf_of), max(1, subscriber_count // len(leaf_of)))
    missed_problem = find_missed_problem(filters)
    if missed_problem is not None:
        unlimited = np.full(len(sample_problem.tree.leaves), subscriber_count)
        missed_leaf_of, filters = extend_assignment(
            missed_problem, filters, 0 * unlimited, unlimited
        )
        leaf_of = np.r_[leaf_of, missed_leaf_of]
        weights = np.r_[weights, np.ones(len(missed_leaf_of), np.int64)]
        sample_problem = sample_problem.concat_subscribers(missed_problem)
    demand = DemandGroups.from_problem(sample_problem, weights=weights, filters=filters)
    group_counts = count_by_leaf(leaf_of, len(sample_problem.tree.leaves), demand, weights=weights)
    state = to_filter_state(filters, sample_problem.max_rectangles, demand)
    second_budget = replace(
        budget, steps=budget.steps - first_budget.steps, progress_start=_FIRST_PHASE_SHARE
    )
    return to_filters(
        run_search(sample_problem, demand, group_counts, state, second_budget)[1], demand
    )


def _limit_to_first_phase(budget: SearchBudget) -> SearchBudget:
    """Return the budget of the first phase: 70% of the steps and the time; progress ends at 70%."""
    deadline_s = budget.deadline_s
    if deadline_s is not None:
        now = time.monotonic()
        deadline_s = now + _FIRST_PHASE_SHARE * (deadline_s - now)
    return replace(
        budget,
        steps=round(_FIRST_PHASE_SHARE * budget.steps),
        deadline_s=deadline_s,
        progress_end=_FIRST_PHASE_SHARE,
    )
