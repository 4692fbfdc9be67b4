"""`covey zones`: what a saved model says of its zones, and the picture of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from covey import SessionSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a model of eight zones, one without zones, and events of one corner."""
    from covey.spark import Matcher
    from covey.testing.spark_oracle import configure_session

    configure_session(spark, SessionSettings())
    folder = tmp_path_factory.mktemp("zones")
    x, y = "pmod(xxhash64(id, 1), 100) AS x", "concat('k', pmod(xxhash64(id, 2), 50)) AS y"
    events = spark.range(0, 2_000).selectExpr(x, y)
    text = "concat('x BETWEEN ', id % 95, ' AND ', id % 95 + 5, ' AND y > ''k', id % 40, '''')"
    searches = spark.range(0, 800).selectExpr("id", f"{text} AS predicate")
    for zones in (1, 8):
        matcher = Matcher(eventSchema=events.schema, zones=zones)
        model = matcher.fit(searches, events=events if zones > 1 else None)
        model.save(str(folder / f"model{zones}"))
    events.where("x < 10").write.parquet(str(folder / "corner.parquet"))
    return folder


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    from typer.testing import CliRunner

    from covey.cli import app

    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "100")
    return lambda *words: CliRunner().invoke(app, ["zones", *words])


def test_zones_are_told_and_drawn(run: Any, folder: Path) -> None:
    done = run("model8", "--worker-memory", "1m")
    assert done.exit_code == 0, done.output
    said = done.stdout
    assert re.search(r"zones +8, split by (x|y)", said)
    stored = re.search(r"subscriptions +800, stored (\d\.\d\d) times each", said)
    assert stored is not None
    assert 1 < float(stored[1]) < 4
    assert re.search(r"busiest zone +[12]\.\d\d times the mean work, in \d partitions?", said)
    assert re.search(r"busiest partition +1\.[0-3]\d times the mean work of \d+ partitions", said)
    assert re.search(r"largest zone +0\.\d MB, [\d.]+% of a worker's", said)
    assert len([line for line in said.splitlines() if re.match(r" +\d+ +[\d.]+%", line)]) == 8
    assert (folder / "zones.png").read_bytes().startswith(b"\x89PNG")


def test_work_is_that_of_the_events_given(run: Any) -> None:
    done = run("model8", "--events", "corner.parquet", "--no-picture")
    assert done.exit_code == 0, done.output
    busiest = re.search(r"busiest zone +(\d+\.\d\d) times", done.stdout)
    assert busiest is not None
    assert float(busiest[1]) > 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere"], "there is no model at nowhere"),
        (["model1"], "has no zones"),
        (["model8", "--attributes", "z"], "--attributes must be one or two of"),
        (["model8", "--attributes", "x,y,x"], "--attributes must be one or two of"),
        (["model8", "--no-picture", "--attributes", "x"], "--no-picture draws no"),
        (["model8", "--worker-memory", "much"], "a size such as 512m or 2g"),
        (["model8", "--events-format", "csv"], "name it with --ev"),
        (["model8", "--events", "none.parquet"], "no events at none.parquet"),
    ],
)
def test_what_is_wrong_is_said(run: Any, words: list[str], said: str) -> None:
    done = run(*words)
    assert done.exit_code == 2
    assert said in " ".join(done.stderr.split())
