"""Plans for a million subscribers, with one level of brokers and with several.

The time is that of the search, from arrays to the plan. It includes the sample, the greedy start
plan of the sample, and the assignment of all subscribers. It excludes building the problem, and the
greedy plan (Gr*) of all subscribers with which the result is compared.
"""

from __future__ import annotations

import time

from benchmarks.harness import Value
from benchmarks.on_plan.problems import with_plans
from benchmarks.on_plan.sizes import Sizes
from covey.plan import greedy, search

__all__ = ["KEYS", "run"]

_SETS = ("topics", "interests", "hot-spots")

KEYS = {
    "plan_1m_one_level_s": "seconds for 1M subscribers and 100 brokers, slowest of three sets",
    "plan_1m_one_level_over_grstar": "bandwidth over that of Gr*, three sets",
    "plan_1m_multi_level_s": "seconds for 1M subscribers, 200 brokers on two levels, slowest set",
    "plan_1m_multi_level_over_grstar": "bandwidth over that of Gr*, two levels, three sets",
    "plan_1m_without_plan": "sets and seeds that have no valid plan and are left out",
    "plan_1m_invalid": "plans that violate a constraint: should be 0",
}


def run(sizes: Sizes, only: frozenset[str]) -> dict[str, Value]:
    """Return the results for the first seed of each set that has a valid plan."""
    results: dict[str, Value] = {}
    invalid = 0
    without: list[str] = []
    shapes = {"one": (sizes.brokers, None), "multi": (sizes.large_brokers, sizes.degree)}
    for shape, (brokers, degree) in shapes.items():
        seconds, ratios = [], []
        for name in _SETS:
            problem = next(with_plans(name, sizes.large, brokers, degree, without))
            start = time.perf_counter()
            plan = search(problem, steps=sizes.steps)
            seconds.append(time.perf_counter() - start)
            ratios.append(plan.bandwidth / greedy(problem).bandwidth)
            invalid += not plan.verify().is_valid
        results[f"plan_1m_{shape}_level_s"] = round(max(seconds), 1)
        results[f"plan_1m_{shape}_level_over_grstar"] = " ".join(f"{r:.3f}" for r in ratios)
    left_out = " ".join(without) or "none"
    return results | {"plan_1m_invalid": invalid, "plan_1m_without_plan": left_out}
