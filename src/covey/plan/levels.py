"""SLP for a tree of several levels: from the top, each broker's subscribers among its children.

Who may go to a child is who may go to half of its leaves, or to a smaller part where there is none;
how much more than its share a child may have is what is left of the whole for the levels below.
(papers: assignment)
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from covey.plan.demand import Demand
from covey.plan.one_level import Slp, by_one_level
from covey.plan.problem import Problem
from covey.plan.reach import near_leaves, unpacked
from covey.plan.relaxing import Relaxed
from covey.plan.serving import counted, fitted_state
from covey.plan.states import planned
from covey.plan.tree import BrokerTree

__all__ = ["by_levels"]

Ints = NDArray[np.int64]

_THRESHOLD = 0.5


@dataclass(frozen=True, slots=True)
class _Whole:
    """What all calls share: who may be served by which leaf, and the leaves below each broker."""

    problem: Problem
    may: NDArray[np.bool_]
    below: NDArray[np.bool_]
    until: float
    seed: int


def by_levels(problem: Problem, seconds: float, seed: int) -> Slp:
    """SLP: one level after another, then filters from the bottom up."""
    leaves = problem.tree.leaves
    may = unpacked(near_leaves(problem), len(leaves))
    below = np.zeros((len(problem.tree), len(leaves)), np.bool_)
    for column, path in enumerate(problem.tree.paths):
        below[path[path >= 0], column] = True
    whole = _Whole(problem, may, below, time.monotonic() + seconds, seed)
    leaf_of = np.zeros(len(problem.subscribers), np.int64)
    programs: list[Relaxed] = []
    missed = _among(whole, np.flatnonzero(problem.tree.parents < 0), leaf_of, None, programs)
    demand = Demand.of(problem)
    served = counted(leaf_of, len(leaves), demand)
    state = fitted_state(problem, demand, served)
    return Slp(planned(problem, demand, leaf_of.astype(np.int32), state), tuple(programs), missed)


def _among(
    whole: _Whole, children: Ints, leaf_of: Ints, rows: Ints | None, programs: list[Relaxed]
) -> int:
    """Writes the leaves of some subscribers, who are all below one of some children."""
    problem, below = whole.problem, whole.below[children]
    everybody = len(problem.subscribers)
    rows = np.arange(everybody) if rows is None else rows
    if not len(rows):
        return 0
    if len(children) == 1:
        child_of, missed = np.zeros(len(rows), np.int64), 0
    else:
        capacity = (below * problem.shares).sum(axis=1)
        excess = len(rows) / (capacity.sum() * everybody)
        height = int((problem.tree.paths >= 0).sum(axis=1)[below.any(axis=0)].max())
        height -= int(_depth(problem.tree, children[0])) - 1
        load, most = (
            max(1.0, (factor / excess) ** (1 / height))
            for factor in (problem.load, problem.most_load)
        )
        among = replace(
            problem.take(rows),
            tree=BrokerTree.of(problem.tree.publisher, problem.tree.brokers[children]),
            allowed=_allowed(whole.may[rows], below), capacity=capacity, load=load,
            most_load=max(load, most),
        )  # fmt: skip
        left = whole.until - time.monotonic()
        found = by_one_level(among, left * len(rows) / everybody, whole.seed)
        programs.extend(found.programs)
        child_of, missed = found.plan.assignment.astype(np.int64), found.missed
    for number, child in enumerate(children.tolist()):
        mine = rows[child_of == number]
        next_ones = np.flatnonzero(problem.tree.parents == child)
        if len(next_ones):
            missed += _among(whole, next_ones, leaf_of, mine, programs)
        else:
            leaf_of[mine] = np.searchsorted(problem.tree.leaves, child)
    return missed


def _depth(tree: BrokerTree, broker: int) -> int:
    depth = 0
    while broker >= 0:
        broker, depth = int(tree.parents[broker]), depth + 1
    return depth


def _allowed(may: NDArray[np.bool_], below: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Who may go to which child: to the threshold of its leaves, which is halved if need be."""
    part = may.astype(np.float64) @ below.T / below.sum(axis=1)
    allowed: NDArray[np.bool_] = part >= _THRESHOLD
    threshold = _THRESHOLD
    while (nowhere := ~allowed.any(axis=1) & (part > 0).any(axis=1)).any():
        threshold /= 2
        allowed[nowhere] = part[nowhere] >= threshold
    allowed[~allowed.any(axis=1)] = True  # a choice further up left them none
    return allowed
