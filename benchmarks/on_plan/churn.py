"""Subscribers come and go: a tenth in each period, and at most a fiftieth of them moves."""

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
    "dynamic_over_fresh": "bandwidth against a fresh search, each tenth period and the last: worst",
    "dynamic_moved_max": "the most that moved in a period, of all",
    "dynamic_invalid": "plans that do not keep to something",
    "dynamic_period_s": "seconds of a period, median",
}


def run(sizes: Sizes, only: frozenset[str]) -> dict[str, Value]:
    """Topics, seed 1."""
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
        began = time.perf_counter()
        found = replan(
            plan, problem, before, max_moved_share=_MOVES, steps=sizes.period_steps, seed=period
        )
        seconds.append(time.perf_counter() - began)
        moves = np.count_nonzero(found.assignment[: len(stays)] != plan.assignment[stays])
        moved.append(moves / count)
        invalid += not found.verify().is_valid
        plan = found
        if period % _COMPARED == _COMPARED - 1 or period == sizes.periods - 1:
            fresh = search(problem, steps=sizes.steps, seed=period)
            ratios.append(plan.bandwidth / fresh.bandwidth)
    return {
        "dynamic_over_fresh": round(max(ratios), 3),
        "dynamic_moved_max": round(float(max(moved)), 4),
        "dynamic_invalid": invalid,
        "dynamic_period_s": round(float(np.median(seconds)), 1),
    }
