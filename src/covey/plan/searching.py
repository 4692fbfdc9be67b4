"""The plan to use: a search that starts from any plan and improves it as long as it may.

It keeps to latency, room and filters all the time, so it can be stopped at any moment. Of many
subscribers it looks at a sample, then at those too whom the sample's filters miss.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from covey.errors import ValueRefused
from covey.plan.assigning import extended, greedy
from covey.plan.demand import Demand
from covey.plan.filters import Filters
from covey.plan.improving import Effort, improved
from covey.plan.plan import Plan
from covey.plan.problem import Problem
from covey.plan.reach import near_leaves
from covey.plan.serving import counted, leaf_of
from covey.plan.spreading import all_reached, missing, spread
from covey.plan.states import filters_of, planned, state_of

__all__ = ["search"]

_FIRST = 0.7  # of the steps are taken on the sample alone


def search(
    problem: Problem,
    start: Plan | None = None,
    *,
    steps: int = 4_000,
    seconds: float | None = None,
    sample: int = 50_000,
    seed: int = 0,
    progress: Callable[[float, float], None] | None = None,
) -> Plan:
    """The best plan found in so many steps, and in about so many seconds if that is said.

    It starts from `start`, or else from Gr*; where that exceeds a broker's room, others are widened
    first, and only if there is no room at all a broker keeps more than it may. With more than twice
    as many subscribers as `sample`, the search is for filters of a sample, which are then spread to
    all. Without `seconds` the same seed gives the same plan. `progress` is called now and then with
    how much is done, from 0 to 1, and the bandwidth.

    Cost: 5 to 10 milliseconds a step for 100 brokers; and for all subscribers about 20 microseconds
    each.
    """
    if steps < 0 or sample < 1:
        raise ValueRefused(f"no search of {steps} steps on {sample} subscribers")
    until = None if seconds is None else time.monotonic() + seconds
    if len(problem.subscribers) > 2 * sample:
        filters = _sampled(problem, start, sample, Effort(steps, until, seed, progress))
        return spread(problem, filters)
    start = _roomy(greedy(problem, seed=seed) if start is None else start)
    demand = Demand.of(problem, filters=start.filters)
    leaves = problem.tree.leaves
    served = counted(np.searchsorted(leaves, start.assignment), len(leaves), demand)
    state = state_of(start.filters, problem.alpha, demand)
    served, state = improved(problem, demand, served, state, Effort(steps, until, seed, progress))
    return planned(problem, demand, leaf_of(served, demand), state)


def _roomy(plan: Plan) -> Plan:
    """The plan, or if leaves serve more than they may, one with about its filters and room."""
    is_over = (plan.loads > plan.problem.most(plan.problem.most_load)).any()
    return spread(plan.problem, plan.filters) if is_over else plan


def _sampled(problem: Problem, start: Plan | None, sample: int, effort: Effort) -> Filters:
    """Filters for a sample, and for those whom they would miss."""
    random = np.random.default_rng(effort.seed)
    rows = np.sort(random.choice(len(problem.subscribers), sample, replace=False))
    some = problem.take(rows)
    if start is None:
        start = greedy(some, seed=effort.seed)
    else:
        start = Plan(some, start.assignment[rows], start.filters)
    tell = effort.progress
    found = search(
        some, start, steps=round(_FIRST * effort.steps), seed=effort.seed, sample=sample,
        seconds=None if effort.until is None else _FIRST * (effort.until - time.monotonic()),
        progress=None if tell is None else (lambda done, now: tell(_FIRST * done, now)),
    )  # fmt: skip
    without = missing(all_reached(problem, near_leaves(problem), found.filters))
    others, filters = np.empty(0, np.int32), found.filters
    if len(without):
        room = np.full(len(problem.tree.leaves), len(problem.subscribers))
        others, filters = extended(problem.take(without), filters, 0 * room, room)
    weights = np.r_[np.full(sample, len(problem.subscribers) // sample), np.ones_like(without)]
    leaves = np.r_[np.searchsorted(problem.tree.leaves, found.assignment), others]
    rest = Effort(
        round((1 - _FIRST) * effort.steps), effort.until, effort.seed, effort.progress, _FIRST
    )
    return _reweighted(problem.take(np.r_[rows, without]), leaves, weights, filters, rest)


def _reweighted(
    problem: Problem, leaves: NDArray[np.int64], weights: NDArray[np.int64], filters: Filters,
    effort: Effort,
) -> Filters:  # fmt: skip
    """Filters searched on for subscribers of different weights."""
    demand = Demand.of(problem, weights=weights, filters=filters)
    served = counted(leaves, len(problem.tree.leaves), demand, weights)
    state = state_of(filters, problem.alpha, demand)
    return filters_of(improved(problem, demand, served, state, effort)[1], demand)
