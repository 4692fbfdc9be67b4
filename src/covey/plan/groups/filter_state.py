"""Filters as boxes of grid cells, and conversions from and to `BrokerFilters`.

Planners change these filters in place.
"""

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
    """Return filters without rectangles for all brokers of a problem."""
    brokers, d = len(problem.tree), problem.subscribers.lower.shape[1]
    filters = np.zeros((brokers, problem.max_rectangles, 2 * d), np.int32)
    return FilterState(filters, np.zeros(brokers, np.int64), np.zeros(brokers))


def copy_state(state: FilterState) -> FilterState:
    """Return an independent copy of filters."""
    return FilterState(state.filters.copy(), state.box_counts.copy(), state.bandwidths.copy())


def to_filters(state: FilterState, demand: DemandGroups) -> BrokerFilters:
    """Convert filters from cells of `demand.grid` to coordinates of event space."""
    lower, upper = demand.grid.to_coordinates(state.filters)
    return BrokerFilters(lower, upper, state.box_counts.copy())


def to_plan(
    problem: Problem, demand: DemandGroups, leaf_of: NDArray[np.int32], state: FilterState
) -> Plan:
    """Return the plan with this assignment and these filters.

    `leaf_of` contains the leaf of each subscriber, as an index into the leaves of the tree.
    """
    broker_of = problem.tree.leaves[leaf_of].astype(np.int32)
    return Plan(problem, broker_of, to_filters(state, demand))


def to_filter_state(
    broker_filters: BrokerFilters, max_rectangles: int, demand: DemandGroups
) -> FilterState:
    """Return filters in cells, with memory for `max_rectangles` rectangles per broker.

    Ends of rectangles that are not boundaries of cells are moved outward to the next boundary.

    Raises:
        InvalidArgumentError: if a filter has more than `max_rectangles` rectangles.
    """
    largest_count = broker_filters.rectangle_counts.max()
    if largest_count > max_rectangles:
        raise InvalidArgumentError(
            f"a filter has {largest_count} rectangles, but max_rectangles is {max_rectangles}: "
            "start from a plan with fewer rectangles, or raise max_rectangles"
        )
    d, brokers = len(demand.grid.axes), len(broker_filters)
    filters = np.zeros((brokers, max_rectangles, 2 * d), np.int32)
    # Rows beyond a broker's count are padding that may lie outside the grid.
    is_there = np.arange(max_rectangles) < broker_filters.rectangle_counts[:, None]
    filters[is_there] = demand.grid.to_cell_boxes(*broker_filters.all_rectangles)
    overlap_scratch = np.empty((max_rectangles, 2 * d), np.int32)
    volumes = [
        measure_union(rows, int(count), demand.measure, overlap_scratch)
        for rows, count in zip(filters, broker_filters.rectangle_counts, strict=True)
    ]
    return FilterState(filters, broker_filters.rectangle_counts.astype(np.int64), np.array(volumes))
