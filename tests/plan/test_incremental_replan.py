"""Replanning: plans stay valid and near to fresh ones, and few subscribers move."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from covey.errors import InvalidArgumentError
from covey.plan import greedy, replan, search
from covey.plan.workload.problems import ASSIGNMENT_PROBLEMS
from tests.plan.test_plan import VALID

COUNT, NEW, PERIODS = 1_500, 150, 3


@pytest.mark.parametrize(("name", "degree"), [("topics", None), ("hot-spots", 6)])
def test_few_subscribers_move_and_the_plan_stays_good(name: str, degree: int | None) -> None:
    whole = ASSIGNMENT_PROBLEMS[name](COUNT + PERIODS * NEW, 15, degree=degree, seed=3)
    whole = replace(whole, max_delay=1.0)
    random, rows = np.random.default_rng(1), np.arange(COUNT)
    plan = search(whole.take(rows), steps=300)
    for period in range(PERIODS):
        stays = np.sort(random.choice(COUNT, COUNT - NEW, replace=False))
        rows = np.r_[rows[stays], COUNT + period * NEW + np.arange(NEW)]
        before = np.r_[stays, np.full(NEW, -1)]
        found = replan(plan, whole.take(rows), before, steps=200, seed=period)
        moved = np.count_nonzero(found.assignment[: len(stays)] != plan.assignment[stays])
        assert moved <= 0.02 * COUNT
        assert found.verify() == VALID
        plan = found
    assert plan.bandwidth < 1.3 * search(plan.problem, steps=300).bandwidth


def test_no_subscriber_moves_if_max_moved_share_is_0() -> None:
    problem = ASSIGNMENT_PROBLEMS["topics"](1_000, 10, seed=3)
    plan = greedy(problem)
    found = replan(plan, problem, np.arange(1_000), max_moved_share=0.0, steps=100)
    assert (found.assignment == plan.assignment).all()
    assert found.bandwidth <= plan.bandwidth * (1 + 1e-9)


def test_more_moves_give_less_bandwidth() -> None:
    problem = ASSIGNMENT_PROBLEMS["topics"](1_000, 10, seed=3)
    plan = greedy(problem)
    few_moves, all_moves = (
        replan(plan, problem, np.arange(1_000), max_moved_share=moves, steps=200)
        for moves in (0.05, 1.0)
    )
    assert 0 < np.count_nonzero(few_moves.assignment != plan.assignment) <= 50
    assert all_moves.bandwidth < few_moves.bandwidth < plan.bandwidth


def test_row_numbers_of_another_plan_are_refused() -> None:
    problem = ASSIGNMENT_PROBLEMS["topics"](100, 10, seed=3)
    with pytest.raises(InvalidArgumentError, match="subscriber in the previous plan"):
        replan(greedy(problem), problem, np.arange(1, 101))
