"""Plans that follow their subscribers: who comes is served, who goes is forgotten, few move."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from covey.errors import ValueRefused
from covey.plan.assigning import extended
from covey.plan.demand import Demand
from covey.plan.improving import Effort, improved
from covey.plan.plan import Plan
from covey.plan.problem import Problem, Subscribers
from covey.plan.reach import ranks
from covey.plan.serving import counted, fitted_filters, leaf_of
from covey.plan.spreading import relieved
from covey.plan.states import planned, state_of

__all__ = ["follow"]

Ints = NDArray[np.int64]


def follow(
    plan: Plan, problem: Problem, before: Ints, *, moves: float = 0.02, steps: int = 400,
    seed: int = 0,
) -> Plan:  # fmt: skip
    """The plan for other subscribers of the same brokers, at which few of the old ones move.

    Subscriber s of the problem is `before[s]` of the plan's, or -1 if it is new. New ones are
    served where they cost least, filters shrink to what is left, and a search moves at most the
    share `moves` of all subscribers. Only where there is no room otherwise more of them move, about
    as few as must. Who wants something else than before, or is elsewhere, counts as new.

    Cost: a search of so many steps.

    >>> from covey.plan import greedy
    >>> from covey.plan.sets import hot_spots
    >>> whole = hot_spots(3_000, 10)
    >>> old, now = np.arange(2_000), np.arange(500, 3_000)
    >>> plan = greedy(whole.take(old))
    >>> found = follow(plan, whole.take(now), np.where(now < 2_000, now, -1), steps=20)
    >>> found.verify().is_valid
    True
    """
    count, known = len(problem.subscribers), len(plan.assignment)
    if before.shape != (count,) or before.max(initial=-1) >= known or before.dtype.kind != "i":
        raise ValueRefused(
            f"before is of shape {before.shape}: for each subscriber its row in the plan, or -1"
        )
    if not 0 <= moves <= 1:
        raise ValueRefused(f"moves={moves}: the share of subscribers who may move, from 0 to 1")
    if not np.array_equal(plan.problem.tree.parents, problem.tree.parents):
        raise ValueRefused(
            "the plan is for another tree of brokers: a plan follows its subscribers"
        )
    leaves = problem.tree.leaves
    stays = _is_same(plan.problem.subscribers, problem.subscribers, before)
    at = np.where(stays, np.searchsorted(leaves, plan.assignment[before]), -1)
    least = plan.factor or problem.most_load  # of less load, more would have to move
    for factor in [*(f for f in problem.factors if f >= least), problem.most_load]:
        held = problem.held_to(factor)
        start = _served(held, plan, at)
        if start.factor is not None:
            break
    demand = Demand.of(problem, filters=start.filters)
    now = np.searchsorted(leaves, start.assignment)
    was = np.zeros((len(leaves), len(demand.counts)), np.int32)
    np.add.at(was, (at[at >= 0], demand.group_of[at >= 0]), 1)
    state = state_of(start.filters, problem.alpha, demand)
    forced = int(np.count_nonzero(now[stays] != at[stays]))
    most_gone = max(forced, int(moves * len(before)))
    effort = Effort(steps, seed=seed, before=was, most_gone=most_gone)
    by_group, state = improved(held, demand, counted(now, len(leaves), demand), state, effort)
    return planned(problem, demand, _staying(by_group, demand, at), state)


def _is_same(old: Subscribers, now: Subscribers, before: Ints) -> NDArray[np.bool_]:
    """Who was there before, at the same place, and wants the same."""
    same = before >= 0
    for was, is_now in (
        (old.positions, now.positions), (old.lower, now.lower), (old.upper, now.upper)
    ):  # fmt: skip
        same &= (was[before] == is_now).all(axis=1)
    return same


def _served(problem: Problem, plan: Plan, at: Ints) -> Plan:
    """Old subscribers where they were and new ones where they cost least, with fitting filters."""
    leaves, most = problem.tree.leaves, problem.most(problem.most_load)
    new, old = np.flatnonzero(at < 0), np.flatnonzero(at >= 0)
    leaf = at.copy()
    filters = replace(plan.filters, counts=0 * plan.filters.counts)
    if len(old):
        filters = fitted_filters(problem.take(old), at[old], plan.filters)
    if len(new):
        loads = np.bincount(at[at >= 0], minlength=len(leaves))
        leaf[new], filters = extended(problem.take(new), filters, loads, most)
    return relieved(Plan(problem, leaves[leaf].astype(np.int32), filters), at < 0)


def _staying(by_group: NDArray[np.int32], demand: Demand, at: Ints) -> NDArray[np.int32]:
    """A leaf for each subscriber; of those who are alike, as many old ones stay as can."""
    left, found = by_group.copy(), np.full(len(at), -1, np.int32)
    rows = np.flatnonzero(at >= 0)
    keys = at[rows] * len(demand.counts) + demand.group_of[rows]
    stays = rows[ranks(keys) < left[at[rows], demand.group_of[rows]]]
    found[stays] = at[stays]
    np.subtract.at(left, (at[stays], demand.group_of[stays]), 1)
    others = np.flatnonzero(found < 0)
    rest = replace(demand, group_of=demand.group_of[others])
    found[others] = leaf_of(left, rest)
    return found
