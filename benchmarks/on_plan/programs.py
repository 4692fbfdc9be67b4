"""SLP1 of the paper: sizes of its linear programs, seconds, and bandwidth of its plans.

Samples and candidates are as published. Rounds end when all subscribers are covered or the time is
over. Then filters are widened greedily for subscribers that are not covered.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks.harness import Value, progress
from benchmarks.on_plan.problems import with_plans
from benchmarks.on_plan.sizes import Sizes
from covey.plan import greedy, slp
from covey.plan.lp.sampling_rounds import cover_sample
from covey.plan.workload.problems import ASSIGNMENT_PROBLEMS

__all__ = ["KEYS", "run"]

# Bandwidth of SLP1 and Gr* over the fractional optimum, from Tables I and II of the paper, for the
# most similar problem set.
_PAPER = {
    "topics": "1.55 1.28",
    "topics-broad": "1.65 1.85",
    "topics-even": "2.30 2.11",
    "topics-even-broad": "2.23 2.04",
    "interests": "1.36 0.84",
    "hot-spots": "2.18 2.14",
}

_DRAWN = 1_000  # subscribers of a sample, without those for the load constraints

KEYS = {
    **{
        f"{name}_slp": f"{name}: SLP1, Gr* over fractional optimum (paper: {_PAPER[name]})"
        for name in ASSIGNMENT_PROBLEMS
    },
    **{
        f"{name}_lp": f"{name}: rows, columns, nonzeros of the last linear program"
        for name in ASSIGNMENT_PROBLEMS
    },
    "lp_growth": "nonzeros of a first program with 10M subscribers over one with 100,000",
    **{
        f"{name}_slp_took": f"{name}: programs, seconds of one, uncovered in the last, violations"
        for name in ASSIGNMENT_PROBLEMS
    },
}


def run(sizes: Sizes, only: frozenset[str]) -> dict[str, Value]:
    """Return the results for one seed of each problem set."""
    results: dict[str, Value] = {}
    for number, name in enumerate(ASSIGNMENT_PROBLEMS):
        progress(number, len(ASSIGNMENT_PROBLEMS), "linear programs")
        problem = next(with_plans(name, sizes.subscribers, sizes.brokers, None, []))
        result, start = slp(problem, max_seconds=sizes.programs_s), greedy(problem)
        if not result.programs:
            results |= {f"{name}_{key}": "no time" for key in ("slp", "lp", "slp_took")}
            continue
        last, violations = result.programs[-1], result.plan.verify()
        seconds = sum(program.seconds for program in result.programs) / len(result.programs)
        violation_count = (
            violations.too_far
            + violations.uncovered
            + violations.over_capacity
            + violations.too_many_rectangles
        )
        ratios = (plan.bandwidth / result.fractional_value for plan in (result.plan, start))
        results[f"{name}_slp"] = " ".join(f"{ratio:.2f}" for ratio in ratios)
        results[f"{name}_lp"] = f"{last.rows:,} {last.columns:,} {last.nonzeros:,}"
        results[f"{name}_slp_took"] = (
            f"{len(result.programs)}, {seconds:.1f} s, {result.missed_count}, {violation_count}"
        )
    return results | {"lp_growth": _growth(sizes)}


def _growth(sizes: Sizes) -> float:
    """Return the factor by which a first program grows from the smallest to the largest table.

    The problem set is `interests`, whose programs are fast; all samples have one size.
    """
    nonzeros = []
    for count in (min(sizes.tables), max(sizes.tables)):
        problem = ASSIGNMENT_PROBLEMS["interests"](count, sizes.brokers, seed=1)
        random = np.random.default_rng(0)
        sample_rows = random.choice(count, _DRAWN)
        solution = cover_sample(problem, sample_rows, time.monotonic() + sizes.programs_s, random)
        nonzeros.append(np.nan if solution is None else solution[1].nonzeros)
    return round(nonzeros[1] / nonzeros[0], 3)
