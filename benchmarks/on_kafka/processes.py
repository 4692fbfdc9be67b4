"""Processes of a benchmark, which are started, ended and killed by their ids.

A pipeline consists of a Python driver, its JVM, and Python workers below the JVM. The JVM outlives
a killed driver, and workers have a separate process group. Therefore the ids of all descendants are
recorded while they are known.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.on_spark.processes import descendants

__all__ = ["Process", "running"]

_ROOT = Path(__file__).parent.parent.parent
_SECONDS = 60.0  # limit for a process to end after SIGTERM


@dataclass(slots=True)
class Process:
    """A process with a log file, to which every start appends."""

    words: list[str]
    log: Path
    _child: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _family: set[tuple[int, str]] = field(default_factory=set, init=False)

    @property
    def pid(self) -> int:
        """Id of the driver, or -1."""
        return self._child.pid if self._child is not None else -1

    @property
    def is_running(self) -> bool:
        """Whether the driver is running."""
        return self._child is not None and self._child.poll() is None

    def start(self) -> None:
        """Start the process with the benchmarks and covey on its Python path."""
        paths = [str(_ROOT / "src"), str(_ROOT), os.environ.get("PYTHONPATH", "")]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
        }
        with self.log.open("ab") as log:
            self._child = subprocess.Popen(
                self.words, cwd=self.log.parent, env=environment, stdout=log, stderr=log
            )

    def check(self) -> None:
        """Raise RuntimeError with the end of the log if the process is not running."""
        if not self.is_running:
            raise RuntimeError(f"{' '.join(self.words[:4])} has ended:\n{self.said()[-4000:]}")

    def said(self) -> str:
        """Return the whole log."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def family(self) -> set[int]:
        """Return the ids of the driver and its present descendants; empty if it is not running."""
        return {self.pid, *descendants(self.pid)} if self.is_running else set()

    def stop(self) -> None:
        """Send SIGTERM to the driver, and make sure that all descendants end too."""
        self._remember()
        if self._child is not None:
            if self.is_running:
                self._child.send_signal(signal.SIGTERM)
                with suppress(subprocess.TimeoutExpired):
                    self._child.wait(_SECONDS)
            self.kill()
        _end(self._family)
        self._family.clear()

    def kill(self) -> None:
        """Kill the driver; its JVM ends when it notices."""
        self._remember()
        if self._child is not None:
            with suppress(ProcessLookupError):
                self._child.kill()
            self._child.wait()
            self._child = None

    def _remember(self) -> None:
        self._family |= {(pid, _started(pid)) for pid in self.family()}


@contextmanager
def running(words: list[str], log: Path) -> Iterator[Process]:
    """Start a process, yield it, and end it with the block."""
    process = Process(words, log)
    process.start()
    try:
        yield process
    finally:
        process.stop()


def _end(family: set[tuple[int, str]]) -> None:
    """Wait ten seconds for processes to end, then kill those that are still running."""
    until = time.monotonic() + 10.0
    while running_pids := {pid for pid, start in family if start and _started(pid) == start}:
        if time.monotonic() > until:
            for pid in running_pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        time.sleep(0.1)


def _started(pid: int) -> str:
    """Return the start of a process in ticks since boot, or "" if it has ended.

    The start distinguishes a process from a later one with the same id.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]
