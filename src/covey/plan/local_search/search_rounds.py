"""Rounds of a search, on subscribers that are grouped and filters in cells."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.plan.capacity.full_assignment import enforce_capacity
from covey.plan.groups.assignment_counts import (
    count_by_box_class,
    count_by_leaf,
    expand_to_subscribers,
    to_group_arrays,
    to_tree_arrays,
)
from covey.plan.groups.demand_groups import DemandGroups
from covey.plan.groups.filter_state import copy_state, to_filter_state, to_plan
from covey.plan.kernels.destroy_repair import AssignmentState
from covey.plan.kernels.leaf_costs import LeafArrays
from covey.plan.kernels.lns import run_lns
from covey.plan.kernels.path_widening import FilterState
from covey.plan.model.plan import Plan
from covey.plan.model.problem import Problem

__all__ = ["SearchBudget", "choose_step_count", "improve_plan", "run_search"]

_ROUNDS = 100  # between which the best is kept, the clock is looked at, and progress is told
_MAX_ROUND_STEPS = 200  # steps of a round
_MAX_DESTROYED_BROKERS = 4  # brokers that a step empties
_SLACK = 0.008  # by which a step may make things worse, at first
_MIN_STEPS, _MAX_STEPS = 4_000, 64_000  # where groups are many, and where they are few
_GROUP_VISITS = 32_000_000  # groups that all steps together look at


@dataclass(frozen=True, slots=True)
class SearchBudget:
    """How long a search may take, and what it tells on the way.

    So many steps, or until a moment of `time_column.monotonic()`; `progress` is called with what is
    done, from `begin` to `end`, and the bandwidth. At most `max_moved` of those that leaves serve
    of each group by `before` may go elsewhere.
    """

    steps: int
    deadline_s: float | None = None
    seed: int = 0
    progress: Callable[[float, float], None] | None = None
    progress_start: float = 0.0
    progress_end: float = 1.0
    original_by_group: NDArray[np.int32] | None = None
    max_moved: int = 0


def choose_step_count(problem: Problem) -> int:
    """Steps after which a search finds little more: those of few groups are quick, and many."""
    return max(
        _MIN_STEPS,
        min(_MAX_STEPS, _GROUP_VISITS // len(DemandGroups.from_problem(problem).group_sizes)),
    )


def improve_plan(start: Plan, budget: SearchBudget) -> Plan:
    """The best plan found from one, or where its leaves serve more than they should, from another.

    Its problem is held to the least load that is tried at which there is a plan to start from.
    """
    start = enforce_capacity(start)
    problem = start.problem
    demand = DemandGroups.from_problem(problem, filters=start.filters)
    leaves = problem.tree.leaves
    served = count_by_leaf(np.searchsorted(leaves, start.assignment), len(leaves), demand)
    state = to_filter_state(start.filters, problem.max_rectangles, demand)
    served, state = run_search(problem, demand, served, state, budget)
    return to_plan(problem, demand, expand_to_subscribers(served, demand), state)


def run_search(
    problem: Problem,
    demand: DemandGroups,
    by_group: NDArray[np.int32],
    state: FilterState,
    budget: SearchBudget,
) -> tuple[NDArray[np.int32], FilterState]:
    """How many of each group each leaf serves, and filters, with the least bandwidth found.

    Leaves that serve more than they may keep as many. What is given changes.
    """
    loads = by_group.sum(axis=1, dtype=np.int64)
    room = problem.compute_capacities(problem.max_load, int(demand.group_sizes.sum()))
    leaves = LeafArrays(
        problem.tree.leaf_paths, problem.fair_shares, np.maximum(room, loads), loads
    )
    before = by_group[:0] if budget.original_by_group is None else budget.original_by_group
    gone = np.array([np.maximum(0, before - by_group[: len(before)]).sum()], np.int64)
    waiting = np.zeros(len(demand.group_sizes), np.int64)
    served = AssignmentState(by_group, count_by_box_class(by_group, demand), waiting, before, gone)
    groups, network = to_group_arrays(demand), to_tree_arrays(problem, demand)
    best = state.bandwidths.sum(), by_group.copy(), copy_state(state)
    began, done, taken = time.monotonic(), 0.0, 0
    while done < 1:
        each = min(-(-budget.steps // _ROUNDS), budget.steps - taken, _MAX_ROUND_STEPS)
        seed = int(np.random.SeedSequence([budget.seed, taken]).generate_state(1)[0] >> 1)
        was, done = done, (taken + each) / budget.steps if budget.steps else 1.0
        taken += each
        if budget.deadline_s is not None:
            passed = time.monotonic() - began
            done = max(done, min(1.0, passed / max(1e-9, budget.deadline_s - began)))
        run_lns(
            served, leaves, state, groups, network, demand.measure, each, _MAX_DESTROYED_BROKERS,
            _SLACK * (1 - was), _SLACK * (1 - done), budget.max_moved, seed,
        )  # fmt: skip
        if state.bandwidths.sum() < best[0]:
            best = state.bandwidths.sum(), by_group.copy(), copy_state(state)
        if budget.progress is not None:
            budget.progress(
                budget.progress_start + (budget.progress_end - budget.progress_start) * done,
                float(best[0]),
            )
    return best[1], best[2]
