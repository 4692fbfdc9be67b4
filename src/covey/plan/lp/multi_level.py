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

from covey._argument_checks import check_arguments, check_range
from covey.plan.groups.assignment_counts import count_by_leaf, fit_filter_state
from covey.plan.groups.demand_groups import DemandGroups
from covey.plan.groups.filter_state import to_plan
from covey.plan.groups.leaf_sets import find_leaves_within_delay, unpack_leaf_sets
from covey.plan.lp.one_level import SlpResult, solve_one_level
from covey.plan.lp.relaxation import RelaxationResult
from covey.plan.model.broker_tree import BrokerTree
from covey.plan.model.problem import Problem

__all__ = ["SlpResult", "slp", "solve_multi_level"]

Ints = NDArray[np.int64]

_THRESHOLD = 0.5


@dataclass(frozen=True, slots=True)
class _MultiLevelRun:
    """What all calls share: who may be served by which leaf, and the leaves below each broker."""

    problem: Problem
    may_serve: NDArray[np.bool_]
    is_leaf_below: NDArray[np.bool_]
    deadline_s: float
    seed: int


def solve_multi_level(problem: Problem, max_seconds: float, seed: int) -> SlpResult:
    """SLP: one level after another, then filters from the bottom up."""
    leaves = problem.tree.leaves
    may = unpack_leaf_sets(find_leaves_within_delay(problem), len(leaves))
    below = np.zeros((len(problem.tree), len(leaves)), np.bool_)
    for column, path in enumerate(problem.tree.leaf_paths):
        below[path[path >= 0], column] = True
    whole = _MultiLevelRun(problem, may, below, time.monotonic() + max_seconds, seed)
    leaf_of = np.zeros(len(problem.subscribers), np.int64)
    programs: list[RelaxationResult] = []
    missed = _assign_to_children(
        whole, np.flatnonzero(problem.tree.parents < 0), leaf_of, None, programs
    )
    demand = DemandGroups.from_problem(problem)
    served = count_by_leaf(leaf_of, len(leaves), demand)
    state = fit_filter_state(problem, demand, served)
    return SlpResult(
        to_plan(problem, demand, leaf_of.astype(np.int32), state), tuple(programs), missed
    )


def _assign_to_children(
    run: _MultiLevelRun,
    children: Ints,
    leaf_of: Ints,
    rows: Ints | None,
    programs: list[RelaxationResult],
) -> int:
    """Writes the leaves of some subscribers, who are all below one of some children."""
    problem, below = run.problem, run.is_leaf_below[children]
    everybody = len(problem.subscribers)
    rows = np.arange(everybody) if rows is None else rows
    if not len(rows):
        return 0
    if len(children) == 1:
        child_of, missed = np.zeros(len(rows), np.int64), 0
    else:
        capacity = (below * problem.fair_shares).sum(axis=1)
        excess = len(rows) / (capacity.sum() * everybody)
        height = int((problem.tree.leaf_paths >= 0).sum(axis=1)[below.any(axis=0)].max())
        height -= int(_compute_depth(problem.tree, children[0])) - 1
        load, most = (
            max(1.0, (factor / excess) ** (1 / height))
            for factor in (problem.target_load, problem.max_load)
        )
        among = replace(
            problem.take(rows),
            tree=BrokerTree.from_arrays(problem.tree.publisher, problem.tree.brokers[children]),
            allowed_leaves=_find_allowed_children(run.may_serve[rows], below),
            share_weights=capacity,
            target_load=load,
            max_load=max(load, most),
        )
        left = run.deadline_s - time.monotonic()
        found = solve_one_level(among, left * len(rows) / everybody, run.seed)
        programs.extend(found.programs)
        child_of, missed = found.plan.assignment.astype(np.int64), found.missed_count
    for number, child in enumerate(children.tolist()):
        mine = rows[child_of == number]
        next_ones = np.flatnonzero(problem.tree.parents == child)
        if len(next_ones):
            missed += _assign_to_children(run, next_ones, leaf_of, mine, programs)
        else:
            leaf_of[mine] = np.searchsorted(problem.tree.leaves, child)
    return missed


def _compute_depth(tree: BrokerTree, broker: int) -> int:
    depth = 0
    while broker >= 0:
        broker, depth = int(tree.parents[broker]), depth + 1
    return depth


def _find_allowed_children(
    may_serve: NDArray[np.bool_], is_leaf_below: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Who may go to which child: to the threshold of its leaves, which is halved if need be."""
    part = may_serve.astype(np.float64) @ is_leaf_below.T / is_leaf_below.sum(axis=1)
    allowed: NDArray[np.bool_] = part >= _THRESHOLD
    threshold = _THRESHOLD
    while (nowhere := ~allowed.any(axis=1) & (part > 0).any(axis=1)).any():
        threshold /= 2
        allowed[nowhere] = part[nowhere] >= threshold
    allowed[~allowed.any(axis=1)] = True  # a choice further up left them none
    return allowed


@check_arguments
def slp(problem: Problem, *, max_seconds: float = 600.0, seed: int = 0) -> SlpResult:
    """SLP1 for brokers that are all the publisher's, SLP for trees of several levels.

    Cost: a linear program a round, of some 30,000 rows and 100,000 columns for 100 brokers: minutes
    each. Rounds end when all are covered, or after about so many seconds.
    """
    check_range("max_seconds", max_seconds, 0)
    check_range("seed", seed, 0)
    has_levels = problem.tree.leaf_paths.shape[1] > 1
    return (solve_multi_level if has_levels else solve_one_level)(problem, max_seconds, seed)
