"""Rounds of linear programs on samples, in which weights double for those a round misses.

(papers: assignment)
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from covey.plan.candidates import containing, rectangles
from covey.plan.filters import Filters
from covey.plan.problem import Problem
from covey.plan.reach import near_leaves, unpacked
from covey.plan.relaxing import Relaxed, relaxed
from covey.plan.rounding import rounded, wider
from covey.plan.spreading import all_reached, missing

__all__ = ["covering", "preliminary"]

Ints = NDArray[np.int64]

_PER_BROKER, _CLUSTERS = 10, 5  # subscribers of the sample for load, and clusters, for each broker


def preliminary(
    problem: Problem, until: float, random: np.random.Generator
) -> tuple[Filters, list[Relaxed]]:
    """Filters that cover everybody, or nearly, and may be of many rectangles."""
    near = near_leaves(problem)
    count = len(problem.subscribers)
    programs: list[Relaxed] = []
    filters = _no_filters(problem)
    size = 4
    while size <= count:
        weights = np.ones(count)
        valid, most = 0, 4 * size * np.log2(count / size)
        while valid <= most:
            drawn = random.choice(count, _sample(size, count), p=weights / weights.sum())
            found = covering(problem, np.unique(drawn), programs, until, random)
            if found is None:
                return wider(filters), programs
            filters = found
            wide = wider(filters)
            if not len(missing(all_reached(problem, near, wide))):
                return wide, programs
            lacking = missing(all_reached(problem, near, filters))
            if weights[lacking].sum() <= weights.sum() / (2 * size):
                weights[lacking] *= 2
                valid += 1
        size *= 2
    return wider(filters), programs


def _sample(size: int, count: int) -> int:
    return min(count, int(10 * size * np.log(size)))


def _no_filters(problem: Problem) -> Filters:
    n, d = len(problem.tree), problem.subscribers.lower.shape[1]
    return Filters(np.zeros((n, 1, d)), np.zeros((n, 1, d)), np.zeros(n, np.int64))


def covering(
    problem: Problem, drawn: Ints, programs: list[Relaxed], until: float,
    random: np.random.Generator,
) -> Filters | None:  # fmt: skip
    """Rounded filters that cover those drawn and a sample for load; None if time is over."""
    n, count = len(problem.tree), len(problem.subscribers)
    attempts = int(np.log(count)) + 1
    for attempt in range(attempts):
        left = until - time.monotonic()
        if left <= 0:
            return None
        even = random.choice(count, min(count, _PER_BROKER * n), replace=False)
        rows = np.r_[even, np.setdiff1d(drawn, even)]
        some = problem.take(rows)
        may = unpacked(near_leaves(some), n)
        low, high = rectangles(some.subscribers, _CLUSTERS * n, random)
        has = containing(some.subscribers, low, high).T
        volumes = (high - low).prod(axis=1)
        factor = problem.load + (problem.most_load - problem.load) * attempt / attempts
        share = problem.most(factor, len(even))
        found = relaxed(problem.alpha, may, has, volumes, len(even), share, left)
        if found is None:
            continue
        programs.append(found)
        return rounded(found.parts, may, has, low, high, random)
    return None
