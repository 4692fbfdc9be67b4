"""Filters for many subscribers, searched for on some: a sample, then those too whom it misses."""

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

_FIRST_PHASE_SHARE = 0.7  # of the steps are taken on the sample alone


def search_sampled_filters(
    sample_problem: Problem,
    subscriber_count: int,
    find_missed_problem: Callable[[BrokerFilters], Problem | None],
    start: Plan | None,
    budget: SearchBudget,
) -> BrokerFilters:
    """Filters for so many subscribers, of whom some are a sample.

    `missed` gives those of all whom filters would miss, if there are any. They are added to the
    sample, where each counts as one and those of the sample for all the others.
    """
    start = greedy(sample_problem, seed=budget.seed) if start is None else start
    first = _limit_to_first_phase(budget)
    found = improve_plan(start, first)
    sample_problem = found.problem
    leaves, filters = np.searchsorted(sample_problem.tree.leaves, found.assignment), found.filters
    weights = np.full(len(leaves), max(1, subscriber_count // len(leaves)))
    others = find_missed_problem(filters)
    if others is not None:
        room = np.full(len(sample_problem.tree.leaves), subscriber_count)
        more, filters = extend_assignment(others, filters, 0 * room, room)
        leaves, weights = np.r_[leaves, more], np.r_[weights, np.ones(len(more), np.int64)]
        sample_problem = sample_problem.concat_subscribers(others)
    demand = DemandGroups.from_problem(sample_problem, weights=weights, filters=filters)
    served = count_by_leaf(leaves, len(sample_problem.tree.leaves), demand, weights=weights)
    state = to_filter_state(filters, sample_problem.max_rectangles, demand)
    rest = replace(budget, steps=budget.steps - first.steps, progress_start=_FIRST_PHASE_SHARE)
    return to_filters(run_search(sample_problem, demand, served, state, rest)[1], demand)


def _limit_to_first_phase(budget: SearchBudget) -> SearchBudget:
    until = budget.deadline_s
    if until is not None:
        now = time.monotonic()
        until = now + _FIRST_PHASE_SHARE * (until - now)
    return replace(
        budget,
        steps=round(_FIRST_PHASE_SHARE * budget.steps),
        deadline_s=until,
        progress_end=_FIRST_PHASE_SHARE,
    )
