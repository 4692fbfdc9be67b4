"""Filters made to fit what their brokers serve, of few enough rectangles. (papers: assignment)"""

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
    """Filters of brokers of one level for what they serve; who has no leaf (-1) does not count.

    Each is the better of two: the rectangles of `given` shrunk to what they are for, where they are
    few enough; and boxes round so many clusters.
    """
    alpha, d = problem.max_rectangles, problem.subscribers.lower.shape[1]
    n = len(problem.tree)
    lower, upper, counts = np.zeros((n, alpha, d)), np.zeros((n, alpha, d)), np.zeros(n, np.int64)
    for broker in range(n):
        rows = np.flatnonzero(leaf_of == broker)
        if not len(rows):
            continue
        wanted = problem.subscribers.take(rows)
        boxes = np.hstack([wanted.lower, wanted.upper])
        found = [enclose_clusters(wanted, cluster_points(boxes, alpha, random))]
        if filters.rectangle_counts[broker] <= alpha:
            found += _shrink_rectangles(wanted, *filters.rectangles_of(broker))
        low, high = min(found, key=lambda ends: _compute_bandwidth(ends, problem.event_sample))
        counts[broker] = len(low)
        lower[broker, : len(low)], upper[broker, : len(low)] = low, high
    return BrokerFilters(lower, upper, counts)


def _compute_bandwidth(ends: tuple[Floats, Floats], event_sample: Floats | None) -> float:
    low, high = ends
    one = BrokerFilters(low[None], high[None], np.array([len(low)]))
    return float(one.compute_bandwidth(event_sample)[0])


def _shrink_rectangles(
    subscribers: Subscribers, low: Floats, high: Floats
) -> list[tuple[Floats, Floats]]:
    """Rectangles shrunk to those they contain, each to the first that does; none if one is left."""
    is_in = find_containing(subscribers, low, high)
    return [enclose_clusters(subscribers, is_in.argmax(axis=0))] if is_in.any(axis=0).all() else []
