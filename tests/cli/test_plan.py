"""`covey plan`: plans from files, in a table, a picture and a folder."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from covey.cli import app
from covey.plan import SavedPlan

COLUMNS = ("--position", "a,b", "--lower", "x1,y1", "--upper", "x2,y2", "--publisher", "0,0")


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    random = np.random.default_rng(1)
    at, low = random.normal(0, 50, (400, 2)), random.uniform(0, 90, (400, 2))
    high = low + random.uniform(1, 10, (400, 2))
    columns = np.hstack([at, low, high]).T
    names = ("a", "b", "x1", "y1", "x2", "y2")
    pq.write_table(pa.table(dict(zip(names, columns, strict=True))), tmp_path / "people.parquet")
    places = random.normal(0, 50, (6, 2)).T
    table = pa.table({"a": places[0], "b": places[1], "parent": [None, 0, 0, None, 3, 3]})
    pyarrow.csv.write_csv(table, tmp_path / "brokers.csv")
    return str(tmp_path / "people.parquet"), str(tmp_path / "brokers.csv")


def run(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["plan", *words])
    return done.exit_code, done.output


LOOSE = ("--max-delay", "3", "--load", "2", "--most-load", "3", "--steps", "50")


def test_ways_are_compared(files: tuple[str, str], tmp_path: Path) -> None:
    picture = tmp_path / "plans.png"
    code, said = run("compare", *files, *COLUMNS, *LOOSE, "--picture", str(picture))
    assert code == 0, said
    rows = {line.split()[0]: line.split() for line in said.splitlines() if line.strip()}
    widths = {name: float(rows[name][1].replace(",", "")) for name in ("search", "Gr*", "closest")}
    assert widths["search"] <= widths["Gr*"] < widths["closest"]
    assert float(rows["search"][2]) >= 1
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_plan_is_made_from_events(files: tuple[str, str], tmp_path: Path) -> None:
    events = np.random.default_rng(2).uniform(0, 100, (500, 2))
    pq.write_table(pa.table({"x": events[:, 0], "y": events[:, 1]}), tmp_path / "events.parquet")
    where = tmp_path / "plan"
    more = ("-o", str(where), "--attributes", "x,y", "--events", str(tmp_path / "events.parquet"))
    code, said = run("make", *files, *COLUMNS, *LOOSE, *more)
    assert code == 0, said
    found = SavedPlan.load(where)
    assert found.is_event_share
    assert found.bandwidth_by_broker.max() <= 1
    assert found.tree.parents.tolist() == [-1, 0, 0, -1, 3, 3]
    assert len(pq.read_table(where / "assignment.parquet")) == 400


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (("--position", "a,c"), "has no column c: its columns are a, b"),
        (("--publisher", "0"), "2 finite numbers, one for each"),
        (("--publisher", "here"), "must be numbers, separated by commas"),
        (("--upper", "x2"), "must name the same number of columns"),
        (("--alpha", "9"), "max_rectangles must be from 1 to 6, got 9"),
    ],
)
def test_wrong_words_are_told(
    files: tuple[str, str], changed: tuple[str, str], message: str
) -> None:
    code, said = run("compare", *files, *COLUMNS, *changed)
    assert code == 2
    assert message in " ".join(said.split())


def test_events_are_read_by_name(files: tuple[str, str], tmp_path: Path) -> None:
    events = np.random.default_rng(2).beta(2, 4, (500, 2)) * 100
    path = tmp_path / "events.parquet"
    columns = {"at": np.arange(500), "y": events[:, 1], "x": events[:, 0]}
    pq.write_table(pa.table(columns), path)
    code, said = run("compare", *files, *COLUMNS, *LOOSE, "--events", str(path))
    assert code == 2
    assert "has the columns at, y, x: name 2 of them with" in " ".join(said.split())
    more = ("--attributes", "x,y", "-o", str(tmp_path / "plan"), "--events", str(path))
    assert run("make", *files, *COLUMNS, *LOOSE, *more)[0] == 0
    found = SavedPlan.load(tmp_path / "plan")
    assert found.bandwidth_by_broker == pytest.approx(found.filters.compute_bandwidth(events))


def test_a_plan_that_breaks_limits_is_not_written(files: tuple[str, str], tmp_path: Path) -> None:
    more = ("--attributes", "x,y", "-o", str(tmp_path / "plan"), "--max-delay", "0", "--steps", "5")
    code, said = run("make", *files, *COLUMNS, *more)
    assert code == 1
    assert "subscribers are too far from their broker" in " ".join(said.split())
    assert not (tmp_path / "plan").exists()


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("parent", ["root", "B1"], "column parent must be the row number of the broker above"),
        ("parent", [None, 0.5], "column parent must be the row number of the broker above"),
        ("b", [1.0, float("inf")], "column b must contain finite numbers, but is inf in row 1"),
        ("b", [1.0, None], "numbers, but is empty in row 1"),
        ("b", [True, False], "column b must contain numbers, but has type bool"),
        ("b", [[1.0], [2.0]], "must contain numbers, but has type list"),
    ],
)
def test_wrong_brokers_are_told(
    files: tuple[str, str], tmp_path: Path, column: str, values: list[object], message: str
) -> None:
    table = pa.table({"a": [0.0, 1.0], "b": [0.0, 1.0], "parent": pa.array([None, 0], pa.int64())})
    number = table.column_names.index(column)
    path = tmp_path / "wrong.parquet"
    pq.write_table(table.set_column(number, column, pa.array(values)), path)
    code, said = run("compare", files[0], str(path), *COLUMNS)
    assert code == 2
    assert message in " ".join(said.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("compare", "--picture", "no/such/place.png"), "must be a file in an existing"),
        (("compare", "--picture", "plans.svg"), "must end in .png"),
        (("make", "-o", ".", "--attributes", "x,y"), ". exists already: choose another folder"),
        (("make", "-o", "plan", "--attributes", "x,"), "2 different names"),
        (("make", "-o", "plan", "--attributes", "x,y", "--seed", "-3"), "--seed"),
    ],
)
def test_what_cannot_be_written_is_told_first(
    files: tuple[str, str], words: tuple[str, ...], message: str
) -> None:
    code, said = run(words[0], *files, *COLUMNS, *words[1:])
    assert code == 2
    assert message in " ".join(said.split())


def test_files_that_are_none_are_told(files: tuple[str, str], tmp_path: Path) -> None:
    code, said = run("compare", str(tmp_path / "nobody"), files[1], *COLUMNS)
    assert code == 2
    assert "does not exist" in " ".join(said.split())
    (tmp_path / "text").write_text("no table")
    code, said = run("compare", str(tmp_path / "text"), files[1], *COLUMNS)
    assert code == 2
    assert "cannot be read as " in " ".join(said.split())


def test_headings_of_a_comparison_are_words(files: tuple[str, str], tmp_path: Path) -> None:
    picture = str(tmp_path / "plans.png")
    code, said = run("compare", *files, *COLUMNS, *LOOSE, "--picture", picture, "--quiet")
    assert code == 0, said
    words = " ".join(said.split())
    assert "…" not in words
    for word in ("bandwidth", "lower", "delay", "highest", "capacity", "violations"):
        assert word in words.partition("search")[0]
    assert "too far, over capacity: subscribers that violate --max-delay, --most-load" in words


@pytest.mark.parametrize("command", ["compare", "make"])
def test_a_missing_extra_is_named_before_anything_is_computed(
    files: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    def compute(*_: object) -> None:
        raise AssertionError("a plan was computed")

    monkeypatch.setattr("covey.plan.greedy", compute)
    monkeypatch.setitem(sys.modules, "highspy", None)
    more = ("-o", str(tmp_path / "plan"), "--attributes", "x,y") if command == "make" else ()
    code, said = run(command, *files, *COLUMNS, *more)
    assert code == 2
    assert "command needs highspy, which is not installed: pip install 'covey[plan]'" in said
