"""Rounds of the search: steps that move groups of subscribers; filters are unions of boxes."""

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

_ROUNDS = 100  # after each, the best state is copied, the clock is read, and progress is reported
_MAX_ROUND_STEPS = 200
_MAX_DESTROYED_BROKERS = 4  # per step
_SLACK = 0.008  # share by which the first step may increase the bandwidth; falls to 0
_MIN_STEPS, _MAX_STEPS = 4_000, 64_000  # defaults for many groups, and for few groups
_GROUP_VISITS = 32_000_000  # the default number of steps is this, divided by the number of groups


@dataclass(frozen=True, slots=True)
class SearchBudget:
    """Limits of a search, and the callback for its progress.

    Args:
        steps: the number of steps.
        deadline_s: the value of `time.monotonic()` at which the search ends; None for no deadline.
        seed: the seed of all random choices.
        progress: called after each round with the progress and the lowest bandwidth so far.
        progress_start: the progress that is reported at the start of this search.
        progress_end: the progress that is reported at its end.
        original_by_group: number of subscribers of each group (column) that each leaf (row) served
            before a replan; None if moves are not limited.
        max_moved: how many of the subscribers in `original_by_group` may be moved from their leaf.
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
    """Return the default number of steps; more steps would improve a plan only slightly.

    With fewer groups a step is faster, so more steps are returned.
    """
    return max(
        _MIN_STEPS,
        min(_MAX_STEPS, _GROUP_VISITS // len(DemandGroups.from_problem(problem).group_sizes)),
    )


def improve_plan(start: Plan, budget: SearchBudget) -> Plan:
    """Return the plan with the least bandwidth that the search finds from a start plan.

    If leaves of `start` exceed `target_load`, the search starts from `enforce_capacity(start)`.
    The `max_load` of the returned plan's problem is the one that `enforce_capacity` sets.
    """
    start = enforce_capacity(start)
    problem = start.problem
    demand = DemandGroups.from_problem(problem, filters=start.filters)
    leaves = problem.tree.leaves
    group_counts = count_by_leaf(np.searchsorted(leaves, start.assignment), len(leaves), demand)
    state = to_filter_state(start.filters, problem.max_rectangles, demand)
    group_counts, state = run_search(problem, demand, group_counts, state, budget)
    return to_plan(problem, demand, expand_to_subscribers(group_counts, demand), state)


def run_search(
    problem: Problem,
    demand: DemandGroups,
    by_group: NDArray[np.int32],
    state: FilterState,
    budget: SearchBudget,
) -> tuple[NDArray[np.int32], FilterState]:
    """Return the assignment with the least bandwidth that the search finds, and the filters for it.

    Leaves that exceed their capacity at the start may keep their load, but not increase it.

    Args:
        problem: the limits; capacities are those at `max_load`.
        demand: the groups.
        by_group: the number of subscribers of each group (column) that each leaf (row) serves at
            the start; changed in place.
        state: the filters at the start; changed in place.
        budget: the limits of the search.

    Returns:
        The counts of the best assignment, in the form of `by_group`, and its filters.
    """
    loads = by_group.sum(axis=1, dtype=np.int64)
    capacities = problem.compute_capacities(problem.max_load, int(demand.group_sizes.sum()))
    leaves = LeafArrays(
        problem.tree.leaf_paths, problem.fair_shares, np.maximum(capacities, loads), loads
    )
    original_by_group = (
        by_group[:0] if budget.original_by_group is None else budget.original_by_group
    )
    moved_count = np.array(
        [np.maximum(0, original_by_group - by_group[: len(original_by_group)]).sum()], np.int64
    )
    unassigned = np.zeros(len(demand.group_sizes), np.int64)
    assignment = AssignmentState(
        by_group, count_by_box_class(by_group, demand), unassigned, original_by_group, moved_count
    )
    groups, tree_arrays = to_group_arrays(demand), to_tree_arrays(problem, demand)
    best = state.bandwidths.sum(), by_group.copy(), copy_state(state)
    start_s, done, steps_taken = time.monotonic(), 0.0, 0
    while done < 1:
        round_steps = min(-(-budget.steps // _ROUNDS), budget.steps - steps_taken, _MAX_ROUND_STEPS)
        seed = int(np.random.SeedSequence([budget.seed, steps_taken]).generate_state(1)[0] >> 1)
        previous_done = done
        done = (steps_taken + round_steps) / budget.steps if budget.steps else 1.0
        steps_taken += round_steps
        if budget.deadline_s is not None:
            elapsed_s = time.monotonic() - start_s
            done = max(done, min(1.0, elapsed_s / max(1e-9, budget.deadline_s - start_s)))
        run_lns(
            assignment, leaves, state, groups, tree_arrays, demand.measure, round_steps,
            _MAX_DESTROYED_BROKERS, _SLACK * (1 - previous_done), _SLACK * (1 - done),
            budget.max_moved, seed,
        )  # fmt: skip
        if state.bandwidths.sum() < best[0]:
            best = state.bandwidths.sum(), by_group.copy(), copy_state(state)
        if budget.progress is not None:
            budget.progress(
                budget.progress_start + (budget.progress_end - budget.progress_start) * done,
                float(best[0]),
            )
    return best[1], best[2]
