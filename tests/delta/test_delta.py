"""Delta tables as subscriptions, events and output, each in a process of its own with the jars."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.integration

JARS = sorted(str(jar) for jar in (Path(__file__).parents[2] / ".jars").glob("*.jar"))


def run(*words: str) -> str:
    """Run a command that must succeed, and return its output."""
    assert JARS, "no jars in .jars: `make jars` downloads them"
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=900, check=False,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def feed_output(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return a folder with a Delta table of alerts, and the output of `feed.py`."""
    folder = tmp_path_factory.mktemp("delta")
    script = Path(__file__).with_name("feed.py")
    return folder, run(sys.executable, str(script), str(folder), ",".join(JARS))


def test_a_model_is_updated_from_the_change_feed_of_a_table(feed_output: tuple[Path, str]) -> None:
    first, changed, refitted = json.loads(feed_output[1].splitlines()[-1])
    assert first == [[1, 100], [2, 100], [3, 100]]
    assert changed == refitted == [[3, 100], [7, 100], [9, 100]]


def test_the_command_line_reads_and_writes_tables(
    feed_output: tuple[Path, str], tmp_path: Path
) -> None:
    """After `feed.py`, the alerts are for the digits 3, 7 and 9."""
    (tmp_path / "digits.csv").write_text("n,digit\n1,7\n2,8\n3,9\n")
    covey, out = str(Path(sys.executable).with_name("covey")), tmp_path / "out.delta"
    run(
        covey, "match", f"{tmp_path}/digits.csv", f"{feed_output[0]}/alerts", "-o", str(out),
        "--subscriptions-format", "delta", "--jars", ",".join(JARS),
        "--conf", "spark.databricks.delta.snapshotPartitions=2",
        "--conf", "spark.sql.shuffle.partitions=2",
    )  # fmt: skip
    commits = [commit.read_text().splitlines() for commit in (out / "_delta_log").glob("*.json")]
    actions = [json.loads(line) for lines in commits for line in lines]
    files = [action["add"]["path"] for action in actions if "add" in action]
    rows = [row for file in files for row in pq.read_table(out / file).to_pylist()]
    assert sorted((row["n"], row["id"]) for row in rows) == [(1, 2), (3, 4)]
