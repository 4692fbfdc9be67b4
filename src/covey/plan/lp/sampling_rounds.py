"""Rounds of linear programs on samples, in which weights double for those a round misses.

(papers: assignment)
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from covey.plan.capacity.full_assignment import find_all_covering_leaves, find_uncovered
from covey.plan.groups.leaf_sets import find_leaves_within_delay, unpack_leaf_sets
from covey.plan.lp.candidates import build_candidates, find_containing
from covey.plan.lp.relaxation import RelaxationResult, solve_relaxation
from covey.plan.model.filters import BrokerFilters
from covey.plan.model.problem import Problem

__all__ = ["cover_sample", "round_rectangles", "run_sampling_rounds", "widen_rectangles"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_LOAD_SAMPLE_PER_BROKER = 10  # subscribers of the sample for load, for each broker
_CLUSTERS_PER_BROKER = 5


def run_sampling_rounds(
    problem: Problem, deadline_s: float, random: np.random.Generator
) -> tuple[BrokerFilters, list[RelaxationResult]]:
    """Filters that cover everybody, or nearly, and may be of many rectangles."""
    near = find_leaves_within_delay(problem)
    count = len(problem.subscribers)
    programs: list[RelaxationResult] = []
    filters = _make_empty_filters(problem)
    size = 4
    while size <= count:
        weights = np.ones(count)
        valid, most = 0, 4 * size * np.log2(count / size)
        while valid <= most:
            drawn = random.choice(
                count, _compute_sample_size(size, count), p=weights / weights.sum()
            )
            found = cover_sample(problem, np.unique(drawn), deadline_s, random)
            if found is None:
                return widen_rectangles(filters), programs
            filters, program = found
            programs.append(program)
            wide = widen_rectangles(filters)
            if not len(find_uncovered(find_all_covering_leaves(problem, near, wide))):
                return wide, programs
            lacking = find_uncovered(find_all_covering_leaves(problem, near, filters))
            if weights[lacking].sum() <= weights.sum() / (2 * size):
                weights[lacking] *= 2
                valid += 1
        size *= 2
    return widen_rectangles(filters), programs


def _compute_sample_size(size: int, count: int) -> int:
    return min(count, int(10 * size * np.log(size)))


def _make_empty_filters(problem: Problem) -> BrokerFilters:
    n, d = len(problem.tree), problem.subscribers.lower.shape[1]
    return BrokerFilters(np.zeros((n, 1, d)), np.zeros((n, 1, d)), np.zeros(n, np.int64))


def cover_sample(
    problem: Problem, sample_rows: Ints, deadline_s: float, random: np.random.Generator
) -> tuple[BrokerFilters, RelaxationResult] | None:
    """Return rounded filters that cover those drawn and a sample for load, and their program.

    None if time is over.
    """
    n, count = len(problem.tree), len(problem.subscribers)
    attempts = int(np.log(count)) + 1
    for attempt in range(attempts):
        left = deadline_s - time.monotonic()
        if left <= 0:
            return None
        even = random.choice(count, min(count, _LOAD_SAMPLE_PER_BROKER * n), replace=False)
        rows = np.r_[even, np.setdiff1d(sample_rows, even)]
        some = problem.take(rows)
        may = unpack_leaf_sets(find_leaves_within_delay(some), n)
        low, high = build_candidates(some.subscribers, _CLUSTERS_PER_BROKER * n, random)
        has = find_containing(some.subscribers, low, high).T
        volumes = (high - low).prod(axis=1)
        factor = problem.target_load + (problem.max_load - problem.target_load) * attempt / attempts
        share = problem.compute_capacities(factor, len(even))
        found = solve_relaxation(problem.max_rectangles, may, has, volumes, len(even), share, left)
        if found is None:
            continue
        return round_rectangles(found.fractions, may, has, low, high, random), found
    return None


_WIDENING_SHARE = 0.1  # by which filters are widened in the end
_MAX_ROUNDINGS = 20


def round_rectangles(
    fractions: Floats,
    allowed: Bools,
    contains: Bools,
    low: Floats,
    high: Floats,
    random: np.random.Generator,
) -> BrokerFilters:
    """Rectangles drawn by their parts, again until they cover the sample, or as well as they do."""
    chance = 1 - (1 - fractions) ** np.log(len(allowed))
    best, least = None, len(allowed) + 1
    for _ in range(_MAX_ROUNDINGS):
        drawn = random.random(chance.shape) < chance
        is_in = contains.astype(np.float32) @ drawn.T > 0
        lacking = int(np.count_nonzero(~(allowed & is_in).any(axis=1)))
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
    return BrokerFilters(lower, upper, counts.astype(np.int64))


def widen_rectangles(filters: BrokerFilters) -> BrokerFilters:
    """Each rectangle longer by a tenth on every axis, about its centre."""
    by = _WIDENING_SHARE / 2 * (filters.upper - filters.lower)
    return replace(filters, lower=filters.lower - by, upper=filters.upper + by)
