"""Filters while they are being made, in cells, and the plan that they are in the end."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.errors import InvalidArgumentError
from covey.plan.groups.demand_groups import DemandGroups
from covey.plan.kernels.box_unions import measure_union
from covey.plan.kernels.path_widening import FilterState
from covey.plan.model.filters import BrokerFilters
from covey.plan.model.plan import Plan
from covey.plan.model.problem import Problem

__all__ = ["copy_state", "make_empty_state", "to_filter_state", "to_filters", "to_plan"]


def make_empty_state(problem: Problem) -> FilterState:
    """Filters without a rectangle."""
    brokers, d = len(problem.tree), problem.subscribers.lower.shape[1]
    filters = np.zeros((brokers, problem.max_rectangles, 2 * d), np.int32)
    return FilterState(filters, np.zeros(brokers, np.int64), np.zeros(brokers))


def copy_state(state: FilterState) -> FilterState:
    """The same, which does not change when the other does."""
    return FilterState(state.filters.copy(), state.box_counts.copy(), state.bandwidths.copy())


def to_filters(state: FilterState, demand: DemandGroups) -> BrokerFilters:
    """The filters as they are in event space."""
    lower, upper = demand.grid.to_coordinates(state.filters)
    return BrokerFilters(lower, upper, state.box_counts.copy())


def to_plan(
    problem: Problem, demand: DemandGroups, leaf_of: NDArray[np.int32], state: FilterState
) -> Plan:
    """The plan with the leaf of each subscriber, by its number among leaves, and these filters."""
    broker_of = problem.tree.leaves[leaf_of].astype(np.int32)
    return Plan(problem, broker_of, to_filters(state, demand))


def to_filter_state(
    broker_filters: BrokerFilters, max_rectangles: int, demand: DemandGroups
) -> FilterState:
    """Filters in the cells of a demand, at most `max_rectangles` rectangles each.

    Ends that are no cuts are widened.
    """
    most = broker_filters.rectangle_counts.max()
    if most > max_rectangles:
        raise InvalidArgumentError(
            f"a filter has {most} rectangles, and max_rectangles is {max_rectangles}: "
            "start from a simpler plan"
        )
    d, brokers = len(demand.grid.axes), len(broker_filters)
    filters = np.zeros((brokers, max_rectangles, 2 * d), np.int32)
    is_there = (
        np.arange(max_rectangles) < broker_filters.rectangle_counts[:, None]
    )  # what is beyond may be anywhere
    filters[is_there] = demand.grid.to_cell_boxes(*broker_filters.all_rectangles)
    common = np.empty((max_rectangles, 2 * d), np.int32)
    volumes = [
        measure_union(rows, int(count), demand.measure, common)
        for rows, count in zip(filters, broker_filters.rectangle_counts, strict=True)
    ]
    return FilterState(filters, broker_filters.rectangle_counts.astype(np.int64), np.array(volumes))
