"""The plan to use: a search that starts from any plan and improves it as long as it may.

It keeps to latency, room and filters all the time, so it can be stopped at any moment. Of many
subscribers it looks at a sample, then at those too whom the sample's filters miss.
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
    """The best plan found in so many steps, and in about so many seconds if that is said.

    It starts from `start`, or else from Gr*. Brokers are held to the load that is wanted, or else
    to the least of `problem.load_factors` at which there is room: filters are widened for it first,
    and only if there is no room at all a broker keeps more than it may. It is never worse than a
    valid start of no more load. With more than twice as many subscribers as `sample`, the search is
    for filters of a sample, which are then spread to all. Without `seconds` the same seed gives the
    same plan. `progress` is called now and then with how much is done, from 0 to 1, and the
    bandwidth.

    Without `steps` there are 4,000, or up to 64,000 where steps are quick because there are few
    groups who want the same and may have the same brokers.

    Cost: 5 to 10 milliseconds a step for 100 brokers and 50,000 groups, 0.3 for 500; and for all
    subscribers about 20 microseconds each.
    """
    check_range("steps", 0 if steps is None else steps, 0)
    check_range("max_seconds", 0 if max_seconds is None else max_seconds, 0)
    check_range("sample_size", sample_size, 1)
    check_range("seed", seed, 0)
    given = None if start is None else Plan(problem, start.assignment, start.filters)
    found = _search_from(problem, given, steps, max_seconds, sample_size, seed, progress)
    if given is not None and given.bandwidth < found.bandwidth and given.verify().is_valid:
        mine, others = given.feasible_load_factor or np.inf, found.feasible_load_factor or np.inf
        return given if mine <= others else found
    return found


def _search_from(
    problem: Problem,
    start: Plan | None,
    steps: int | None,
    max_seconds: float | None,
    sample_size: int,
    seed: int,
    progress: Callable[[float, float], None] | None,
) -> Plan:
    until = None if max_seconds is None else time.monotonic() + max_seconds
    count = len(problem.subscribers)
    rows = np.arange(count)
    if count > 2 * sample_size:
        rows = np.sort(np.random.default_rng(seed).choice(count, sample_size, replace=False))
    some = problem.take(rows)
    effort = SearchBudget(
        choose_step_count(some) if steps is None else steps, until, seed, progress
    )
    if count == len(rows):
        start = greedy(problem, seed=seed) if start is None else start
        return replace(improve_plan(start, effort), problem=problem)
    if start is not None:
        start = Plan(some, start.assignment[rows], start.filters)
    near = find_leaves_within_delay(problem)

    def missed(filters: BrokerFilters) -> Problem | None:
        without = find_uncovered(find_all_covering_leaves(problem, near, filters))
        return problem.take(without) if len(without) else None

    return assign_all(problem, search_sampled_filters(some, count, missed, start, effort))
