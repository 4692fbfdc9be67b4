"""Rounds of a search, on subscribers that are grouped and filters in cells."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.plan.demand import Demand
from covey.plan.kernels.choose import Leaves
from covey.plan.kernels.climb import State
from covey.plan.kernels.refill import Served
from covey.plan.kernels.search import searched
from covey.plan.plan import Plan
from covey.plan.problem import Problem
from covey.plan.serving import by_kind, counted, groups_of, leaf_of, network_of
from covey.plan.spreading import within_room
from covey.plan.states import copied, planned, state_of

__all__ = ["Effort", "improved", "improved_plan", "usual_steps"]

_ROUNDS = 100  # between which the best is kept, the clock is looked at, and progress is told
_LONGEST = 200  # steps of a round
_WIDEST = 4  # brokers that a step empties
_SLACK = 0.008  # by which a step may make things worse, at first
_STEPS, _MOST_STEPS = 4_000, 64_000  # where groups are many, and where they are few
_WORK = 32_000_000  # groups that all steps together look at


@dataclass(frozen=True, slots=True)
class Effort:
    """How long a search may take, and what it tells on the way.

    So many steps, or until a moment of `time.monotonic()`; `progress` is called with what is done,
    from `begin` to `end`, and the bandwidth. At most `most_gone` of those that leaves serve of each
    group by `before` may go elsewhere.
    """

    steps: int
    until: float | None = None
    seed: int = 0
    progress: Callable[[float, float], None] | None = None
    begin: float = 0.0
    end: float = 1.0
    before: NDArray[np.int32] | None = None
    most_gone: int = 0


def usual_steps(problem: Problem) -> int:
    """Steps after which a search finds little more: those of few groups are quick, and many."""
    return max(_STEPS, min(_MOST_STEPS, _WORK // len(Demand.of(problem).counts)))


def improved_plan(start: Plan, effort: Effort) -> Plan:
    """The best plan found from one, or where its leaves serve more than they should, from another.

    Its problem is held to the least load that is tried at which there is a plan to start from.
    """
    start = within_room(start)
    problem = start.problem
    demand = Demand.of(problem, filters=start.filters)
    leaves = problem.tree.leaves
    served = counted(np.searchsorted(leaves, start.assignment), len(leaves), demand)
    state = state_of(start.filters, problem.alpha, demand)
    served, state = improved(problem, demand, served, state, effort)
    return planned(problem, demand, leaf_of(served, demand), state)


def improved(
    problem: Problem, demand: Demand, by_group: NDArray[np.int32], state: State, effort: Effort
) -> tuple[NDArray[np.int32], State]:
    """How many of each group each leaf serves, and filters, with the least bandwidth found.

    Leaves that serve more than they may keep as many. What is given changes.
    """
    loads = by_group.sum(axis=1, dtype=np.int64)
    room = problem.most(problem.most_load, int(demand.counts.sum()))
    leaves = Leaves(problem.tree.paths, problem.shares, np.maximum(room, loads), loads)
    before = by_group[:0] if effort.before is None else effort.before
    gone = np.array([np.maximum(0, before - by_group[: len(before)]).sum()], np.int64)
    waiting = np.zeros(len(demand.counts), np.int64)
    served = Served(by_group, by_kind(by_group, demand), waiting, before, gone)
    groups, network = groups_of(demand), network_of(problem, demand)
    best = state.volumes.sum(), by_group.copy(), copied(state)
    began, done, taken = time.monotonic(), 0.0, 0
    while done < 1:
        each = min(-(-effort.steps // _ROUNDS), effort.steps - taken, _LONGEST)
        seed = int(np.random.SeedSequence([effort.seed, taken]).generate_state(1)[0] >> 1)
        was, done = done, (taken + each) / effort.steps if effort.steps else 1.0
        taken += each
        if effort.until is not None:
            passed = time.monotonic() - began
            done = max(done, min(1.0, passed / max(1e-9, effort.until - began)))
        searched(
            served, leaves, state, groups, network, demand.measure, each, _WIDEST,
            _SLACK * (1 - was), _SLACK * (1 - done), effort.most_gone, seed,
        )  # fmt: skip
        if state.volumes.sum() < best[0]:
            best = state.volumes.sum(), by_group.copy(), copied(state)
        if effort.progress is not None:
            effort.progress(effort.begin + (effort.end - effort.begin) * done, float(best[0]))
    return best[1], best[2]
