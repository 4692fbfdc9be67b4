"""`covey explain` on tables and models: the user's text, and Spark only where it is needed."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from covey.cli import app

ALERTS = {
    "1": "price < 900 AND city = 'Rome'",
    "2": "lower(city) = 'rome'",
    "3": "at > '2024-05-02'",
}
ROWS: list[dict[str, Any]] = [
    {"ad": 7, "city": "Rome", "price": 899.5, "at": "2024-05-01 10:00:00", "tags": ["a", "b"]},
    {"ad": 8, "city": None, "price": 20.0, "at": "2024-05-03 10:00:00", "tags": []},
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.Table.from_pylist(ROWS), "ads.parquet")
    Path("ads.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    flat = [{key: value for key, value in row.items() if key != "tags"} for row in ROWS]
    with open("ads.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, flat[0])
        writer.writeheader()
        writer.writerows(flat)
    with open("alerts.csv", "w", newline="") as file:
        csv.writer(file).writerows([("id", "predicate"), *ALERTS.items()])
    alerts = [{"id": id_, "predicate": text} for id_, text in ALERTS.items()]
    pq.write_table(pa.Table.from_pylist(alerts), "alerts.parquet")
    return tmp_path


@pytest.fixture
def without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    from covey.cli.session import SessionLauncher

    def start(_: SessionLauncher) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(SessionLauncher, "launch", start)


def explain(*words: str) -> Any:
    return CliRunner().invoke(app, ["explain", *words])


@pytest.mark.usefixtures("folder", "without_spark")
@pytest.mark.parametrize("events", ["ads.parquet", "ads.csv", "ads.jsonl"])
@pytest.mark.parametrize("alerts", ["alerts.csv", "alerts.parquet"])
def test_the_users_text_is_explained_without_spark(events: str, alerts: str) -> None:
    done = explain(alerts, "--events", events, "--key", "ad=7", "--subscription", "1")
    assert done.exit_code == 0, done.output
    assert done.stdout == (
        "subscription 1 matches the event with ad = 7\n"
        "yes: price < 900 AND city = 'Rome'\n"
        "  yes: price < 900    (price is 899.5)\n"
        "  yes: city = 'Rome'    (city is 'Rome')\n"
    )
    assert done.stderr.startswith("next: covey preview ")
    done = explain(alerts, "--events", events, "--row", "1", "--subscription", "1", "-q")
    assert done.stdout.startswith("subscription 1 does not match the event with row 1\nunknown: ")
    assert done.stderr == ""


@pytest.mark.usefixtures("folder", "without_spark")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--subscription", "9"], "alerts.csv has no subscription 9"),
        (["--subscription", "1", "--row", "2"], "ads.parquet has no event with row 2"),
        (["--subscription", "1", "--key", "ad=9"], "ads.parquet has no event with ad = 9"),
        (["--subscription", "1", "--key", "no=9"], "the events at ads.parquet have no column 'no'"),
        (
            ["--subscription", "1", "--id", "no"],
            "alerts.csv have no column 'no'",
        ),
    ],
)
def test_a_row_that_does_not_exist_is_refused(words: list[str], message: str) -> None:
    done = explain("alerts.csv", "--events", "ads.parquet", *words)
    assert done.exit_code == 2
    assert message in done.stderr


@pytest.mark.integration
@pytest.mark.parametrize(
    ("events", "subscription", "shown"),
    [
        ("ads.parquet", "2", "yes: lower(city) = 'rome'"),
        ("ads.csv", "3", "no: at > '2024-05-02'"),
        ("ads.jsonl", "3", "no: at > '2024-05-02'"),
    ],
)
def test_spark_computes_what_it_alone_can(
    session: Any, folder: Path, events: str, subscription: str, shown: str
) -> None:
    done = explain(
        "alerts.csv", "--events", events, "--key", "ad=7", "--subscription", subscription
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[1].startswith(shown)


@pytest.mark.integration
def test_a_saved_model_is_explained_without_spark(
    session: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from covey.cli.session import SessionLauncher
    from covey.spark import Matcher

    events = session.read.parquet(f"file://{folder}/ads.parquet")
    alerts = session.createDataFrame(
        [(1, "price < 900 AND city = 'Rome'"), (2, "price > 5 OR city = 'Oslo'")],
        "id INT, predicate STRING",
    )
    Matcher(eventSchema=events.schema).fit(alerts).save(f"file://{folder}/model")

    def start(_: SessionLauncher) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(SessionLauncher, "launch", start)
    done = explain("model", "--events", "ads.parquet", "--key", "ad=7", "--subscription", "1")
    assert done.exit_code == 0, done.output
    assert "  yes: price < 900.0D    (price is 899.5)" in done.stdout
    done = explain("model", "--events", "ads.parquet", "--row", "1", "--subscription", "2")
    assert done.stdout.startswith("subscription 2 matches the event with row 1\n")
    done = explain("model", "--events", "ads.parquet", "--subscription", "x")
    assert "model has no subscription x" in done.stderr
