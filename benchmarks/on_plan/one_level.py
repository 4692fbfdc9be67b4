"""100,000 subscribers and 100 brokers of one level: every way of planning, and bounds.

The sets of the paper, each with the first seeds for which there is a plan at all: a flow says so.
Bandwidth is what is compared; seconds of searching are told. One core.
"""

from __future__ import annotations

import itertools
import time

import numpy as np

from benchmarks.harness import Value, progress
from benchmarks.on_plan.problems import with_plans
from benchmarks.on_plan.sizes import Sizes
from covey.plan import Plan, Problem, balance, closest, greedy, lower_bound, search
from covey.plan.sets import SETS

__all__ = ["KEYS", "run"]

_OTHERS = {
    "Gr": lambda problem: greedy(problem, offline=False),
    "Gr-l": lambda problem: greedy(problem, offline=False, with_latency=False),
    "Closest": closest,
    "Closest-b": lambda problem: closest(problem, with_balance=False),
    "Balance": balance,
}

KEYS = {
    "best_over_grstar_max": "covey's search against Gr*, bandwidth: worst of all sets and seeds",
    "best_over_grstar_mean": "the same, geometric mean",
    "gap_to_bound_2": "bandwidth against what no plan can go below, interests: the worst seed",
    "gap_to_bound_max": "the same, all sets",
    "plans_invalid": "plans of the search that do not keep to something",
    "seeds_without_plan": "seeds for which a flow shows that there is no plan, which are left out",
    "search_s": "seconds of a search, the slowest",
    **{f"{name}_over_grstar": f"{name}: search against Gr*, all seeds" for name in SETS},
    **{f"{name}_gap": f"{name}: search against the bound, all seeds" for name in SETS},
    **{
        f"{name}_others": f"{name}: {', '.join(_OTHERS)} against Gr*, and how many they violate"
        for name in SETS
    },
}


def run(sizes: Sizes, only: frozenset[str]) -> dict[str, Value]:
    """All plans are verified. Bounds take longest, and are left out where no gap is asked for."""
    ratios: dict[str, list[float]] = {name: [] for name in SETS}
    gaps: dict[str, list[float]] = {name: [] for name in SETS}
    results: dict[str, Value] = {}
    invalid, slowest = 0, 0.0
    wants_gaps = any("gap" in key for key in only)
    without: list[str] = []
    for number, name in enumerate(SETS):
        problems = with_plans(name, sizes.subscribers, sizes.brokers, None, without)
        for problem in itertools.islice(problems, sizes.seeds):
            progress(number * sizes.seeds + len(ratios[name]), len(SETS) * sizes.seeds, "plans")
            start = greedy(problem)
            began = time.perf_counter()
            found = search(problem, start, steps=sizes.steps)
            slowest = max(slowest, time.perf_counter() - began)
            invalid += not found.verify().is_valid
            ratios[name].append(found.bandwidth / start.bandwidth)
            if wants_gaps:
                gaps[name].append(found.bandwidth / lower_bound(found))
            if len(ratios[name]) == 1:
                results[f"{name}_others"] = _others(problem, start)
    for name in SETS:
        results[f"{name}_over_grstar"] = " ".join(f"{ratio:.3f}" for ratio in ratios[name])
    every = list(itertools.chain(*ratios.values()))
    results |= {
        "best_over_grstar_max": round(max(every), 3),
        "best_over_grstar_mean": round(float(np.exp(np.mean(np.log(every)))), 3),
        "plans_invalid": invalid,
        "seeds_without_plan": " ".join(without) or "none",
        "search_s": round(slowest, 1),
    }
    if wants_gaps:
        results |= {
            "gap_to_bound_2": round(max(gaps["interests"]), 3),
            "gap_to_bound_max": round(max(itertools.chain(*gaps.values())), 2),
            **{f"{name}_gap": " ".join(f"{gap:.2f}" for gap in gaps[name]) for name in SETS},
        }
    return results


def _others(problem: Problem, start: Plan) -> str:
    said = []
    for name, way in _OTHERS.items():
        plan = way(problem)
        kept = plan.verify()
        wrong = kept.late + kept.uncovered + kept.beyond + kept.unnested + kept.complex
        said.append(f"{name} {plan.bandwidth / start.bandwidth:.2f} ({wrong})")
    return ", ".join(said)
