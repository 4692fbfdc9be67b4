"""SLP for a tree of several levels: from the top, assign each broker's subscribers to its children.

A subscriber may be assigned to a child if at least half of the leaves below the child may serve it;
if there is no such child, the threshold is halved. The load factor of a child is limited such that
the levels below it can still respect the limit of the whole tree. (papers: assignment)
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

_THRESHOLD = 0.5  # share of a child's leaves that must be allowed for a subscriber


@dataclass(frozen=True, slots=True)
class _MultiLevelRun:
    """Arguments that all recursive calls of `_assign_to_children` share.

    Args:
        problem: the whole problem.
        may_serve: the leaves (columns) that may serve each subscriber (row).
        is_leaf_below: the leaves (columns) below each broker (row); for a leaf, the leaf itself.
        deadline_s: the value of `time.monotonic()` at which linear programs end.
        seed: the seed of all random choices.
    """

    problem: Problem
    may_serve: NDArray[np.bool_]
    is_leaf_below: NDArray[np.bool_]
    deadline_s: float
    seed: int


def solve_multi_level(problem: Problem, max_seconds: float, seed: int) -> SlpResult:
    """Return the SLP plan: assign one level after another, then fit filters from the bottom up."""
    leaves = problem.tree.leaves
    may_serve = unpack_leaf_sets(find_leaves_within_delay(problem), len(leaves))
    is_leaf_below = np.zeros((len(problem.tree), len(leaves)), np.bool_)
    for column, path in enumerate(problem.tree.leaf_paths):
        is_leaf_below[path[path >= 0], column] = True
    run = _MultiLevelRun(problem, may_serve, is_leaf_below, time.monotonic() + max_seconds, seed)
    leaf_of = np.zeros(len(problem.subscribers), np.int64)
    programs: list[RelaxationResult] = []
    missed_count = _assign_to_children(
        run, np.flatnonzero(problem.tree.parents < 0), leaf_of, None, programs
    )
    demand = DemandGroups.from_problem(problem)
    group_counts = count_by_leaf(leaf_of, len(leaves), demand)
    state = fit_filter_state(problem, demand, group_counts)
    return SlpResult(
        to_plan(problem, demand, leaf_of.astype(np.int32), state), tuple(programs), missed_count
    )


def _assign_to_children(
    run: _MultiLevelRun,
    children: Ints,
    leaf_of: Ints,
    rows: Ints | None,
    programs: list[RelaxationResult],
) -> int:
    """Assign subscribers to children and then to the leaves below; write the leaves to `leaf_of`.

    Args:
        run: the arguments that all calls share.
        children: the children of one broker, or the brokers of the top level.
        leaf_of: receives the leaf of each subscriber, as an index into the leaves of the tree.
        rows: the subscribers to assign; None for all.
        programs: receives the linear programs that were solved.

    Returns:
        The number of subscribers that the filters of linear programs missed.
    """
    problem, is_leaf_below = run.problem, run.is_leaf_below[children]
    total_count = len(problem.subscribers)
    rows = np.arange(total_count) if rows is None else rows
    if not len(rows):
        return 0
    if len(children) == 1:
        child_of, missed_count = np.zeros(len(rows), np.int64), 0
    else:
        capacity = (is_leaf_below * problem.fair_shares).sum(axis=1)
        excess = len(rows) / (capacity.sum() * total_count)
        height = int((problem.tree.leaf_paths >= 0).sum(axis=1)[is_leaf_below.any(axis=0)].max())
        height -= int(_compute_depth(problem.tree, children[0])) - 1
        load, max_load = (
            max(1.0, (factor / excess) ** (1 / height))
            for factor in (problem.target_load, problem.max_load)
        )
        level_problem = replace(
            problem.take(rows),
            tree=BrokerTree.from_arrays(problem.tree.publisher, problem.tree.brokers[children]),
            allowed_leaves=_find_allowed_children(run.may_serve[rows], is_leaf_below),
            share_weights=capacity,
            target_load=load,
            max_load=max(load, max_load),
        )
        remaining_s = run.deadline_s - time.monotonic()
        result = solve_one_level(level_problem, remaining_s * len(rows) / total_count, run.seed)
        programs.extend(result.programs)
        child_of, missed_count = result.plan.assignment.astype(np.int64), result.missed_count
    for number, child in enumerate(children.tolist()):
        child_rows = rows[child_of == number]
        grandchildren = np.flatnonzero(problem.tree.parents == child)
        if len(grandchildren):
            missed_count += _assign_to_children(run, grandchildren, leaf_of, child_rows, programs)
        else:
            leaf_of[child_rows] = np.searchsorted(problem.tree.leaves, child)
    return missed_count


def _compute_depth(tree: BrokerTree, broker: int) -> int:
    """Return the level of a broker: 1 below the publisher, 2 below such a broker, and so on."""
    depth = 0
    while broker >= 0:
        broker, depth = int(tree.parents[broker]), depth + 1
    return depth


def _find_allowed_children(
    may_serve: NDArray[np.bool_], is_leaf_below: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return which children (columns) each subscriber (row) may be assigned to.

    A subscriber may be assigned to a child if the share of the child's leaves that may serve it
    reaches a threshold. If there is no such child, the threshold is halved for this subscriber
    until there is one. A subscriber without any allowed leaf below these children may be assigned
    to all of them.
    """
    allowed_share = may_serve.astype(np.float64) @ is_leaf_below.T / is_leaf_below.sum(axis=1)
    allowed: NDArray[np.bool_] = allowed_share >= _THRESHOLD
    threshold = _THRESHOLD
    while (without_child := ~allowed.any(axis=1) & (allowed_share > 0).any(axis=1)).any():
        threshold /= 2
        allowed[without_child] = allowed_share[without_child] >= threshold
    allowed[~allowed.any(axis=1)] = True  # an assignment on a level above left no allowed leaf
    return allowed


@check_arguments
def slp(problem: Problem, *, max_seconds: float = 600.0, seed: int = 0) -> SlpResult:
    """Return the plan of SLP1 for trees of one level, or of SLP for trees of several levels.

    Args:
        problem: what to plan for.
        max_seconds: stop the rounds of linear programs after about this time, even if their
            filters do not cover all subscribers.
        seed: the seed of all random choices.

    Raises:
        InvalidArgumentError: if a number is out of its range.
        CoveyError: if highspy or scipy is not installed.

    Cost: one linear program or more for each round. For 100 brokers, a program has about 30,000
    rows and 100,000 columns, and takes minutes.
    """
    check_range("max_seconds", max_seconds, 0)
    check_range("seed", seed, 0)
    has_levels = problem.tree.leaf_paths.shape[1] > 1
    return (solve_multi_level if has_levels else solve_one_level)(problem, max_seconds, seed)
