"""SLP1: linear programs, a flow, and filters made to fit, for brokers of one level.

Who has no leaf when the time is over widens filters greedily. (papers: assignment)
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
    """A plan, and what it took: all linear programs, and how many subscribers the last one missed.

    `fractional` is the value of the last program: relative to its sample and its candidates, no
    bound for all plans.
    """

    plan: Plan
    programs: tuple[RelaxationResult, ...]
    missed_count: int

    @property
    def fractional_value(self) -> float:
        """The value of the last linear program."""
        return self.programs[-1].objective_value if self.programs else np.nan


def solve_one_level(problem: Problem, max_seconds: float, seed: int) -> SlpResult:
    """SLP1, in about so many seconds."""
    until = time.monotonic() + max_seconds
    random = np.random.default_rng(seed)
    filters, programs = run_sampling_rounds(problem, until, random)
    bits = find_all_covering_leaves(problem, find_leaves_within_delay(problem), filters)
    leaf_of = assign_within_capacity(problem, bits)
    fitting = adjust_filters(problem, leaf_of, filters, random)
    left = np.flatnonzero(leaf_of < 0)
    if len(left):
        loads = np.bincount(leaf_of[leaf_of >= 0], minlength=len(problem.tree))
        most = problem.compute_capacities(problem.max_load)
        leaf_of[left], fitting = extend_assignment(problem.take(left), fitting, loads, most)
    return SlpResult(Plan(problem, leaf_of, fitting), tuple(programs), len(find_uncovered(bits)))
