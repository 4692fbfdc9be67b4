"""Delta tables as subscriptions, events and output, in processes of their own: jars come first."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

JARS = sorted(str(jar) for jar in (Path(__file__).parents[2] / ".jars").glob("*.jar"))


def run(*words: str) -> str:
    """What a command prints; it must succeed."""
    assert JARS, "there are no jars: `make jars` fetches them"
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_model_follows_the_change_feed_of_a_table(tmp_path: Path) -> None:
    script = Path(__file__).with_name("feed.py")
    printed = run(sys.executable, str(script), str(tmp_path), ",".join(JARS))
    first, changed, anew = json.loads(printed.splitlines()[-1])
    assert first == [[1, 100], [2, 100], [3, 100]]
    assert changed == anew == [[3, 100], [7, 100], [9, 100]]


def test_the_command_line_reads_and_writes_tables(tmp_path: Path) -> None:
    (tmp_path / "ticks.csv").write_text("n,price\n1,5.0\n2,50.0\n3,500.0\n")
    (tmp_path / "alerts.csv").write_text("id,predicate\n1,price > 10\n2,price > 100\n")
    covey = str(Path(sys.executable).with_name("covey"))
    jars = ("--jars", ",".join(JARS))
    out, again = tmp_path / "out.delta", tmp_path / "again.csv"
    run(covey, "match", f"{tmp_path}/ticks.csv", f"{tmp_path}/alerts.csv", "-o", str(out), *jars)
    assert (out / "_delta_log").is_dir()
    broad = tmp_path / "broad.csv"
    broad.write_text("id,predicate\n7,id = 1\n")
    run(covey, "match", str(out), str(broad), "-o", str(again), "--matches-column", "alert", *jars)
    rows = [line for part in again.glob("*.csv") for line in part.read_text().splitlines()[1:]]
    assert sorted(row.split(",")[0] for row in rows) == ["2", "3"]
