"""Tables in files, and commands run in this process on the session of all tests."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from covey import SessionSettings
from tests.cli.simple import ALERTS, EVENTS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from typer.testing import Result


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    """Return the session that commands use, without settings of other tests."""
    from covey.testing.spark_oracle import configure_session

    if os.environ.get("COVEY_TEST_REMOTE"):
        pytest.skip("the command line starts a session of its own, never one of Spark Connect")
    configure_session(spark, SessionSettings())
    return spark


@pytest.fixture
def covey(session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that runs a command in a folder with tables.

    It takes the words of the command: `covey("match", "ticks.csv", …)`.
    """
    from typer.testing import CliRunner

    from covey.cli import app

    write_tables(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def run(*words: str) -> Result:
        return CliRunner().invoke(app, words)

    return run


@pytest.fixture
def ticks(covey: Callable[..., Result], session: SparkSession, tmp_path: Path) -> DataFrame:
    """Return the events as Spark reads them."""
    return session.read.parquet(f"file://{tmp_path}/ticks.parquet")


def write_tables(folder: Path) -> None:
    """Events and alerts in every format that needs no jar, as other programs write them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(EVENTS, _schema()), folder / "ticks.parquet")
    alerts = [{"alert": id_, "predicate": text} for id_, text in ALERTS]
    pq.write_table(pa.Table.from_pylist(alerts), folder / "alerts.parquet")
    for name, rows in (("ticks", EVENTS), ("alerts", alerts)):
        texts = [{k: str(v) if hasattr(v, "year") else v for k, v in row.items()} for row in rows]
        with (folder / f"{name}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows({k: "NaN" if v != v else v for k, v in t.items()} for t in texts)
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(t) + "\n" for t in texts))


def _schema() -> Any:
    import pyarrow as pa

    return pa.schema(
        [
            ("n", pa.int64()),
            ("symbol", pa.string()),
            ("price", pa.float64()),
            ("at", pa.timestamp("us", "UTC")),
            ("venue", pa.string()),
        ]
    )
