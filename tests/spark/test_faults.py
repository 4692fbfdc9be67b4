"""Workers that are killed during a job, and tasks that run twice."""

from __future__ import annotations

import os
import signal
import threading
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from covey import SessionSettings
from covey.store import Store
from covey.testing.spark_oracle import configure_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.integration


@pytest.fixture
def events(spark: SparkSession) -> DataFrame:
    configure_session(spark, SessionSettings())
    return spark.range(0, 400_000, 1, 8).selectExpr("id AS n", "id % 1000 AS x")


def python_workers() -> list[int]:
    """Return the Python workers of this process's Spark: the children of its daemon."""
    parents, commands = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                status = (entry / "stat").read_text().rpartition(")")[2].split()
                commands[int(entry.name)] = (entry / "cmdline").read_bytes()
                parents[int(entry.name)] = int(status[1])
            except OSError:
                continue
    descendants = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in descendants} - descendants:
        descendants |= more
    daemons = {pid for pid in descendants if b"pyspark.daemon" in commands.get(pid, b"")}
    return [pid for pid in daemons if parents[pid] in daemons]


def killing(times: int, done: threading.Event, killed: list[int]) -> None:
    while len(killed) < times and not done.is_set():
        time.sleep(0.5)
        for pid in python_workers()[:1]:
            try:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
            except ProcessLookupError:
                continue


def test_a_killed_worker_does_not_change_the_answer(spark: SparkSession, events: DataFrame) -> None:
    from covey.spark import Matcher

    alerts = spark.range(2_000).selectExpr(
        "id", "concat('x = ', id % 1000, ' AND n > 5') AS predicate"
    )
    model = Matcher(eventSchema=events.schema).fit(alerts)
    matches = model.transform(events).selectExpr(
        "count(*) AS n", "bit_xor(xxhash64(n, id)) AS hash"
    )
    expected = matches.collect()

    killed: list[int] = []
    done = threading.Event()
    killer = threading.Thread(target=killing, args=(2, done, killed))
    killer.start()
    answers = []
    while len(killed) < 2:
        answers.append(matches.collect())
    done.set()
    killer.join()
    assert answers
    assert all(answer == expected for answer in answers)


def test_a_load_that_runs_twice_commits_one_version(spark: SparkSession, tmp_path: Path) -> None:
    """This happens if a worker dies after it committed and before Spark received the result."""
    import pyarrow as pa

    from covey import Space, parse
    from covey.spark.fitting.subscription_loader import _commit_and_merge
    from covey.spark.workers import run_in_task
    from covey.store import Changes

    space = Space.from_types({"x": pa.int64()})
    location = str(tmp_path / "store")
    with Store.create(location, space) as store:
        staged = store.stage(Changes.upsert([1, 2], parse(space, ["x > 1", "x > 2"])))
    assert staged is not None
    load = partial(_commit_and_merge, location, 0, [staged], [], "one attempt")
    first, second = run_in_task(spark, load), run_in_task(spark, load)
    assert first["version"] == second["version"] == 1
    assert Store.open(location).versions == [0, 1]


def test_a_worker_that_dies_during_a_fit_loses_no_subscription(
    spark: SparkSession, tmp_path: Path
) -> None:
    from covey.spark import Matcher

    configure_session(spark, SessionSettings())
    mark = str(tmp_path / "tried")
    events = spark.range(10).selectExpr("id AS n")

    def once(batches: object) -> object:
        yield from batches  # type: ignore[misc]
        if not os.path.exists(mark):
            open(mark, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)

    alerts = spark.range(0, 100, 1, 1).selectExpr("id", "concat('n >= ', id) AS predicate")
    dying = alerts.mapInArrow(once, alerts.schema)
    model = Matcher(eventSchema=events.schema, storePath=str(tmp_path / "store")).fit(dying)
    assert os.path.exists(mark)
    assert model.numSubscriptions == 100
    assert model.transform(events).count() == 55
