"""Subscribers one after another, each to the broker whose filters it widens least.

`offline` takes those first who have fewest brokers to choose from (Gr*; papers: assignment).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.plan.demand import Demand
from covey.plan.filters import Filters
from covey.plan.kernels.choose import Leaves
from covey.plan.kernels.climb import State
from covey.plan.kernels.greedy import assigned
from covey.plan.plan import Plan
from covey.plan.problem import Problem
from covey.plan.states import empty_state, filters_of, planned, state_of

__all__ = ["extended", "greedy"]


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
    demand = Demand.of(problem, with_latency=with_latency)
    order = np.arange(len(problem.subscribers))
    if seed is not None:
        order = np.random.default_rng(seed).permutation(order)
    for factor in problem.factors:
        state = empty_state(problem)
        leaves = Leaves(
            problem.tree.paths, problem.shares, problem.most(factor),
            np.zeros(len(problem.shares), np.int64),
        )  # fmt: skip
        leaf_of, without = _assigned(demand, order, offline, leaves, state)
        if not without:
            break
    return planned(problem, demand, leaf_of, state)


def extended(
    problem: Problem, filters: Filters, loads: NDArray[np.int64], most: NDArray[np.int64]
) -> tuple[NDArray[np.int32], Filters]:
    """The leaf of each subscriber, and filters widened for them, as little as the greedy way finds.

    Leaves serve so many others already, and at most so many in the end where that can be.
    """
    demand = Demand.of(problem, filters=filters)
    state = state_of(filters, problem.alpha, demand)
    leaves = Leaves(problem.tree.paths, problem.shares, most, loads.copy())
    order = np.arange(len(problem.subscribers))
    leaf_of, _ = _assigned(demand, order, True, leaves, state)
    return leaf_of, filters_of(state, demand)


def _assigned(
    demand: Demand, order: NDArray[np.int64], offline: bool, leaves: Leaves, state: State
) -> tuple[NDArray[np.int32], int]:
    leaf_of, without = assigned(
        demand.kinds, demand.sets, demand.kind_of[demand.group_of],
        demand.set_of[demand.group_of], order, offline, leaves, state, demand.measure,
    )  # fmt: skip
    return leaf_of, int(without)
