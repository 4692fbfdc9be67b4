"""SLP: filters from linear programs on samples that are weighted anew. (papers: assignment)

What the text leaves open is decided so: filters are widened by a tenth, weights double for those a
round misses, and when its time is over the last round's filters are widened greedily for those they
still miss. `search` finds better plans in less time; this is the yardstick.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from covey.plan.adjusting import adjusted
from covey.plan.assigning import extended
from covey.plan.candidates import rectangles
from covey.plan.filters import Filters
from covey.plan.plan import Plan
from covey.plan.problem import Problem
from covey.plan.reach import near_leaves, unpacked
from covey.plan.relaxing import Relaxed, relaxed
from covey.plan.spreading import all_reached, missing, placed

__all__ = ["Slp", "slp"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_WIDER = 0.1  # by which filters are widened in the end
_PER_BROKER, _CLUSTERS = 10, 5  # subscribers of the sample for load, and clusters, for each broker
_ROUNDINGS = 20


@dataclass(frozen=True, slots=True)
class Slp:
    """A plan, and what it took: all linear programs, and how many subscribers the last one missed.

    `fractional` is the value of the last program: relative to its sample and its candidates, no
    bound for all plans.
    """

    plan: Plan
    programs: tuple[Relaxed, ...]
    missed: int

    @property
    def fractional(self) -> float:
        """The value of the last linear program."""
        return self.programs[-1].value if self.programs else np.nan


def slp(problem: Problem, *, seconds: float = 600.0, seed: int = 0) -> Slp:
    """SLP1 for brokers that are all the publisher's, SLP for trees of several levels.

    Cost: a linear program a round, of some 30,000 rows and 100,000 columns for 100 brokers: minutes
    each. Rounds end when all are covered, or after about so many seconds.
    """
    if problem.tree.paths.shape[1] > 1:
        from covey.plan.levels import by_levels

        return by_levels(problem, seconds, seed)
    until = time.monotonic() + seconds
    random = np.random.default_rng(seed)
    filters, programs = _preliminary(problem, until, random)
    bits = all_reached(problem, near_leaves(problem), filters)
    leaf_of = placed(problem, bits)
    fitting = adjusted(problem, leaf_of, filters, random)
    left = np.flatnonzero(leaf_of < 0)
    if len(left):
        loads = np.bincount(leaf_of[leaf_of >= 0], minlength=len(problem.tree))
        most = problem.most(problem.most_load)
        leaf_of[left], fitting = extended(problem.take(left), fitting, loads, most)
    return Slp(Plan(problem, leaf_of, fitting), tuple(programs), len(missing(bits)))


def _preliminary(
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
            found = _covering(problem, np.unique(drawn), programs, until, random)
            if found is None:
                return _wider(filters), programs
            filters = found
            wide = _wider(filters)
            if not len(missing(all_reached(problem, near, wide))):
                return wide, programs
            lacking = missing(all_reached(problem, near, filters))
            if weights[lacking].sum() <= weights.sum() / (2 * size):
                weights[lacking] *= 2
                valid += 1
        size *= 2
    return _wider(filters), programs


def _sample(size: int, count: int) -> int:
    return min(count, int(10 * size * np.log(size)))


def _no_filters(problem: Problem) -> Filters:
    n, d = len(problem.tree), problem.subscribers.lower.shape[1]
    return Filters(np.zeros((n, 1, d)), np.zeros((n, 1, d)), np.zeros(n, np.int64))


def _covering(
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
        has = _has(some, low, high)
        volumes = (high - low).prod(axis=1)
        factor = problem.load + (problem.most_load - problem.load) * attempt / attempts
        share = problem.most(factor, len(even))
        found = relaxed(problem.alpha, may, has, volumes, len(even), share, left)
        if found is None:
            continue
        programs.append(found)
        return _rounded(found.parts, may, has, low, high, random)
    return None


def _has(problem: Problem, low: Floats, high: Floats) -> Bools:
    """Which rectangles contain what each subscriber wants."""
    wanted = problem.subscribers
    has = np.ones((len(wanted), len(low)), np.bool_)
    for k in range(low.shape[1]):
        has &= low[:, k] <= wanted.lower[:, k, None]
        has &= high[:, k] >= wanted.upper[:, k, None]
    return has


def _rounded(
    parts: Floats, may: Bools, has: Bools, low: Floats, high: Floats, random: np.random.Generator
) -> Filters:
    """Rectangles drawn by their parts, again until they cover the sample, or as well as they do."""
    chance = 1 - (1 - parts) ** np.log(len(may))
    best, least = None, len(may) + 1
    for _ in range(_ROUNDINGS):
        drawn = random.random(chance.shape) < chance
        is_in = has.astype(np.float32) @ drawn.T > 0
        lacking = int(np.count_nonzero(~(may & is_in).any(axis=1)))
        if lacking < least:
            best, least = drawn, lacking
        if not lacking:
            break
    assert best is not None
    counts = best.sum(axis=1)
    lower = np.zeros((len(best), max(1, int(counts.max())), low.shape[1]))
    upper = np.zeros_like(lower)
    for broker, row in enumerate(best):
        lower[broker, : counts[broker]], upper[broker, : counts[broker]] = low[row], high[row]
    return Filters(lower, upper, counts.astype(np.int64))


def _wider(filters: Filters) -> Filters:
    by = _WIDER / 2 * (filters.upper - filters.lower)
    return replace(filters, lower=filters.lower - by, upper=filters.upper + by)
