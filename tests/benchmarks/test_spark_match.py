"""The benchmark of matching on Spark runs, at a size too small to compare times."""

from __future__ import annotations

import pytest

from benchmarks.on_spark.sizes import SHRINK
from benchmarks.spark_match import KEYS, run
from tests import benchmarked


@pytest.mark.nightly
def test_every_key_is_measured_and_answers_equal_those_of_spark():
    measured = benchmarked.measure("spark-match", {SHRINK: "200"})
    assert measured.keys() == KEYS.keys()
    ratios = [key for key in KEYS if "vs_" in key]
    assert all(measured[key] > 0 for key in [*ratios, "answers_10m_pairs", "answers_alerts_pairs"])


def test_divided_sizes_are_refused_in_a_full_run(monkeypatch):
    monkeypatch.setenv(SHRINK, "1000")
    with pytest.raises(SystemExit, match=SHRINK):
        run(frozenset(KEYS), full=True)
