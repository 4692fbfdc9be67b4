"""The benchmark of zones runs, at a size too small to compare times."""

from __future__ import annotations

import pytest

from benchmarks.on_zones.sizes import SHRINK
from benchmarks.zones import KEYS, run
from tests import benchmarked


def test_keys_that_need_no_spark_are_measured(monkeypatch):
    monkeypatch.setenv(SHRINK, "500")
    keys = ["zone_imbalance", "pure_replication_2", "smart_replication_2", "zones_growth_max"]
    measured = run(frozenset(keys), full=False)
    assert measured.keys() == set(keys)
    assert 1 <= measured["smart_replication_2"] <= measured["pure_replication_2"]


@pytest.mark.nightly
def test_every_key_is_measured_and_answers_are_the_same():
    measured = benchmarked.measure("zones", {SHRINK: "100"})
    assert measured.keys() == KEYS.keys()


def test_divided_sizes_are_refused_in_a_full_run(monkeypatch):
    monkeypatch.setenv(SHRINK, "1000")
    with pytest.raises(SystemExit, match=SHRINK):
        run(frozenset(KEYS), full=True)
