"""The example scripts run, at a size that fits a test."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parent.parent


@pytest.mark.integration
def test_the_flights_example_prints_its_summary_and_draws_its_picture(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from examples import flights

    picture, zone = tmp_path / "flights.png", spark.conf.get("spark.sql.session.timeZone")
    # the session belongs to all tests
    monkeypatch.setattr(type(spark), "stop", lambda session: None)
    try:
        words = ["--alerts", "3000", "--sample", "5", "--picture", str(picture)]
        assert flights.main(words) == 0
    finally:
        spark.catalog.clearCache()
        spark.conf.set("spark.sql.session.timeZone", zone)
    printed = capsys.readouterr().out
    assert "336,776 flights" in printed
    assert "3,000 alerts, 0 rejected" in printed
    assert "compared with Spark's own where: 0 of" in printed
    notifications = re.search(r"([\d,]+) notifications", printed)
    assert notifications is not None
    assert int(notifications[1].replace(",", "")) > 10_000
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.integration
def test_the_live_example_prints_its_notifications() -> None:
    done = subprocess.run(
        [sys.executable, "examples/live.py"],
        cwd=ROOT, env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(done.stdout.splitlines()[1:]) == [
        "ann: {'title': 'Bicycle', 'price': 120.0}",
        "ann: {'title': 'bicycle, old', 'price': 20.0}",
        "bob: {'title': 'Piano', 'price': 900.0}",
    ]


def test_alerts_depend_on_the_seed_only() -> None:
    from examples.flights import load, write_alerts

    data = load()
    first, again, other = (write_alerts(data, 500, seed) for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)
