"""Plans that are saved are the same when they are loaded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from covey.errors import ValueRefused
from covey.plan import SavedPlan, greedy
from covey.plan.sets import SETS


def test_what_is_loaded_is_what_was_saved(tmp_path: Path) -> None:
    problem = replace(SETS["topics"](500, 12, degree=4, seed=3), max_delay=1.0)
    plan = greedy(problem)
    saved = SavedPlan.of(plan, ["x", "y"])
    saved.save(tmp_path / "plan", plan.assignment)
    found = SavedPlan.load(tmp_path / "plan")
    assert found.attributes == ("x", "y")
    assert not found.is_share
    assert (found.tree.parents == problem.tree.parents).all()
    assert (found.tree.brokers == problem.tree.brokers).all()
    assert (found.received == plan.received).all()
    for broker in range(len(problem.tree)):
        for one, other in zip(found.filters.of(broker), plan.filters.of(broker), strict=True):
            assert (one == other).all()
    rows = pq.read_table(tmp_path / "plan" / "assignment.parquet")
    assert (np.asarray(rows["broker"]) == plan.assignment).all()


def test_wrong_folders_and_names_are_told(tmp_path: Path) -> None:
    plan = greedy(SETS["topics"](100, 12, seed=3))
    with pytest.raises(ValueRefused, match="2 different attributes"):
        SavedPlan.of(plan, ["x"])
    with pytest.raises(ValueRefused, match="no plan at"):
        SavedPlan.load(tmp_path / "nowhere")
    saved = SavedPlan.of(plan, ["x", "y"])
    saved.save(tmp_path / "plan")
    with pytest.raises(ValueRefused, match="something at"):
        saved.save(tmp_path / "plan")
    (tmp_path / "plan" / "plan.json").write_text('{"format": 9}')
    with pytest.raises(ValueRefused, match="format 9"):
        SavedPlan.load(tmp_path / "plan")
    (tmp_path / "plan" / "plan.json").write_text("nothing")
    with pytest.raises(ValueRefused, match="no plan"):
        SavedPlan.load(tmp_path / "plan")
