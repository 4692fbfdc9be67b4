"""Child processes: killing them, clearing what they leave, and finding workers of Spark."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from covey.stream.spark_defaults import SPARK_DEFAULTS
from soak.kills import daemons_and_workers
from soak.processes import Child, Seen
from soak.state import State

SLEEPS = "import time; time.sleep(600)"
PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SLEEPS!r}])"


def test_descendants_of_a_killed_process_run_until_they_are_cleared(tmp_path: Path) -> None:
    child = Child([sys.executable, "-c", PARENT], tmp_path / "log")
    child.start()
    while not child.family():
        time.sleep(0.05)
    (orphan,) = child.family()
    child.kill()
    assert child.code == -9
    assert orphan.is_running
    assert child.clear(0.0) == 1
    assert not orphan.is_running
    assert child.clear(0.0) == 0


def test_a_process_ends_on_a_signal(tmp_path: Path) -> None:
    child = Child([sys.executable, "-c", f"print('here', flush=True); {SLEEPS}"], tmp_path / "log")
    child.start()
    while not child.said():
        time.sleep(0.05)
    assert child.end(10.0) == -15
    assert child.said() == "here\n"


def test_another_process_with_the_same_number_is_not_killed(tmp_path: Path) -> None:
    child = Child([sys.executable, "-c", PARENT], tmp_path / "log")
    child.start()
    while not child.family():
        time.sleep(0.05)
    (seen,) = child.family()
    assert not Seen(seen.number, seen.parent, seen.started - 1, seen.words).kill()
    assert seen.is_running
    child.kill()
    child.clear(0.0)


@pytest.mark.parametrize("module", ["pyspark.daemon", SPARK_DEFAULTS["spark.python.daemon.module"]])
def test_workers_are_distinguished_from_their_daemon(module: str) -> None:
    daemon = f"python -m {module} pyspark.worker"
    family = [Seen(10, 1, 0, "java"), Seen(11, 10, 0, daemon), Seen(12, 11, 0, daemon)]
    family.append(Seen(13, 11, 0, daemon))
    daemons, workers = daemons_and_workers(family)
    assert [seen.number for seen in daemons] == [11]
    assert [seen.number for seen in workers] == [12, 13]


WORKS = """
import time
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", False).getOrCreate()
def slow(batches):
    time.sleep(600)
    yield from batches
spark.range(0, 2, 1, 2).mapInArrow(slow, "id LONG").collect()
"""


@pytest.mark.integration
def test_workers_of_spark_are_found_killed_and_end_with_their_driver(tmp_path: Path) -> None:
    environment = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    child = Child([sys.executable, "-c", WORKS], tmp_path / "log", environment)
    child.start()
    try:
        workers = wait_for_workers(child, 2)
        assert workers[0].kill()
        while workers[0].is_running:
            time.sleep(0.05)
        again = wait_for_workers(child, 2)  # Spark retries the task with a new worker
        assert {seen.number for seen in again} != {seen.number for seen in workers}
    finally:
        child.kill()
        assert child.clear(60.0) == 0


def wait_for_workers(child: Child, count: int) -> list[Seen]:
    until = time.monotonic() + 300
    while True:
        daemons, workers = daemons_and_workers(child.family())
        if len(workers) >= count:
            assert len(daemons) == 1
            return workers
        assert child.code is None, child.said()
        assert time.monotonic() < until, child.said()
        time.sleep(0.2)


def test_a_batch_counts_when_it_is_committed(tmp_path: Path) -> None:
    state = State(tmp_path)
    assert (state.batches, state.newest_s, state.done("ads")) == (0, 0.0, {})
    for name in ("batches/query", "checkpoint/offsets", "checkpoint/commits"):
        (tmp_path / name).mkdir(parents=True)
    for number in (9, 10):
        offsets = f'v1\n{{"batchWatermarkMs":0}}\n{{"ads":{{"0":{number},"1":5}}}}'
        (tmp_path / "checkpoint/offsets" / str(number)).write_text(offsets)
    (tmp_path / "checkpoint/commits/9").write_text("v1\n{}")
    assert (state.batches, state.done("ads")) == (10, {0: 9, 1: 5})
    (tmp_path / "checkpoint/commits/10").write_text("v1\n{}")
    (tmp_path / "checkpoint/commits/.11.crc").write_text("")
    assert (state.batches, state.done("ads")) == (11, {0: 10, 1: 5})
    (tmp_path / "batches/query/10").write_text("{}")
    assert state.newest_s > time.time() - 60
