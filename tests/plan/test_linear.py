"""SLP: candidates, linear programs and plans as the paper has them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from covey.plan import greedy, slp
from covey.plan.candidates import clusters, intervals, rectangles
from covey.plan.relaxing import relaxed
from covey.plan.sets import SETS
from tests.plan.test_plan import VALID


@pytest.mark.parametrize("name", ["topics", "interests", "hot-spots"])
def test_plans_of_one_level(name: str) -> None:
    problem = replace(SETS[name](1_500, 8, seed=3), max_delay=1.0)
    found = slp(problem, seconds=4)
    assert found.plan.verify() == VALID
    assert found.plan.bandwidth < 4 * greedy(problem).bandwidth
    assert found.programs
    assert 0 < found.fractional == found.programs[-1].value
    assert found.programs[0].rows > 80


def test_plans_of_two_levels() -> None:
    problem = replace(SETS["topics"](1_500, 12, degree=4, seed=3), max_delay=1.0, most_load=2.5)
    found = slp(problem, seconds=4)
    assert found.plan.verify() == VALID
    assert len(found.programs) >= 2


def test_the_program_takes_the_cheapest_rectangles() -> None:
    may = np.array([[True, True], [True, True], [False, True]])
    has = np.array([[True, False, True], [False, True, True], [False, True, True]])
    volumes = np.array([1.0, 2.0, 10.0])
    found = relaxed(1, may, has, volumes, 3, np.array([3, 3]), 10)
    assert found is not None
    assert found.value == pytest.approx(3.0, abs=1e-4)
    assert found.parts == pytest.approx(np.array([[1, 0, 0], [0, 1, 0]]), abs=1e-4)
    tight = relaxed(1, may, has, volumes, 3, np.array([3, 1]), 10)  # the second serves only one
    assert tight is not None
    assert tight.value > 3.5
    assert relaxed(1, may, has, volumes, 3, np.array([0, 1]), 10) is None


def test_every_interval_is_in_one_that_is_not_much_longer() -> None:
    random = np.random.default_rng(2)
    low = random.uniform(0, 100, 60)
    high = low + random.choice([1, 3, 10, 40], 60)
    found = intervals(low, high)
    for a, b in zip(low, high, strict=True):
        around = found[(found[:, 0] <= a) & (found[:, 1] >= b)]
        assert (around[:, 1] - around[:, 0]).min() <= 4 * (b - a) + 1e-9


def test_candidates_are_shrunk_and_contain_everybody() -> None:
    wanted = SETS["hot-spots"](300, 5, seed=1).subscribers
    low, high = rectangles(wanted, 25, np.random.default_rng(1))
    is_in = (low[:, None] <= wanted.lower).all(axis=2) & (high[:, None] >= wanted.upper).all(axis=2)
    assert is_in.any(axis=0).all()
    for number in range(0, len(low), 7):
        rows = is_in[number]
        assert (wanted.lower[rows].min(axis=0) == low[number]).all()
        assert (wanted.upper[rows].max(axis=0) == high[number]).all()


def test_points_that_are_near_are_one_cluster() -> None:
    points = np.array([[0.0, 0.0], [0.1, 0.1], [9.0, 9.0], [9.1, 9.0]])
    of = clusters(points, 2, np.random.default_rng(0))
    assert of[0] == of[1] != of[2] == of[3]
    assert len(set(clusters(points, 9, np.random.default_rng(0)))) == 4
