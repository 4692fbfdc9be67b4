"""Filters made to fit what their brokers serve, of few enough rectangles. (papers: assignment)"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.plan.candidates import clusters, containing, enclosing
from covey.plan.filters import Filters
from covey.plan.problem import Problem, Subscribers

__all__ = ["adjusted"]

Floats = NDArray[np.float64]


def adjusted(
    problem: Problem, leaf_of: NDArray[np.int32], given: Filters, random: np.random.Generator
) -> Filters:
    """Filters of brokers of one level for what they serve; who has no leaf (-1) does not count.

    Each is the better of two: the rectangles of `given` shrunk to what they are for, where they are
    few enough; and boxes round so many clusters.
    """
    alpha, d = problem.alpha, problem.subscribers.lower.shape[1]
    n = len(problem.tree)
    lower, upper, counts = np.zeros((n, alpha, d)), np.zeros((n, alpha, d)), np.zeros(n, np.int64)
    for broker in range(n):
        rows = np.flatnonzero(leaf_of == broker)
        if not len(rows):
            continue
        wanted = problem.subscribers.take(rows)
        boxes = np.hstack([wanted.lower, wanted.upper])
        found = [enclosing(wanted, clusters(boxes, alpha, random))]
        if given.counts[broker] <= alpha:
            found += _shrunk(wanted, *given.of(broker))
        low, high = min(found, key=lambda ends: _volume(ends, problem.events))
        counts[broker] = len(low)
        lower[broker, : len(low)], upper[broker, : len(low)] = low, high
    return Filters(lower, upper, counts)


def _volume(ends: tuple[Floats, Floats], events: Floats | None) -> float:
    low, high = ends
    one = Filters(low[None], high[None], np.array([len(low)]))
    return float(one.bandwidth(events)[0])


def _shrunk(wanted: Subscribers, low: Floats, high: Floats) -> list[tuple[Floats, Floats]]:
    """Rectangles shrunk to those they contain, each to the first that does; none if one is left."""
    is_in = containing(wanted, low, high)
    return [enclosing(wanted, is_in.argmax(axis=0))] if is_in.any(axis=0).all() else []
