"""SLP: filters from linear programs on samples that are weighted anew. (papers: assignment)

What the text leaves open is decided so: filters are widened by a tenth, weights double for those a
round misses, and when its time is over the last round's filters are widened greedily for those they
still miss. `search` finds better plans in less time; this is the yardstick.
"""

from __future__ import annotations

from covey.plan.levels import by_levels
from covey.plan.one_level import Slp, by_one_level
from covey.plan.problem import Problem

__all__ = ["Slp", "slp"]


def slp(problem: Problem, *, seconds: float = 600.0, seed: int = 0) -> Slp:
    """SLP1 for brokers that are all the publisher's, SLP for trees of several levels.

    Cost: a linear program a round, of some 30,000 rows and 100,000 columns for 100 brokers: minutes
    each. Rounds end when all are covered, or after about so many seconds.
    """
    has_levels = problem.tree.paths.shape[1] > 1
    return (by_levels if has_levels else by_one_level)(problem, seconds, seed)
