"""Adjustment of filters: fit them to the subscribers of their brokers, with few rectangles.

(papers: assignment)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.plan.lp.candidates import cluster_points, enclose_clusters, find_containing
from covey.plan.model.filters import BrokerFilters
from covey.plan.model.problem import Problem, Subscribers

__all__ = ["adjust_filters"]

Floats = NDArray[np.float64]


def adjust_filters(
    problem: Problem,
    leaf_of: NDArray[np.int32],
    filters: BrokerFilters,
    random: np.random.Generator,
) -> BrokerFilters:
    """Return filters of brokers of one level, fitted to the subscribers that they serve.

    Two filters are compared for each broker, and the one with less bandwidth is returned. The first
    consists of the bounding boxes of `max_rectangles` clusters of boxes. The second consists of the
    rectangles of the old filter, shrunk to the boxes that they contain; it is considered only if
    the old filter contains all boxes and has at most `max_rectangles` rectangles. A broker without
    subscribers gets an empty filter.

    Args:
        problem: the subscribers, and the largest number of rectangles.
        leaf_of: the broker of each subscriber; subscribers with -1 are ignored.
        filters: the old filters.
        random: the source of random numbers for clustering.
    """
    max_rectangles, d = problem.max_rectangles, problem.subscribers.lower.shape[1]
    n = len(problem.tree)
    lower = np.zeros((n, max_rectangles, d))
    upper = np.zeros((n, max_rectangles, d))
    counts = np.zeros(n, np.int64)
    for broker in range(n):
        rows = np.flatnonzero(leaf_of == broker)
        if not len(rows):
            continue
        subscribers = problem.subscribers.take(rows)
        boxes = np.hstack([subscribers.lower, subscribers.upper])
        options = [enclose_clusters(subscribers, cluster_points(boxes, max_rectangles, random))]
        if filters.rectangle_counts[broker] <= max_rectangles:
            options += _shrink_rectangles(subscribers, *filters.rectangles_of(broker))
        low, high = min(options, key=lambda ends: _compute_bandwidth(ends, problem.event_sample))
        counts[broker] = len(low)
        lower[broker, : len(low)], upper[broker, : len(low)] = low, high
    return BrokerFilters(lower, upper, counts)


def _compute_bandwidth(ends: tuple[Floats, Floats], event_sample: Floats | None) -> float:
    """Return the bandwidth of a filter of these rectangles."""
    low, high = ends
    filters = BrokerFilters(low[None], high[None], np.array([len(low)]))
    return float(filters.compute_bandwidth(event_sample)[0])


def _shrink_rectangles(
    subscribers: Subscribers, low: Floats, high: Floats
) -> list[tuple[Floats, Floats]]:
    """Return the rectangles, shrunk to the boxes that they contain, as a list of one pair of ends.

    A box counts only for the first rectangle that contains it. If a box is in none of the
    rectangles, the list is empty.
    """
    is_in = find_containing(subscribers, low, high)
    return [enclose_clusters(subscribers, is_in.argmax(axis=0))] if is_in.any(axis=0).all() else []
