"""A million subscribers: one level and several. Seconds are of the search, from arrays to plan.

The sample, its greedy start and the spreading to all are in them; making the problem, and Gr* of
all, which is compared with, are not.
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
    "plan_1m_one_level_s": "seconds for 1M subscribers and 100 brokers, the slowest of three sets",
    "plan_1m_one_level_over_grstar": "bandwidth against Gr* of them, the three sets",
    "plan_1m_multi_level_s": "seconds for 1M subscribers, 200 brokers of two levels, the slowest",
    "plan_1m_multi_level_over_grstar": "bandwidth against Gr* of them",
    "plan_1m_without_plan": "seeds for which there is none, which are left out",
    "plan_1m_invalid": "plans of these that do not keep to something",
}


def run(sizes: Sizes, only: frozenset[str]) -> dict[str, Value]:
    """The first seed of each set that has a plan."""
    results: dict[str, Value] = {}
    invalid = 0
    without: list[str] = []
    shapes = {"one": (sizes.brokers, None), "multi": (sizes.large_brokers, sizes.degree)}
    for shape, (brokers, degree) in shapes.items():
        seconds, ratios = [], []
        for name in _SETS:
            problem = next(with_plans(name, sizes.large, brokers, degree, without))
            began = time.perf_counter()
            found = search(problem, steps=sizes.steps)
            seconds.append(time.perf_counter() - began)
            ratios.append(found.bandwidth / greedy(problem).bandwidth)
            invalid += not found.verify().is_valid
        results[f"plan_1m_{shape}_level_s"] = round(max(seconds), 1)
        results[f"plan_1m_{shape}_level_over_grstar"] = " ".join(f"{r:.3f}" for r in ratios)
    left_out = " ".join(without) or "none"
    return results | {"plan_1m_invalid": invalid, "plan_1m_without_plan": left_out}
