"""Rounds of linear programs on weighted samples; the weights of missed subscribers are doubled.

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

_LOAD_SAMPLE_PER_BROKER = 10  # subscribers per broker in the uniform sample for the capacities
_CLUSTERS_PER_BROKER = 5


def run_sampling_rounds(
    problem: Problem, deadline_s: float, random: np.random.Generator
) -> tuple[BrokerFilters, list[RelaxationResult]]:
    """Return filters from rounds of linear programs, and the programs that were solved.

    The rounds end when the filters cover all subscribers, when the time or all attempts of a round
    are used up, or when samples would have to be larger than the number of subscribers. In the
    last two cases, the filters miss some subscribers; if no round succeeded, they are empty.
    Filters may have more than `max_rectangles` rectangles.
    """
    allowed_bits = find_leaves_within_delay(problem)
    count = len(problem.subscribers)
    programs: list[RelaxationResult] = []
    filters = _make_empty_filters(problem)
    size = 4
    while size <= count:
        weights = np.ones(count)
        valid_rounds, max_valid = 0, 4 * size * np.log2(count / size)
        while valid_rounds <= max_valid:
            drawn = random.choice(
                count, _compute_sample_size(size, count), p=weights / weights.sum()
            )
            rounded = cover_sample(problem, np.unique(drawn), deadline_s, random)
            if rounded is None:
                return widen_rectangles(filters), programs
            filters, program = rounded
            programs.append(program)
            widened = widen_rectangles(filters)
            if not len(find_uncovered(find_all_covering_leaves(problem, allowed_bits, widened))):
                return widened, programs
            missed = find_uncovered(find_all_covering_leaves(problem, allowed_bits, filters))
            if weights[missed].sum() <= weights.sum() / (2 * size):
                weights[missed] *= 2
                valid_rounds += 1
        size *= 2
    return widen_rectangles(filters), programs


def _compute_sample_size(size: int, count: int) -> int:
    """Return the number of subscribers to draw for a sample: 10 · size · ln(size), at most all."""
    return min(count, int(10 * size * np.log(size)))


def _make_empty_filters(problem: Problem) -> BrokerFilters:
    """Return filters without rectangles for all brokers of a problem."""
    n, d = len(problem.tree), problem.subscribers.lower.shape[1]
    return BrokerFilters(np.zeros((n, 1, d)), np.zeros((n, 1, d)), np.zeros(n, np.int64))


def cover_sample(
    problem: Problem, sample_rows: Ints, deadline_s: float, random: np.random.Generator
) -> tuple[BrokerFilters, RelaxationResult] | None:
    """Return rounded filters for a sample, with the linear program that they come from.

    If the program has no solution, another one with new random choices and a load factor closer to
    `max_load` is tried. If all attempts fail, or time runs out, None is returned.

    Args:
        problem: the subscribers and limits.
        sample_rows: the subscribers to cover. A uniform sample for the capacities is added.
        deadline_s: the value of `time.monotonic()` at which to stop.
        random: the source of random numbers.
    """
    n, count = len(problem.tree), len(problem.subscribers)
    attempts = int(np.log(count)) + 1
    for attempt in range(attempts):
        remaining_s = deadline_s - time.monotonic()
        if remaining_s <= 0:
            return None
        load_rows = random.choice(count, min(count, _LOAD_SAMPLE_PER_BROKER * n), replace=False)
        rows = np.r_[load_rows, np.setdiff1d(sample_rows, load_rows)]
        sample_problem = problem.take(rows)
        allowed = unpack_leaf_sets(find_leaves_within_delay(sample_problem), n)
        low, high = build_candidates(sample_problem.subscribers, _CLUSTERS_PER_BROKER * n, random)
        contains = find_containing(sample_problem.subscribers, low, high).T
        volumes = (high - low).prod(axis=1)
        factor = problem.target_load + (problem.max_load - problem.target_load) * attempt / attempts
        capacities = problem.compute_capacities(factor, len(load_rows))
        program = solve_relaxation(
            problem.max_rectangles,
            allowed,
            contains,
            volumes,
            len(load_rows),
            capacities,
            remaining_s,
        )
        if program is None:
            continue
        return round_rectangles(program.fractions, allowed, contains, low, high, random), program
    return None


_WIDENING_SHARE = 0.1  # share by which sides of rectangles are lengthened at the end
_MAX_ROUNDINGS = 20


def round_rectangles(
    fractions: Floats,
    allowed: Bools,
    contains: Bools,
    low: Floats,
    high: Floats,
    random: np.random.Generator,
) -> BrokerFilters:
    """Return filters whose rectangles are drawn at random, with chances that grow with `fractions`.

    Up to 20 draws are made, until one serves all subscribers. If none does, the draw that misses
    the fewest subscribers is used.

    Args:
        fractions: the fraction of each rectangle (column) in the filter of each broker (row).
        allowed: the brokers (columns) that may serve each subscriber (row).
        contains: the rectangles (columns) that contain the box of each subscriber (row).
        low: lower ends of the rectangles.
        high: upper ends of the rectangles.
        random: the source of random numbers.
    """
    probabilities = 1 - (1 - fractions) ** np.log(len(allowed))
    best, min_missed = None, len(allowed) + 1
    for _ in range(_MAX_ROUNDINGS):
        drawn = random.random(probabilities.shape) < probabilities
        is_in = contains.astype(np.float32) @ drawn.T > 0
        missed_count = int(np.count_nonzero(~(allowed & is_in).any(axis=1)))
        if missed_count < min_missed:
            best, min_missed = drawn, missed_count
        if not missed_count:
            break
    assert best is not None
    counts = best.sum(axis=1)
    lower = np.zeros((len(best), max(1, int(counts.max())), low.shape[1]))
    upper = np.zeros_like(lower)
    for broker, row in enumerate(best):
        lower[broker, : counts[broker]], upper[broker, : counts[broker]] = low[row], high[row]
    return BrokerFilters(lower, upper, counts.astype(np.int64))


def widen_rectangles(filters: BrokerFilters) -> BrokerFilters:
    """Return filters with each rectangle a tenth longer on every axis, about its centre."""
    margin = _WIDENING_SHARE / 2 * (filters.upper - filters.lower)
    return replace(filters, lower=filters.lower - margin, upper=filters.upper + margin)
