"""Command line of the benchmarks: printed tables, JSON, stored results and progress."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

import benchmarks
from benchmarks import harness
from benchmarks.__main__ import main

ROOT = Path(__file__).parent.parent
SAMPLE = '''"""A sample of two keys.

More about it.
"""

KEYS = {"sum": "of the first numbers", "word": "that never changes"}


def run(only, full):
    return {"sum": 4950 if full else 45, "word": "covey"}
'''


@pytest.fixture
def sample(tmp_path, monkeypatch):
    """Yield the name of a sample benchmark in a package that also holds a helper module."""
    (tmp_path / "two_keys.py").write_text(SAMPLE)
    (tmp_path / "helper.py").write_text("raise RuntimeError('a list must not import')\n")
    monkeypatch.setattr(benchmarks, "__path__", [*benchmarks.__path__, str(tmp_path)])
    yield "two-keys"
    sys.modules.pop("benchmarks.two_keys", None)


def test_an_unknown_name_prints_one_line_and_exits_with_2():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "no-such-thing"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "no-such-thing" in done.stderr


def test_an_unknown_key_lists_the_valid_keys(sample, capsys):
    assert main([sample, "--only", "sum", "product"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == "unknown key of two-keys: product (valid: sum, word)\n"


def test_a_call_without_a_name_lists_benchmarks_but_not_helpers(sample, capsys):
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(maxsplit=1)[1] for line in lines if line.startswith(f"{sample} ")] == [
        "A sample of two keys."
    ]
    assert not any(line.startswith(("helper", "harness")) for line in lines)


def test_a_run_prints_a_table_and_json_on_the_last_line(sample, capsys, tmp_path):
    assert main([sample], results=tmp_path / "results") == 0
    *table, last = capsys.readouterr().out.splitlines()
    assert table == ["sum      45  of the first numbers", "word  covey  that never changes"]
    assert json.loads(last) == {"sum": 45, "word": "covey"}
    assert not (tmp_path / "results").exists()


def test_only_measures_the_requested_keys(sample, capsys):
    assert main([sample, "--only", "word"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {"word": "covey"}


def test_a_full_run_is_stored_with_its_commit_and_date(sample, tmp_path):
    assert main([sample, "--full"], results=tmp_path) == 0
    record = json.loads((tmp_path / "two-keys.json").read_text())
    assert record["results"] == {"sum": 4950, "word": "covey"}
    assert record.keys() == {"name", "commit", "dirty", "date", "results"}


def test_a_full_run_of_few_keys_does_not_replace_a_complete_one(sample, tmp_path):
    main([sample, "--full"], results=tmp_path)
    whole = (tmp_path / "two-keys.json").read_text()
    main([sample, "--full", "--only", "sum"], results=tmp_path)
    assert (tmp_path / "two-keys.json").read_text() == whole


def test_an_undeclared_result_is_refused(tmp_path):
    class Undeclared:
        KEYS = {"known": "declared"}  # noqa: RUF012

        def run(self, only, full):
            return {"known": 1, "surprise": 2}

    with pytest.raises(RuntimeError, match="surprise"):
        harness.measure("odd", Undeclared(), frozenset({"known"}), full=False, results=tmp_path)


def test_interleaved_alternates_functions_and_returns_medians(monkeypatch):
    clock = iter([0, 1, 10, 15, 20, 90, 100, 103, 200, 202, 300, 307])
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    order = []
    medians = harness.interleaved(
        3, first=lambda: order.append("first"), second=lambda: order.append("second")
    )
    assert order == ["first", "second", "second", "first", "first", "second"]
    assert medians == {"first": 2, "second": 7}  # of 1, 3, 2 and of 5, 70, 7


def test_progress_prints_the_remaining_time_to_stderr(monkeypatch, capsys):
    clock = iter([0.0, 10.0, 40.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    for done in (0, 1, 4):
        harness.progress(done, 4, "matching")
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines() == [
        "matching: 0/4, …",
        "matching: 1/4, 30 s left",
        "matching: 4/4, took 40.0 s",
    ]
