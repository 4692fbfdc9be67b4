"""The benchmark of plans runs, at a size too small to compare bandwidths."""

from __future__ import annotations

import pytest

from benchmarks.on_plan.sizes import SHRINK
from benchmarks.plan import KEYS, run
from tests import benchmarked


def test_keys_that_need_no_spark_and_no_solver_are_measured(monkeypatch):
    monkeypatch.setenv(SHRINK, "200")
    keys = ["target_over_grstar_max", "plans_invalid", "plan_1m_invalid", "dynamic_over_fresh"]
    measured = run(frozenset(keys), full=False)
    assert measured.keys() == set(keys)
    assert measured["plans_invalid"] == measured["plan_1m_invalid"] == 0


@pytest.mark.nightly
def test_every_key_is_measured():
    measured = benchmarked.measure("plan", {SHRINK: "100"})
    assert measured.keys() == KEYS.keys()


def test_divided_sizes_are_refused_in_a_full_run(monkeypatch):
    monkeypatch.setenv(SHRINK, "1000")
    with pytest.raises(SystemExit, match=SHRINK):
        run(frozenset(KEYS), full=True)
