"""The plan to use: a search that starts from any plan and improves it as long as it may.

It keeps to latency, room and filters all the time, so it can be stopped at any moment.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from covey.errors import ValueRefused
from covey.plan.assigning import greedy
from covey.plan.demand import Demand
from covey.plan.kernels.choose import Leaves
from covey.plan.kernels.refill import Served
from covey.plan.kernels.search import searched
from covey.plan.plan import Plan
from covey.plan.problem import Problem
from covey.plan.serving import by_kind, groups_of, leaf_of, network_of, served_by
from covey.plan.states import copied, planned, state_of

__all__ = ["search"]

_ROUNDS = 100  # between which the best is kept, the clock is looked at, and progress is told
_WIDEST = 4  # leaves that a step empties
_SLACK = 0.008  # by which a step may make things worse, at first


def search(
    problem: Problem,
    start: Plan | None = None,
    *,
    steps: int = 40_000,
    seconds: float | None = None,
    seed: int = 0,
    progress: Callable[[float, float], None] | None = None,
) -> Plan:
    """The best plan found in so many steps, and in about so many seconds if that is said.

    It starts from `start`, or else from Gr*. Where that exceeds a broker's room, the broker keeps
    as many and gets no more. Without `seconds` the same seed gives the same plan. `progress` is
    called now and then with how much is done, from 0 to 1, and the bandwidth.

    Cost: one to five milliseconds a step for 100,000 subscribers and 100 brokers; 4 bytes for each
    group of subscribers and leaf.
    """
    if steps < 0:
        raise ValueRefused(f"no search of {steps} steps")
    began = time.monotonic()
    start = greedy(problem, seed=seed) if start is None else start
    demand = Demand.of(problem)
    state = state_of(start, demand)
    by_group = served_by(start, demand)
    loads = by_group.sum(axis=1, dtype=np.int64)
    most = np.maximum(problem.most(problem.most_load), loads)
    leaves = Leaves(problem.tree.paths, problem.shares, most, loads)
    waiting = np.zeros(len(demand.counts), np.int64)
    served = Served(by_group, by_kind(by_group, demand), waiting)
    groups = groups_of(demand)
    network = network_of(problem, demand)
    best = state.volumes.sum(), by_group.copy(), copied(state)
    each = -(-steps // _ROUNDS)
    for number in range(_ROUNDS if steps else 0):
        here, there = (_SLACK * (1 - n / _ROUNDS) for n in (number, number + 1))
        searched(
            served, leaves, state, groups, network, demand.measure, each, _WIDEST, here, there,
            _round_seed(seed, number),
        )  # fmt: skip
        if state.volumes.sum() < best[0]:
            best = state.volumes.sum(), by_group.copy(), copied(state)
        if progress is not None:
            progress((number + 1) / _ROUNDS, float(best[0]))
        if seconds is not None and time.monotonic() - began > seconds:
            break
    return planned(problem, demand, leaf_of(best[1], demand), best[2])


def _round_seed(seed: int, number: int) -> int:
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0] >> 1)
