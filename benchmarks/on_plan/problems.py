"""The problem sets of the paper, without the seeds that have no valid plan."""

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
    """Yield the problems of a set, with seeds from 1, that can serve all subscribers.

    A maximum flow decides whether the capacities of leaves suffice. It does not depend on the boxes
    of subscribers, so a problem without such a flow has no valid plan.

    Args:
        name: name of the problem set.
        subscribers: number of subscribers.
        brokers: number of brokers.
        degree: largest number of brokers below a broker; None for one level.
        without: the names and seeds of problems without a plan are appended to this list.
    """
    for seed in itertools.count(1):
        problem = ASSIGNMENT_PROBLEMS[name](subscribers, brokers, degree=degree, seed=seed)
        demand = DemandGroups.from_problem(problem)
        capacities = problem.compute_capacities(problem.max_load)
        if (
            solve_max_flow(demand.leaf_sets, demand.subscribers_by_leaf_set, capacities).sum()
            == subscribers
        ):
            yield problem
        else:
            without.append(f"{name}:{seed}")
