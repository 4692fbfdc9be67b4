"""The program as people start it: quiet, with a bar on a terminal, and its own Spark."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import write_tables

PROGRAM = [sys.executable, "-c", "from covey.cli import app; app()"]


@pytest.mark.integration
def test_a_terminal_shows_tasks_and_a_pipe_only_the_summary(tmp_path: Path) -> None:
    write_tables(tmp_path)
    words = ["match", "ticks.csv", "alerts.csv", "-o", "m.parquet", "--id", "alert"]
    ours, theirs = pty.openpty()
    started = subprocess.Popen(
        [*PROGRAM, *words, "--master", "local[2]"], cwd=tmp_path, stdout=subprocess.PIPE,
        stderr=theirs, env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
    )  # fmt: skip
    os.close(theirs)
    shown = _all_of(ours)
    said = (started.communicate()[0]).decode()
    assert started.returncode == 3, shown
    assert " tasks" in shown
    assert " of 60 events, " in shown
    assert "match and write" in shown
    assert "WARN" not in shown
    assert "log4j" not in shown
    assert said.startswith("events ")
    assert "tasks" not in said
    assert max(map(len, said.splitlines())) <= 80
    assert {path.name for path in tmp_path.iterdir()} == {
        "ticks.parquet", "ticks.csv", "ticks.jsonl", "alerts.parquet", "alerts.csv",
        "alerts.jsonl", "m.parquet",
    }  # fmt: skip


@pytest.mark.integration
def test_nothing_but_the_summary_where_there_is_no_terminal(tmp_path: Path) -> None:
    write_tables(tmp_path)
    words = ["preview", "price > 20", "ticks.csv", "--master", "local[1]", "--quiet"]
    done = subprocess.run([*PROGRAM, *words], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("20 of 60 events match (33.3%)")


@pytest.mark.integration
def test_it_can_be_interrupted(tmp_path: Path) -> None:
    write_tables(tmp_path)
    ours, theirs = pty.openpty()
    words = ["match", "ticks.csv", "alerts.csv", "-o", "m.csv", "--id", "alert"]
    started = subprocess.Popen(
        [*PROGRAM, *words, "--master", "local[1]"],
        cwd=tmp_path, stderr=theirs, env={**os.environ, "TERM": "xterm"},
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    while b"fit" not in shown:
        shown += os.read(ours, 65536)
    started.send_signal(signal.SIGINT)
    last = _all_of(ours)
    assert started.wait() == 130
    assert "covey: stopped" in last
    assert "Traceback" not in last
    assert not (tmp_path / "m.csv").exists()


@pytest.mark.integration
def test_without_java_it_says_so(tmp_path: Path) -> None:
    write_tables(tmp_path)
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("bash", "dirname", "readlink", "ls", "env", "cat", "ps", "hostname"):
        (tools / name).symlink_to(f"/bin/{name}" if Path(f"/bin/{name}").exists() else "/usr/bin")
    env = {k: v for k, v in os.environ.items() if k not in ("JAVA_HOME", "PATH")}
    done = subprocess.run(
        [*PROGRAM, "preview", "price > 20", "ticks.csv"],
        cwd=tmp_path, capture_output=True, text=True, env={**env, "PATH": str(tools)},
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("covey: Spark did not start (")
    assert "Java 17" in done.stderr
    assert done.stderr.count("\n") == 1


def _all_of(terminal: int) -> str:
    """Return the text that is written to a terminal until it is closed."""
    parts = []
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # Linux says so when the last writer is gone
            part = b""
        if not part:
            os.close(terminal)
            return b"".join(parts).decode(errors="replace")
        parts.append(part)
