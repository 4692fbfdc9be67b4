"""Processes of a benchmark: started, told to end, killed, always by their ids.

A pipeline is a Python driver, its JVM, and Python workers below that. The JVM outlives a killed
driver, and workers are in a group of their own, so a family is remembered as long as it is found.
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
_SECONDS = 60.0  # that a process may take to end


@dataclass(slots=True)
class Process:
    """A command with its log; started again, it appends to that."""

    words: list[str]
    log: Path
    _child: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _family: set[tuple[int, str]] = field(default_factory=set, init=False)

    @property
    def pid(self) -> int:
        """Of the driver, or -1."""
        return self._child.pid if self._child is not None else -1

    @property
    def is_running(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def start(self) -> None:
        """Starts it, with the benchmarks and covey where it finds them."""
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
        """Raises if it ended by itself."""
        if not self.is_running:
            raise RuntimeError(f"{' '.join(self.words[:4])} ended:\n{self.said()[-4000:]}")

    def said(self) -> str:
        """All of its log."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def family(self) -> set[int]:
        """It and all that descends from it now."""
        return {self.pid, *descendants(self.pid)} if self.is_running else set()

    def stop(self) -> None:
        """Asks it to end, and sees to it that all of its family do."""
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
        """Ends the driver at once, and leaves its JVM to find out."""
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
    """A process for as long as it is needed."""
    process = Process(words, log)
    process.start()
    try:
        yield process
    finally:
        process.stop()


def _end(family: set[tuple[int, str]]) -> None:
    """Waits a little for these, and kills what is left."""
    until = time.monotonic() + 10.0
    while left := {pid for pid, started in family if started and _started(pid) == started}:
        if time.monotonic() > until:
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        time.sleep(0.1)


def _started(pid: int) -> str:
    """When it was, in ticks since boot, which tells it from a later one of the same id."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]
