"""The sets of the paper, without the seeds for which there is no plan."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from covey.plan import Problem
from covey.plan.demand import Demand
from covey.plan.flow import flow
from covey.plan.sets import SETS

__all__ = ["with_plans"]


def with_plans(
    name: str, subscribers: int, brokers: int, degree: int | None, without: list[str]
) -> Iterator[Problem]:
    """Problems of a set, by seeds from 1 on, in which a flow finds room for all; others are noted.

    What is wanted does not matter to the flow, so where there is no room no plan is valid.
    """
    for seed in itertools.count(1):
        problem = SETS[name](subscribers, brokers, degree=degree, seed=seed)
        demand = Demand.of(problem)
        room = problem.most(problem.most_load)
        if flow(demand.sets, demand.set_counts, room).sum() == subscribers:
            yield problem
        else:
            without.append(f"{name}:{seed}")
