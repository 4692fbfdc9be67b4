"""100,000 subscribers and 100 brokers on one level: all planning methods, and lower bounds.

The problem sets are those of the paper, each with the first seeds that have a valid plan according
to a maximum flow. The bandwidths of plans with equal limits on the load of brokers are compared;
both Gr* and the search try the target load first. The time is that of the search, on one core.
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

_LIMITS = {"fair": "max load", "target": "Gr*'s load"}

KEYS = {
    "fair_over_grstar_mean": "bandwidth of the search over Gr*, both at max load: geometric mean",
    "fair_over_grstar_max": "bandwidth of the search over Gr*, both at max load: largest",
    "target_over_grstar_mean": "bandwidth of the search over Gr*, both at Gr*'s load: geom. mean",
    "target_over_grstar_max": "bandwidth of the search over Gr*, both at Gr*'s load: largest",
    "gap_to_bound_2": "bandwidth of the search over the lower bound, interests: largest",
    "gap_to_bound_max": "bandwidth of the search over the lower bound, all sets: largest",
    "plans_invalid": "plans of the search that violate a constraint: should be 0",
    "seeds_without_plan": "sets and seeds that have no valid plan and are left out",
    "seeds_without_grstar": "problems for which Gr* finds no valid plan, left out of the ratios",
    "search_s": "seconds of the slowest search",
    **{
        f"{name}_{limit}_over_grstar": f"{name}: search over Gr*, both at {load}, all seeds"
        for name in ASSIGNMENT_PROBLEMS
        for limit, load in _LIMITS.items()
    },
    **{
        f"{name}_gap": f"{name}: bandwidth of the search at max load over the lower bound"
        for name in ASSIGNMENT_PROBLEMS
    },
    **{
        f"{name}_others": f"{name}: bandwidth over Gr* (violations): {', '.join(_OTHERS)}"
        for name in ASSIGNMENT_PROBLEMS
    },
}


def run(sizes: Sizes, only: frozenset[str]) -> dict[str, Value]:
    """Return the results; all plans are verified.

    Lower bounds take longest, so they are computed only if `only` has a key with `gap`.
    """
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
            for limit, limited_problem in _held(problem).items():
                start = greedy(limited_problem)
                start_time = time.perf_counter()
                plan = search(limited_problem, start, steps=sizes.steps)
                slowest = max(slowest, time.perf_counter() - start_time)
                is_valid = plan.verify().is_valid
                invalid += not is_valid
                if start.verify().is_valid:
                    ratios[name, limit].append(plan.bandwidth / start.bandwidth)
                else:
                    without_start.append(f"{name}:{seed + 1}:{limit}")
                if limit == "fair" and wants_gaps:
                    bound = lower_bound(plan.problem, plan.bandwidth if is_valid else None)
                    gaps[name].append(plan.bandwidth / bound)
            if seed == 0:
                results[f"{name}_others"] = _others(problem, greedy(problem))
    for (name, limit), by_seed in ratios.items():
        results[f"{name}_{limit}_over_grstar"] = " ".join(f"{ratio:.3f}" for ratio in by_seed)
    for limit in _LIMITS:
        all_ratios = [
            ratio for (_, at), by_seed in ratios.items() if at == limit for ratio in by_seed
        ]
        results[f"{limit}_over_grstar_max"] = round(max(all_ratios), 3)
        results[f"{limit}_over_grstar_mean"] = round(float(np.exp(np.mean(np.log(all_ratios)))), 3)
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
    """Return the problem with equal target and max load, by the name of the limit.

    "fair" has the max load. "target" has the load factor at which Gr* finds a plan.
    """
    at_max_load = replace(problem, target_load=problem.max_load)
    factor = greedy(problem).feasible_load_factor
    return {"fair": at_max_load, "target": at_max_load if factor is None else _at(problem, factor)}


def _at(problem: Problem, factor: float) -> Problem:
    return replace(problem, target_load=factor, max_load=factor)


def _others(problem: Problem, start: Plan) -> str:
    """Return a text with the bandwidth of each other method over Gr*, and its violations."""
    texts = []
    for name, make_plan in _OTHERS.items():
        plan = make_plan(problem)
        violations = plan.verify()
        count = (
            violations.too_far
            + violations.uncovered
            + violations.over_capacity
            + violations.not_nested
            + violations.too_many_rectangles
        )
        texts.append(f"{name} {plan.bandwidth / start.bandwidth:.2f} ({count})")
    return ", ".join(texts)
