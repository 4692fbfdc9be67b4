"""`covey preview`: counts, periods and rows are those of Spark's `where`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.integration

PREDICATE = "symbol = 'ACME' AND price > 12"


def test_counts_and_days_are_those_of_where(covey: Any, ticks: Any) -> None:
    done = covey("preview", PREDICATE, "ticks.parquet")
    assert done.exit_code == 0, done.output
    kept = ticks.where(PREDICATE)
    count = kept.count()
    assert done.stdout.startswith(f"{count} of 60 events match ({100 * count / 60:.1f}%)")
    assert "from 2024-05-01 00:30:05 to 2024-05-03 23:30:05" in done.stdout
    by_day = dict(kept.selectExpr("string(date(at)) AS day").groupBy("day").count().collect())
    said = re.findall(r"^(2024-05-0\d) +(\d+) +(\d+) +", done.stdout, re.MULTILINE)
    assert said == [
        (day, "20", str(by_day.get(day, 0))) for day in ("2024-05-01", "2024-05-02", "2024-05-03")
    ]


def test_rows_are_shown_with_what_the_predicate_names_first(covey: Any, ticks: Any) -> None:
    done = covey("preview", PREDICATE, "ticks.parquet", "--rows", "3")
    lines = [line.split() for line in done.stdout.splitlines()]
    header = lines.index(["symbol", "price", "at", "n", "venue"])
    shown = {(row[0], float(row[1]), int(row[4])) for row in lines[header + 1 : header + 4]}
    kept = {(r["symbol"], r["price"], r["n"]) for r in ticks.where(PREDICATE).collect()}
    assert len(shown) == 3
    assert shown <= kept
    assert "3 of the matches" in done.stdout


def test_a_narrow_terminal_gets_fewer_columns(covey: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    done = covey("preview", PREDICATE, "ticks.parquet", "--rows", "1")
    assert max(map(len, done.stdout.splitlines())) <= 40
    assert re.search(r"without \d more\s+columns", done.stdout)


def test_many_days_become_months(covey: Any, session: Any) -> None:
    days = session.range(100).selectExpr("id", "date_add(DATE '2024-01-01', int(id)) AS day")
    days.write.parquet(f"file://{Path.cwd()}/days.parquet")
    done = covey("preview", "id % 2 = 0", "days.parquet", "--time", "day")
    said = re.findall(r"^(\d{4}-\d\d) +(\d+) +(\d+) ", done.stdout, re.MULTILINE)
    assert said == [
        ("2024-01", "31", "16"), ("2024-02", "29", "14"), ("2024-03", "31", "16"),
        ("2024-04", "9", "4"),
    ]  # fmt: skip


def test_a_predicate_that_can_never_match_is_called_so(covey: Any) -> None:
    done = covey("preview", "price > 5 AND price < 5", "ticks.csv")
    assert done.exit_code == 0
    assert done.stdout.startswith("0 of 60 events match (0%)\nno event can ever match")
    assert "can ever match" not in covey("preview", "price < -5", "ticks.csv").stdout


def test_functions_that_only_spark_knows_are_taken(covey: Any) -> None:
    done = covey("preview", "md5(symbol) <> 'x' AND price > 5 AND price < 5", "ticks.csv")
    assert done.exit_code == 0, done.stderr
    assert "no event can ever match" in done.stdout


def test_a_wrong_predicate_is_marked(covey: Any) -> None:
    done = covey("preview", "symbol = 'ACME' AND prise > 12", "ticks.parquet")
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr == (
        "covey: line 1, column 21: no column 'prise'; did you mean price?\n"
        "  symbol = 'ACME' AND prise > 12\n"
        "                      ^\n"
    )


def test_what_spark_raises_on_is_one_line(covey: Any) -> None:
    done = covey("preview", "10 / n > 1", "ticks.parquet")
    assert done.exit_code == 2
    assert done.stderr.startswith("covey: Spark failed: Division by zero")
    assert done.stderr.count("\n") == 1
