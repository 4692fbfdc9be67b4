"""SLP1: linear programs, a maximum flow, and fitted filters, for brokers of one level.

Subscribers without a leaf after the maximum flow are assigned greedily, and filters are widened for
them. (papers: assignment)
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from covey.plan.capacity.full_assignment import (
    assign_within_capacity,
    find_all_covering_leaves,
    find_uncovered,
)
from covey.plan.greedy_assignment import extend_assignment
from covey.plan.groups.leaf_sets import find_leaves_within_delay
from covey.plan.lp.filter_adjustment import adjust_filters
from covey.plan.lp.relaxation import RelaxationResult
from covey.plan.lp.sampling_rounds import run_sampling_rounds
from covey.plan.model.plan import Plan
from covey.plan.model.problem import Problem

__all__ = ["SlpResult", "solve_one_level"]


@dataclass(frozen=True, slots=True)
class SlpResult:
    """Plan of SLP, with the linear programs that were solved for it.

    Args:
        plan: the plan.
        programs: sizes and solutions of all linear programs, in the order of solving.
        missed_count: the number of subscribers that the filters of the programs did not cover.
    """

    plan: Plan
    programs: tuple[RelaxationResult, ...]
    missed_count: int

    @property
    def fractional_value(self) -> float:
        """Objective value of the last linear program; NaN if there is none.

        It refers to a sample and to candidate rectangles, so it is not a lower bound for all plans.
        """
        return self.programs[-1].objective_value if self.programs else np.nan


def solve_one_level(problem: Problem, max_seconds: float, seed: int) -> SlpResult:
    """Return the SLP1 plan; rounds of linear programs end after about `max_seconds`."""
    deadline_s = time.monotonic() + max_seconds
    random = np.random.default_rng(seed)
    filters, programs = run_sampling_rounds(problem, deadline_s, random)
    covering_bits = find_all_covering_leaves(problem, find_leaves_within_delay(problem), filters)
    leaf_of = assign_within_capacity(problem, covering_bits)
    fitted_filters = adjust_filters(problem, leaf_of, filters, random)
    unassigned = np.flatnonzero(leaf_of < 0)
    if len(unassigned):
        loads = np.bincount(leaf_of[leaf_of >= 0], minlength=len(problem.tree))
        capacities = problem.compute_capacities(problem.max_load)
        leaf_of[unassigned], fitted_filters = extend_assignment(
            problem.take(unassigned), fitted_filters, loads, capacities
        )
    return SlpResult(
        Plan(problem, leaf_of, fitted_filters), tuple(programs), len(find_uncovered(covering_bits))
    )
