"""SLP1 of the paper: its linear programs, how long they take, and what comes of them.

Samples and candidates are as published. Rounds end when everybody is covered, or when the time is
over; who is not covered then widens filters greedily.
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

_PAPER = {  # SLP1 and Gr* over fractional, Tables I and II; for our sets the nearest of theirs
    "topics": "1.55 1.28",
    "topics-broad": "1.65 1.85",
    "topics-even": "2.30 2.11",
    "topics-even-broad": "2.23 2.04",
    "interests": "1.36 0.84",
    "hot-spots": "2.18 2.14",
}

_DRAWN = 1_000  # subscribers of a sample, beside those for load

KEYS = {
    **{
        f"{name}_slp": f"{name}: SLP1, Gr* over fractional (paper: {_PAPER[name]})"
        for name in ASSIGNMENT_PROBLEMS
    },
    **{
        f"{name}_lp": f"{name}: rows, columns, entries of the last program"
        for name in ASSIGNMENT_PROBLEMS
    },
    "lp_growth": "entries of a first program, of the most subscribers of tables against the fewest",
    **{
        f"{name}_slp_took": f"{name}: programs, seconds of one, missed by the last, violations"
        for name in ASSIGNMENT_PROBLEMS
    },
}


def run(sizes: Sizes, only: frozenset[str]) -> dict[str, Value]:
    """One seed of each set."""
    results: dict[str, Value] = {}
    for number, name in enumerate(ASSIGNMENT_PROBLEMS):
        progress(number, len(ASSIGNMENT_PROBLEMS), "linear programs")
        problem = next(with_plans(name, sizes.subscribers, sizes.brokers, None, []))
        found, start = slp(problem, max_seconds=sizes.programs_s), greedy(problem)
        if not found.programs:
            results |= {f"{name}_{key}": "no time" for key in ("slp", "lp", "slp_took")}
            continue
        last, kept = found.programs[-1], found.plan.verify()
        seconds = sum(one.seconds for one in found.programs) / len(found.programs)
        wrong = kept.too_far + kept.uncovered + kept.over_capacity + kept.too_many_rectangles
        over = (plan.bandwidth / found.fractional_value for plan in (found.plan, start))
        results[f"{name}_slp"] = " ".join(f"{ratio:.2f}" for ratio in over)
        results[f"{name}_lp"] = f"{last.rows:,} {last.columns:,} {last.nonzeros:,}"
        results[f"{name}_slp_took"] = (
            f"{len(found.programs)}, {seconds:.1f} s, {found.missed_count}, {wrong}"
        )
    return results | {"lp_growth": _growth(sizes)}


def _growth(sizes: Sizes) -> float:
    """Interests, of which programs are quick; samples are drawn from all, and are of one size."""
    entries = []
    for count in (min(sizes.tables), max(sizes.tables)):
        problem = ASSIGNMENT_PROBLEMS["interests"](count, sizes.brokers, seed=1)
        random = np.random.default_rng(0)
        drawn = random.choice(count, _DRAWN)
        found = cover_sample(problem, drawn, time.monotonic() + sizes.programs_s, random)
        entries.append(np.nan if found is None else found[1].nonzeros)
    return round(entries[1] / entries[0], 3)
