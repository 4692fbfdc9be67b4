"""Python of Spark's workers where no environment is activated."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

PROGRAM = """
from pyspark.sql import SparkSession
from covey.errors import CoveyError
from covey.spark import match
spark = (
    SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
)
events = spark.createDataFrame([("ACME", 125.0)], "symbol STRING, price DOUBLE")
alerts = spark.createDataFrame([(7, "price > 120")], "id INT, predicate STRING")
try:
    print("matched", match(events, alerts).collect()[0]["id"])
except CoveyError as error:
    print("refused:", error)
"""


@pytest.fixture
def bare_python(tmp_path: Path) -> Path:
    """Return a `python3` that has none of the packages of the environment."""
    python = tmp_path / "bin" / "python3"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexec {sys.base_prefix}/bin/python3 "$@"\n')
    python.chmod(0o755)
    return python


def run(settings: dict[str, str], path: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if name != "PYSPARK_PYTHON"}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, cwd=folder,
        env={**inherited, "SPARK_LOCAL_IP": "127.0.0.1", **settings,
             "PATH": f"{path}{os.pathsep}{os.environ['PATH']}"},
    )  # fmt: skip


def test_local_workers_run_the_python_of_the_driver(bare_python: Path, tmp_path: Path) -> None:
    done = run({}, bare_python.parent, tmp_path)
    assert (done.returncode, done.stdout) == (0, "matched 7\n"), done.stderr
    assert "Traceback" not in done.stderr


def test_a_python_without_the_packages_is_refused_before_the_first_job(
    bare_python: Path, tmp_path: Path
) -> None:
    done = run({"PYSPARK_PYTHON": str(bare_python)}, bare_python.parent, tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"refused: Spark's workers run {bare_python}, which lacks the packages " in done.stdout
    assert f"set PYSPARK_PYTHON={sys.executable} before Spark starts" in done.stdout
    assert "Traceback" not in done.stderr


def test_a_python_that_does_not_start_is_refused(bare_python: Path, tmp_path: Path) -> None:
    done = run({"PYSPARK_PYTHON": "/no/such/python"}, bare_python.parent, tmp_path)
    assert "refused: Spark's workers cannot start their Python, /no/such/python (" in done.stdout
