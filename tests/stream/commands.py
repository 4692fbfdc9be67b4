"""A process with one Spark session that runs command lines of covey, one after another.

The start of Spark takes longer than most commands. `Commands` is the side of the tests. Run as a
program, this file is the other side: it reads a line of JSON for each command and prints a line
when the command has ended. A stream runs in the process until it gets SIGTERM, and can be started
again.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import traceback
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Commands", "Outcome", "die_with_parent"]

_END_S = 20.0  # time in which a process without a command must end


@dataclass(frozen=True, slots=True)
class Outcome:
    """Output and exit code of a command."""

    code: int
    out: str
    err: str


class Commands:
    """The side of the tests: the process is started by the first command.

    Args:
        folder: the working directory of commands that name no other.
        jars: the jars for Spark.
        conf: further settings of Spark.
    """

    def __init__(self, folder: Path, jars: list[Path], conf: dict[str, str]) -> None:
        settings = [f"{key}={value}" for key, value in conf.items()]
        self._words = [sys.executable, __file__, ",".join(map(str, jars)), *settings]
        self._folder = folder
        self._process: subprocess.Popen[str] | None = None

    def run(self, *words: object, seconds: float) -> Outcome:
        """Run a command and return its outcome; fail if it ends with a traceback."""
        self.start(words, self._folder)
        outcome = self.outcome(seconds)
        if outcome is None:
            self.close()  # otherwise its answer would be read as that of the next command
        assert outcome is not None, f"{words} did not end"
        return outcome

    def start(self, words: Sequence[object], folder: Path, log: Path | None = None) -> None:
        """Start a command without waiting; with a log, its output is written to that file."""
        if self._process is not None and self._process.poll() is not None:
            self.close()
        if self._process is None:
            self._process = subprocess.Popen(
                self._words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                preexec_fn=die_with_parent,
            )  # fmt: skip
        command = {"words": list(map(str, words)), "folder": str(folder), "log": log and str(log)}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()

    def outcome(self, seconds: float) -> Outcome | None:
        """Return the outcome of the running command, or None if it has not ended."""
        assert self._process is not None
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], seconds)
        if not ready:
            return None
        line = self._process.stdout.readline()
        assert line, f"the process of commands ended with {self._process.wait()}"
        answer: dict[str, Any] = json.loads(line)
        raised = answer.pop("raised")
        assert raised is None, f"{raised}\n{answer}"
        return Outcome(**answer)

    def terminate(self) -> None:
        """Ask the running stream to end."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)

    def close(self) -> None:
        """End the process, and with it that of Spark.

        A process that runs no command ends by itself when its input ends, and saves its coverage.
        """
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            try:
                self._process.wait(_END_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None


def die_with_parent() -> None:
    """Make the calling process end with the tests, even if these are killed."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def serve(jars: str, *conf: str) -> None:
    """Run commands until the input ends."""
    from covey.cli.session import SessionLauncher
    from covey.stream.spark_defaults import SPARK_DEFAULTS

    default_conf = [f"{key}={value}" for key, value in SPARK_DEFAULTS.items()]
    with SessionLauncher.from_options(
        "local[2,4]", [*default_conf, *conf], jars, needs_delta=True
    ).launch():
        for line in sys.stdin:
            command = json.loads(line)
            os.chdir(command["folder"])
            answer = _run(command["words"], command["log"])
            print(json.dumps(answer), flush=True)


def _run(words: list[str], log: str | None) -> dict[str, Any]:
    from typer.testing import CliRunner

    from covey.cli import app

    if log is None:
        done = CliRunner().invoke(app, words)
        problem = done.exception
        raised = None if problem is None or isinstance(problem, SystemExit) else repr(problem)
        return {"code": done.exit_code, "out": done.stdout, "err": done.stderr, "raised": raised}
    code, raised = 0, None
    with open(log, "a", buffering=1) as file, redirect_stdout(file), redirect_stderr(file):
        try:
            app(words)
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 0
        except Exception as problem:
            traceback.print_exc()
            raised = repr(problem)
    return {"code": code, "out": "", "err": "", "raised": raised}


if __name__ == "__main__":
    serve(*sys.argv[1:])
