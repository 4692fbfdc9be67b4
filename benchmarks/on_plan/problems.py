"""The sets of the paper, without the seeds for which there is no plan."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from covey.plan import Problem
from covey.plan.capacity.max_flow import solve_max_flow
from covey.plan.groups.demand_groups import DemandGroups
from covey.plan.workload.problems import ASSIGNMENT_PROBLEMS

__all__ = ["with_plans"]


def with_plans(
    name: str, subscribers: int, brokers: int, degree: int | None, without: list[str]
) -> Iterator[Problem]:
    """Problems of a set, by seeds from 1 on, in which a flow finds room for all; others are noted.

    What is wanted does not matter to the flow, so where there is no room no plan is valid.
    """
    for seed in itertools.count(1):
        problem = ASSIGNMENT_PROBLEMS[name](subscribers, brokers, degree=degree, seed=seed)
        demand = DemandGroups.from_problem(problem)
        room = problem.compute_capacities(problem.max_load)
        if (
            solve_max_flow(demand.leaf_sets, demand.subscribers_by_leaf_set, room).sum()
            == subscribers
        ):
            yield problem
        else:
            without.append(f"{name}:{seed}")
