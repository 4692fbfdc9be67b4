"""Entry of the planner: a search that improves any start plan.

It is an anytime algorithm: every intermediate plan respects the limits on delay, capacity and
filters. If there are many subscribers, the search uses a sample of them, and then also the
subscribers that the filters of the sample miss.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from covey._argument_checks import check_arguments, check_range
from covey.plan.capacity.full_assignment import assign_all, find_all_covering_leaves, find_uncovered
from covey.plan.greedy_assignment import greedy
from covey.plan.groups.leaf_sets import find_leaves_within_delay
from covey.plan.local_search.sampled_filters import search_sampled_filters
from covey.plan.local_search.search_rounds import SearchBudget, choose_step_count, improve_plan
from covey.plan.model.filters import BrokerFilters
from covey.plan.model.plan import Plan
from covey.plan.model.problem import Problem

__all__ = ["search"]


@check_arguments
def search(
    problem: Problem,
    start: Plan | None = None,
    *,
    steps: int | None = None,
    max_seconds: float | None = None,
    sample_size: int = 50_000,
    seed: int = 0,
    progress: Callable[[float, float], None] | None = None,
) -> Plan:
    """Return the best plan that the search finds.

    The plan respects the smallest of `problem.load_factors` at which all subscribers find capacity;
    if necessary, filters are widened for this. A leaf exceeds `max_load` only if a subscriber
    cannot be served by any leaf with capacity. If `start` is valid, has less bandwidth than the
    best plan of the search, and does not need a larger load factor than that plan, `start` is
    returned. With `max_seconds=None`, the same seed gives the same plan.

    Args:
        problem: what to plan for.
        start: the plan to start from; by default the greedy plan Gr*.
        steps: the number of steps. The default is between 4,000 and 64,000; it is larger if there
            are fewer groups of equal subscribers, because each step is then faster.
        max_seconds: stop after about this time; None for no limit.
        sample_size: the number of subscribers to search on. If there are more than twice as many,
            filters are searched for on a random sample of this size, and all subscribers are then
            assigned to leaves with these filters.
        seed: the seed of all random choices.
        progress: called repeatedly with the finished share of the work, from 0 to 1, and the lowest
            bandwidth so far.

    Raises:
        InvalidArgumentError: if a number is out of its range, or the start does not fit the
            problem.
        CoveyError: if scipy is not installed, and the search uses a sample or must reduce the loads
            of the start.

    Cost: 5 to 10 milliseconds a step for 100 brokers and 50,000 groups, 0.3 milliseconds for 500
    groups; in addition about 20 microseconds for each subscriber.
    """
    check_range("steps", 0 if steps is None else steps, 0)
    check_range("max_seconds", 0 if max_seconds is None else max_seconds, 0)
    check_range("sample_size", sample_size, 1)
    check_range("seed", seed, 0)
    start_plan = None if start is None else Plan(problem, start.assignment, start.filters)
    best_plan = _search_from(problem, start_plan, steps, max_seconds, sample_size, seed, progress)
    if (
        start_plan is not None
        and start_plan.bandwidth < best_plan.bandwidth
        and start_plan.verify().is_valid
    ):
        start_load = start_plan.feasible_load_factor or np.inf
        best_load = best_plan.feasible_load_factor or np.inf
        return start_plan if start_load <= best_load else best_plan
    return best_plan


def _search_from(
    problem: Problem,
    start: Plan | None,
    steps: int | None,
    max_seconds: float | None,
    sample_size: int,
    seed: int,
    progress: Callable[[float, float], None] | None,
) -> Plan:
    """Return the best plan that the search finds.

    The plan may have more bandwidth than the start, if the search uses a sample or reduces loads.
    """
    deadline_s = None if max_seconds is None else time.monotonic() + max_seconds
    count = len(problem.subscribers)
    rows = np.arange(count)
    if count > 2 * sample_size:
        rows = np.sort(np.random.default_rng(seed).choice(count, sample_size, replace=False))
    sample_problem = problem.take(rows)
    budget = SearchBudget(
        choose_step_count(sample_problem) if steps is None else steps, deadline_s, seed, progress
    )
    if count == len(rows):
        start = greedy(problem, seed=seed) if start is None else start
        return replace(improve_plan(start, budget), problem=problem)
    if start is not None:
        start = Plan(sample_problem, start.assignment[rows], start.filters)
    allowed_bits = find_leaves_within_delay(problem)

    def missed(filters: BrokerFilters) -> Problem | None:
        uncovered = find_uncovered(find_all_covering_leaves(problem, allowed_bits, filters))
        return problem.take(uncovered) if len(uncovered) else None

    return assign_all(problem, search_sampled_filters(sample_problem, count, missed, start, budget))
