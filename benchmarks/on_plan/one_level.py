"""100,000 subscribers and 100 brokers of one level: every way of planning, and bounds.

The sets of the paper, each with the first seeds for which there is a plan at all: a flow says so.
Bandwidth is what is compared, of plans that may load brokers equally: Gr* tries the load that is
wanted first, and so does the search. Seconds of searching are told. One core.
"""

from __future__ import annotations

import itertools
import time
from dataclasses import replace

import numpy as np

from benchmarks.harness import Value, progress
from benchmarks.on_plan.problems import with_plans
from benchmarks.on_plan.sizes import Sizes
from covey.plan import Plan, Problem, assign_nearest, balance_loads, greedy, lower_bound, search
from covey.plan.workload.problems import ASSIGNMENT_PROBLEMS

__all__ = ["KEYS", "run"]

_OTHERS = {
    "Gr": lambda problem: greedy(problem, is_offline=False),
    "Gr-l": lambda problem: greedy(problem, is_offline=False, with_latency=False),
    "Closest": assign_nearest,
    "Closest-b": lambda problem: assign_nearest(problem, with_capacity=False),
    "Balance": balance_loads,
}

_LIMITS = ("fair", "target")

KEYS = {
    "fair_over_grstar_mean": "search against Gr*, bandwidth, both at the most load: geometric mean",
    "fair_over_grstar_max": "the same, worst of all sets and seeds",
    "target_over_grstar_mean": "the same, both at the load at which Gr* first finds room: mean",
    "target_over_grstar_max": "the same, worst",
    "gap_to_bound_2": "bandwidth against what no plan can go below, interests: the worst seed",
    "gap_to_bound_max": "the same, all sets",
    "plans_invalid": "plans of the search that do not keep to something",
    "seeds_without_plan": "seeds for which a flow shows that there is no plan, which are left out",
    "seeds_without_grstar": "problems of which Gr* finds no valid plan, left out of the ratios",
    "search_s": "seconds of a search, the slowest",
    **{
        f"{name}_{limit}_over_grstar": f"{name}: search against Gr* at equal load, all seeds"
        for name in ASSIGNMENT_PROBLEMS
        for limit in _LIMITS
    },
    **{
        f"{name}_gap": f"{name}: search at the most load against the bound"
        for name in ASSIGNMENT_PROBLEMS
    },
    **{
        f"{name}_others": f"{name}: {', '.join(_OTHERS)} against Gr*, and how many they violate"
        for name in ASSIGNMENT_PROBLEMS
    },
}


def run(sizes: Sizes, only: frozenset[str]) -> dict[str, Value]:
    """All plans are verified. Bounds take longest, and are left out where no gap is asked for."""
    ratios: dict[tuple[str, str], list[float]] = {
        (n, at): [] for n in ASSIGNMENT_PROBLEMS for at in _LIMITS
    }
    gaps: dict[str, list[float]] = {name: [] for name in ASSIGNMENT_PROBLEMS}
    results: dict[str, Value] = {}
    invalid, slowest = 0, 0.0
    wants_gaps = any("gap" in key for key in only)
    without: list[str] = []
    without_start: list[str] = []
    for number, name in enumerate(ASSIGNMENT_PROBLEMS):
        problems = with_plans(name, sizes.subscribers, sizes.brokers, None, without)
        for seed, problem in enumerate(itertools.islice(problems, sizes.seeds)):
            progress(number * sizes.seeds + seed, len(ASSIGNMENT_PROBLEMS) * sizes.seeds, "plans")
            for limit, held in _held(problem).items():
                start = greedy(held)
                began = time.perf_counter()
                found = search(held, start, steps=sizes.steps)
                slowest = max(slowest, time.perf_counter() - began)
                is_valid = found.verify().is_valid
                invalid += not is_valid
                if start.verify().is_valid:
                    ratios[name, limit].append(found.bandwidth / start.bandwidth)
                else:
                    without_start.append(f"{name}:{seed + 1}:{limit}")
                if limit == "fair" and wants_gaps:
                    bound = lower_bound(found.problem, found.bandwidth if is_valid else None)
                    gaps[name].append(found.bandwidth / bound)
            if seed == 0:
                results[f"{name}_others"] = _others(problem, greedy(problem))
    for (name, limit), some in ratios.items():
        results[f"{name}_{limit}_over_grstar"] = " ".join(f"{ratio:.3f}" for ratio in some)
    for limit in _LIMITS:
        every = [ratio for (_, at), some in ratios.items() if at == limit for ratio in some]
        results[f"{limit}_over_grstar_max"] = round(max(every), 3)
        results[f"{limit}_over_grstar_mean"] = round(float(np.exp(np.mean(np.log(every)))), 3)
    results |= {
        "plans_invalid": invalid,
        "seeds_without_plan": " ".join(without) or "none",
        "seeds_without_grstar": " ".join(without_start) or "none",
        "search_s": round(slowest, 1),
    }
    if wants_gaps:
        results |= {
            "gap_to_bound_2": round(max(gaps["interests"]), 3),
            "gap_to_bound_max": round(max(itertools.chain(*gaps.values())), 2),
            **{
                f"{name}_gap": " ".join(f"{gap:.2f}" for gap in gaps[name])
                for name in ASSIGNMENT_PROBLEMS
            },
        }
    return results


def _held(problem: Problem) -> dict[str, Problem]:
    """The problem with one load that both ways of planning may use, the most and the wanted one."""
    most = replace(problem, target_load=problem.max_load)
    factor = greedy(problem).feasible_load_factor
    return {"fair": most, "target": most if factor is None else _at(problem, factor)}


def _at(problem: Problem, factor: float) -> Problem:
    return replace(problem, target_load=factor, max_load=factor)


def _others(problem: Problem, start: Plan) -> str:
    said = []
    for name, way in _OTHERS.items():
        plan = way(problem)
        kept = plan.verify()
        wrong = (
            kept.too_far
            + kept.uncovered
            + kept.over_capacity
            + kept.not_nested
            + kept.too_many_rectangles
        )
        said.append(f"{name} {plan.bandwidth / start.bandwidth:.2f} ({wrong})")
    return ", ".join(said)
