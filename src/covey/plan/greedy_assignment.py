"""Subscribers one after another, each to the broker whose filters it widens least.

`offline` takes those first who have fewest brokers to choose from (Gr*; papers: assignment).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey._argument_checks import check_arguments, check_range
from covey.plan.groups.demand_groups import DemandGroups
from covey.plan.groups.filter_state import make_empty_state, to_filter_state, to_filters, to_plan
from covey.plan.kernels.greedy_loop import assign_greedily
from covey.plan.kernels.leaf_costs import LeafArrays
from covey.plan.kernels.path_widening import FilterState
from covey.plan.model.filters import BrokerFilters
from covey.plan.model.plan import Plan
from covey.plan.model.problem import Problem

__all__ = ["extend_assignment", "greedy"]


@check_arguments
def greedy(
    problem: Problem, *, is_offline: bool = True, with_latency: bool = True, seed: int | None = 0
) -> Plan:
    """The greedy plan: Gr*, or with `offline=False` Gr, which takes subscribers as they come.

    Latency is kept to, and so are filters; the load is, if the greedy way finds room at some load
    up to `max_load`, else subscribers go where they cost least (`plan.verify()` counts them).
    Without latency it is Gr-l, for comparison only. Subscribers come in a random order, or as they
    are without a seed; Gr* sorts them after that.

    Cost: about a microsecond for each subscriber and broker it can have.
    """
    if seed is not None:
        check_range("seed", seed, 0)
    demand = DemandGroups.from_problem(problem, with_latency=with_latency)
    order = np.arange(len(problem.subscribers))
    if seed is not None:
        order = np.random.default_rng(seed).permutation(order)
    for factor in problem.load_factors:
        state = make_empty_state(problem)
        leaves = LeafArrays(
            problem.tree.leaf_paths, problem.fair_shares, problem.compute_capacities(factor),
            np.zeros(len(problem.fair_shares), np.int64),
        )  # fmt: skip
        leaf_of, without = _run_greedy(demand, order, is_offline, leaves, state)
        if not without:
            break
    return to_plan(problem, demand, leaf_of, state)


def extend_assignment(
    problem: Problem,
    filters: BrokerFilters,
    loads: NDArray[np.int64],
    capacities: NDArray[np.int64],
) -> tuple[NDArray[np.int32], BrokerFilters]:
    """The leaf of each subscriber, and filters widened for them, as little as the greedy way finds.

    Leaves serve so many others already, and at most so many in the end where that can be.
    """
    demand = DemandGroups.from_problem(problem, filters=filters)
    state = to_filter_state(filters, problem.max_rectangles, demand)
    leaves = LeafArrays(problem.tree.leaf_paths, problem.fair_shares, capacities, loads.copy())
    order = np.arange(len(problem.subscribers))
    leaf_of, _ = _run_greedy(demand, order, True, leaves, state)
    return leaf_of, to_filters(state, demand)


def _run_greedy(
    demand: DemandGroups,
    order: NDArray[np.int64],
    is_offline: bool,
    leaves: LeafArrays,
    state: FilterState,
) -> tuple[NDArray[np.int32], int]:
    leaf_of, without = assign_greedily(
        demand.box_classes,
        demand.leaf_sets,
        demand.class_of_group[demand.group_of_subscriber],
        demand.leaf_set_of_group[demand.group_of_subscriber],
        order,
        is_offline,
        leaves,
        state,
        demand.measure,
    )
    return leaf_of, int(without)
