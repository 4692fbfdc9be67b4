"""The benchmark of plans runs, at a size that says nothing about bandwidth."""

from __future__ import annotations

import pytest

from benchmarks.on_plan.sizes import SHRINK
from benchmarks.plan import KEYS, run
from tests import benchmarked


def test_what_needs_neither_spark_nor_programs(monkeypatch):
    monkeypatch.setenv(SHRINK, "200")
    keys = ["target_over_grstar_max", "plans_invalid", "plan_1m_invalid", "dynamic_over_fresh"]
    measured = run(frozenset(keys), full=False)
    assert measured.keys() == set(keys)
    assert measured["plans_invalid"] == measured["plan_1m_invalid"] == 0


@pytest.mark.nightly
def test_every_key_is_measured():
    measured = benchmarked.measure("plan", {SHRINK: "100"})
    assert measured.keys() == KEYS.keys()


def test_divided_sizes_are_never_published(monkeypatch):
    monkeypatch.setenv(SHRINK, "1000")
    with pytest.raises(SystemExit, match=SHRINK):
        run(frozenset(KEYS), full=True)
