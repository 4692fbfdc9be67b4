"""Greedy plans: assign subscribers one by one, each to the leaf at which filters widen least.

If a leaf serves a subscriber, the filters of the leaf and of the brokers above it must contain the
subscriber's box. The subscriber is assigned to the leaf for which these filters gain the least
bandwidth. Gr* first assigns the subscribers that the fewest leaves may serve; Gr assigns
all subscribers in the order of their arrival. (papers: assignment)
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
    """Return the greedy plan: Gr*, or Gr with `is_offline=False`.

    The plan respects the limit on rectangles and, if `with_latency` is True, the limit on delay.
    Loads respect the first of `problem.load_factors` at which all subscribers find capacity. If
    there is none, leaves exceed `max_load`: a subscriber whose possible leaves are all full is
    assigned to the one at which filters widen least. `plan.verify().over_capacity` counts such
    subscribers.

    Args:
        problem: what to plan for.
        is_offline: first assign the subscribers that the fewest leaves may serve (Gr*); if False,
            assign all in the order of arrival (Gr).
        with_latency: respect `max_delay` and `allowed_leaves`. If False, every leaf may serve every
            subscriber; the plan is then Gr-l, for comparison only.
        seed: the seed of the random order of arrival; None for the order of subscribers in the
            problem. Gr* uses this order only among subscribers that equally many leaves may serve.

    Cost: about a microsecond for each subscriber and leaf that may serve it.
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
        leaf_of, unassigned_count = _run_greedy(demand, order, is_offline, leaves, state)
        if not unassigned_count:
            break
    return to_plan(problem, demand, leaf_of, state)


def extend_assignment(
    problem: Problem,
    filters: BrokerFilters,
    loads: NDArray[np.int64],
    capacities: NDArray[np.int64],
) -> tuple[NDArray[np.int32], BrokerFilters]:
    """Assign more subscribers greedily, and widen filters for them.

    Args:
        problem: the subscribers to assign.
        filters: the filters to start from.
        loads: the number of subscribers that each leaf serves already.
        capacities: the number of subscribers that each leaf may serve in total. It is exceeded only
            if none of the leaves that may serve a subscriber has capacity.

    Returns:
        The leaf of each subscriber, as an index into the leaves of the tree, and the widened
        filters.
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
    """Assign subscribers one after another, in the order of the row numbers in `order`.

    If `is_offline` is true, those that the fewest leaves may serve come first, and `order` decides
    only among equals. `state` and the loads of `leaves` are changed in place.

    Returns:
        The leaf of each subscriber, as an index into the leaves of the tree, and the number of
        subscribers that were assigned beyond capacity.
    """
    leaf_of, unassigned_count = assign_greedily(
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
    return leaf_of, int(unassigned_count)
