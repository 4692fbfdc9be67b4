"""Subscribers one after another, each to the broker whose filters it widens least.

`offline` takes those first who have fewest brokers to choose from (Gr*; papers: assignment).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.plan.demand import Demand
from covey.plan.kernels.climb import State
from covey.plan.kernels.greedy import assigned
from covey.plan.plan import Plan
from covey.plan.problem import Problem
from covey.plan.states import empty_state, planned

__all__ = ["greedy"]

_FACTORS = 3  # loads that are tried, from the one that is wanted to the most


def greedy(
    problem: Problem, *, offline: bool = True, with_latency: bool = True, seed: int | None = 0
) -> Plan:
    """The greedy plan: Gr*, or with `offline=False` Gr, which takes subscribers as they come.

    Latency is kept to, and so are filters; the load is, if the greedy way finds room at some load
    up to `most_load`, else subscribers go where they cost least (`plan.verify()` counts them).
    Without latency it is Gr-l, for comparison only. Subscribers come in a random order, or as they
    are without a seed; Gr* sorts them after that.

    Cost: about a microsecond for each subscriber and broker it can have.
    """
    demand = Demand.of(problem, with_latency)
    order = np.arange(len(problem.subscribers))
    if seed is not None:
        order = np.random.default_rng(seed).permutation(order)
    for factor in np.linspace(problem.load, problem.most_load, _FACTORS):
        state = empty_state(problem)
        leaf_of, without = _assigned(problem, demand, order, offline, float(factor), state)
        if not without:
            break
    return planned(problem, demand, leaf_of, state)


def _assigned(
    problem: Problem, demand: Demand, order: NDArray[np.int64], offline: bool, factor: float,
    state: State,
) -> tuple[NDArray[np.int32], int]:  # fmt: skip
    leaf_of, _, without = assigned(
        demand.kinds, demand.sets, demand.kind_of[demand.group_of],
        demand.set_of[demand.group_of], order, offline, problem.most(factor), problem.shares,
        problem.tree.paths, state, demand.measure,
    )  # fmt: skip
    return leaf_of, int(without)
