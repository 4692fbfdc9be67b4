"""Filters for many subscribers, searched for on some: a sample, then those too whom it misses."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from covey.plan.assigning import extended, greedy
from covey.plan.demand import Demand
from covey.plan.filters import Filters
from covey.plan.improving import Effort, improved, improved_plan
from covey.plan.plan import Plan
from covey.plan.problem import Problem
from covey.plan.serving import counted
from covey.plan.states import filters_of, state_of

__all__ = ["filters_for"]

_FIRST = 0.7  # of the steps are taken on the sample alone


def filters_for(
    some: Problem,
    count: int,
    missed: Callable[[Filters], Problem | None],
    start: Plan | None,
    effort: Effort,
) -> Filters:
    """Filters for so many subscribers, of whom some are a sample.

    `missed` gives those of all whom filters would miss, if there are any. They are added to the
    sample, where each counts as one and those of the sample for all the others.
    """
    start = greedy(some, seed=effort.seed) if start is None else start
    first = _first(effort)
    found = improved_plan(start, first)
    some = found.problem
    leaves, filters = np.searchsorted(some.tree.leaves, found.assignment), found.filters
    weights = np.full(len(leaves), max(1, count // len(leaves)))
    others = missed(filters)
    if others is not None:
        room = np.full(len(some.tree.leaves), count)
        more, filters = extended(others, filters, 0 * room, room)
        leaves, weights = np.r_[leaves, more], np.r_[weights, np.ones(len(more), np.int64)]
        some = some.joined(others)
    demand = Demand.of(some, weights=weights, filters=filters)
    served = counted(leaves, len(some.tree.leaves), demand, weights)
    state = state_of(filters, some.alpha, demand)
    rest = replace(effort, steps=effort.steps - first.steps, begin=_FIRST)
    return filters_of(improved(some, demand, served, state, rest)[1], demand)


def _first(effort: Effort) -> Effort:
    until = effort.until
    if until is not None:
        now = time.monotonic()
        until = now + _FIRST * (until - now)
    return replace(effort, steps=round(_FIRST * effort.steps), until=until, end=_FIRST)
