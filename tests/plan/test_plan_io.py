"""Saved plans are equal after loading."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from covey.errors import InvalidArgumentError
from covey.plan import SavedPlan, greedy
from covey.plan.workload.problems import ASSIGNMENT_PROBLEMS


def test_a_loaded_plan_equals_the_saved_one(tmp_path: Path) -> None:
    problem = replace(ASSIGNMENT_PROBLEMS["topics"](500, 12, degree=4, seed=3), max_delay=1.0)
    plan = greedy(problem)
    saved = SavedPlan.from_plan(plan, ["x", "y"])
    saved.save(tmp_path / "plan", plan.assignment)
    found = SavedPlan.load(tmp_path / "plan")
    assert found.attributes == ("x", "y")
    assert not found.is_event_share
    assert (found.tree.parents == problem.tree.parents).all()
    assert (found.tree.brokers == problem.tree.brokers).all()
    assert (found.bandwidth_by_broker == plan.bandwidth_by_broker).all()
    for broker in range(len(problem.tree)):
        for one, other in zip(
            found.filters.rectangles_of(broker), plan.filters.rectangles_of(broker), strict=True
        ):
            assert (one == other).all()
    rows = pq.read_table(tmp_path / "plan" / "assignment.parquet")
    assert (np.asarray(rows["broker"]) == plan.assignment).all()


def test_wrong_folders_and_names_are_reported(tmp_path: Path) -> None:
    plan = greedy(ASSIGNMENT_PROBLEMS["topics"](100, 12, seed=3))
    with pytest.raises(InvalidArgumentError, match="2 different names"):
        SavedPlan.from_plan(plan, ["x"])
    with pytest.raises(InvalidArgumentError, match="no plan at"):
        SavedPlan.load(tmp_path / "nowhere")
    saved = SavedPlan.from_plan(plan, ["x", "y"])
    saved.save(tmp_path / "plan")
    with pytest.raises(InvalidArgumentError, match="exists already"):
        saved.save(tmp_path / "plan")
    (tmp_path / "plan" / "plan.json").write_text('{"format": 9}')
    with pytest.raises(InvalidArgumentError, match="format 9"):
        SavedPlan.load(tmp_path / "plan")
    (tmp_path / "plan" / "plan.json").write_text("nothing")
    with pytest.raises(InvalidArgumentError, match="is not a plan"):
        SavedPlan.load(tmp_path / "plan")
