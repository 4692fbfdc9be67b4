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
from covey.plan.preliminary import covering
from covey.plan.relaxing import Relaxed
from covey.plan.sets import SETS

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
        f"{name}_slp": f"{name}: SLP1, Gr* over fractional (paper: {_PAPER[name]})" for name in SETS
    },
    **{f"{name}_lp": f"{name}: rows, columns, entries of the last program" for name in SETS},
    "lp_growth": "entries of a first program, of the most subscribers of tables against the fewest",
    **{
        f"{name}_slp_took": f"{name}: programs, seconds of one, missed by the last, violations"
        for name in SETS
    },
}


def run(sizes: Sizes, only: frozenset[str]) -> dict[str, Value]:
    """One seed of each set."""
    results: dict[str, Value] = {}
    for number, name in enumerate(SETS):
        progress(number, len(SETS), "linear programs")
        problem = next(with_plans(name, sizes.subscribers, sizes.brokers, None, []))
        found, start = slp(problem, seconds=sizes.programs_s), greedy(problem)
        if not found.programs:
            results |= {f"{name}_{key}": "no time" for key in ("slp", "lp", "slp_took")}
            continue
        last, kept = found.programs[-1], found.plan.verify()
        seconds = sum(one.seconds for one in found.programs) / len(found.programs)
        wrong = kept.late + kept.uncovered + kept.beyond + kept.complex
        over = (plan.bandwidth / found.fractional for plan in (found.plan, start))
        results[f"{name}_slp"] = " ".join(f"{ratio:.2f}" for ratio in over)
        results[f"{name}_lp"] = f"{last.rows:,} {last.columns:,} {last.entries:,}"
        results[f"{name}_slp_took"] = (
            f"{len(found.programs)}, {seconds:.1f} s, {found.missed}, {wrong}"
        )
    return results | {"lp_growth": _growth(sizes)}


def _growth(sizes: Sizes) -> float:
    """Interests, of which programs are quick; samples are drawn from all, and are of one size."""
    entries = []
    for count in (min(sizes.tables), max(sizes.tables)):
        problem, programs = SETS["interests"](count, sizes.brokers, seed=1), list[Relaxed]()
        random = np.random.default_rng(0)
        drawn = random.choice(count, _DRAWN)
        covering(problem, drawn, programs, time.monotonic() + sizes.programs_s, random)
        entries.append(programs[0].entries if programs else np.nan)
    return round(entries[1] / entries[0], 3)
