"""SLP1: linear programs, a flow, and filters made to fit, for brokers of one level.

Who has no leaf when the time is over widens filters greedily. (papers: assignment)
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from covey.plan.adjusting import adjusted
from covey.plan.assigning import extended
from covey.plan.plan import Plan
from covey.plan.preliminary import preliminary
from covey.plan.problem import Problem
from covey.plan.reach import near_leaves
from covey.plan.relaxing import Relaxed
from covey.plan.spreading import all_reached, missing, placed

__all__ = ["Slp", "by_one_level"]


@dataclass(frozen=True, slots=True)
class Slp:
    """A plan, and what it took: all linear programs, and how many subscribers the last one missed.

    `fractional` is the value of the last program: relative to its sample and its candidates, no
    bound for all plans.
    """

    plan: Plan
    programs: tuple[Relaxed, ...]
    missed: int

    @property
    def fractional(self) -> float:
        """The value of the last linear program."""
        return self.programs[-1].value if self.programs else np.nan


def by_one_level(problem: Problem, seconds: float, seed: int) -> Slp:
    """SLP1, in about so many seconds."""
    until = time.monotonic() + seconds
    random = np.random.default_rng(seed)
    filters, programs = preliminary(problem, until, random)
    bits = all_reached(problem, near_leaves(problem), filters)
    leaf_of = placed(problem, bits)
    fitting = adjusted(problem, leaf_of, filters, random)
    left = np.flatnonzero(leaf_of < 0)
    if len(left):
        loads = np.bincount(leaf_of[leaf_of >= 0], minlength=len(problem.tree))
        most = problem.most(problem.most_load)
        leaf_of[left], fitting = extended(problem.take(left), fitting, loads, most)
    return Slp(Plan(problem, leaf_of, fitting), tuple(programs), len(missing(bits)))
