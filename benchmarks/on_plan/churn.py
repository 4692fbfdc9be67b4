"""Replanning under churn: a tenth of the subscribers is replaced in each period.

At most a fiftieth of the subscribers may move to another broker in a period.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks.harness import Value, progress
from benchmarks.on_plan.sizes import Sizes
from covey.plan import replan, search
from covey.plan.workload.problems import ASSIGNMENT_PROBLEMS

__all__ = ["KEYS", "run"]

_MOVES, _CHURN, _COMPARED = 0.02, 0.1, 10

KEYS = {
    "dynamic_over_fresh": "bandwidth over that of a new search, largest of every tenth period",
    "dynamic_moved_max": "largest share of subscribers that moved in a period",
    "dynamic_invalid": "plans that violate a constraint: should be 0",
    "dynamic_period_s": "seconds of a replan, median",
}


def run(sizes: Sizes, only: frozenset[str]) -> dict[str, Value]:
    """Return the results of the problem set `topics` with seed 1."""
    count = sizes.subscribers
    new = round(_CHURN * count)
    whole = ASSIGNMENT_PROBLEMS["topics"](count + sizes.periods * new, sizes.brokers, seed=1)
    random, rows = np.random.default_rng(1), np.arange(count)
    plan = search(whole.take(rows), steps=sizes.steps)
    ratios, moved, seconds, invalid = [], [], [], 0
    for period in range(sizes.periods):
        progress(period, sizes.periods, "periods")
        stays = np.sort(random.choice(count, count - new, replace=False))
        rows = np.r_[rows[stays], count + period * new + np.arange(new)]
        problem = whole.take(rows)
        before = np.r_[stays, np.full(new, -1)]
        start = time.perf_counter()
        new_plan = replan(
            plan, problem, before, max_moved_share=_MOVES, steps=sizes.period_steps, seed=period
        )
        seconds.append(time.perf_counter() - start)
        moves = np.count_nonzero(new_plan.assignment[: len(stays)] != plan.assignment[stays])
        moved.append(moves / count)
        invalid += not new_plan.verify().is_valid
        plan = new_plan
        if period % _COMPARED == _COMPARED - 1 or period == sizes.periods - 1:
            fresh = search(problem, steps=sizes.steps, seed=period)
            ratios.append(plan.bandwidth / fresh.bandwidth)
    return {
        "dynamic_over_fresh": round(max(ratios), 3),
        "dynamic_moved_max": round(float(max(moved)), 4),
        "dynamic_invalid": invalid,
        "dynamic_period_s": round(float(np.median(seconds)), 1),
    }
