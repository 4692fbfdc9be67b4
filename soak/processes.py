"""Processes of a run: they are started, killed and restarted, and none is left at the end.

This module reads /proc, so it runs on Linux only. A process is identified by its id and its start
time, because ids are reused.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Child", "Seen", "below"]


@dataclass(frozen=True, slots=True)
class Seen:
    """A process that existed when /proc was read: `number` is its id, `words` its command line."""

    number: int
    parent: int
    started: int
    words: str

    @property
    def is_running(self) -> bool:
        """Whether the process is still running."""
        now = _seen(self.number)
        return now is not None and now.started == self.started

    def kill(self) -> bool:
        """Kill the process; return False if it had ended."""
        if not self.is_running:
            return False
        try:
            os.kill(self.number, signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True


@dataclass(slots=True)
class Child:
    """A process that may be started repeatedly; its output is appended to a log file."""

    words: Sequence[str]
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    starts: int = 0
    _process: subprocess.Popen[bytes] | None = None
    _left: list[Seen] = field(default_factory=list)

    def start(self) -> None:
        """Start the process in a new session, so that it gets no keyboard interrupt."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                list(self.words),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **self.environment},
                start_new_session=True,
            )
        self.starts += 1

    @property
    def code(self) -> int | None:
        """Exit code of the process, or None if it is running or was never started."""
        return None if self._process is None else self._process.poll()

    def family(self) -> list[Seen]:
        """Return the descendants of the process."""
        return [] if self._process is None else below(self._process.pid)

    def kill(self) -> None:
        """Kill this process only; its descendants must notice by themselves."""
        if self._process is not None:
            self._left += self.family()
            self._process.kill()
            self._process.wait()

    def end(self, seconds: float) -> int | None:
        """Send SIGTERM, and kill the process after some seconds.

        Returns:
            The exit code; None if the process had to be killed or was never started.
        """
        if self._process is None:
            return None
        self._left += self.family()
        self._process.terminate()
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            return None

    def clear(self, seconds: float) -> int:
        """Kill descendants that are still running after some seconds; return their number."""
        until = time.monotonic() + seconds
        while any(seen.is_running for seen in self._left) and time.monotonic() < until:
            time.sleep(0.1)
        killed = sum(seen.kill() for seen in self._left)
        while any(seen.is_running for seen in self._left):
            time.sleep(0.01)
        self._left.clear()
        return killed

    def said(self, size: int = 3000) -> str:
        """Return the last `size` characters of the log."""
        return self.log.read_text(errors="replace")[-size:]


def below(number: int) -> list[Seen]:
    """Return all descendants of a process."""
    processes = [
        process
        for folder in Path("/proc").iterdir()
        if folder.name.isdigit() and (process := _seen(int(folder.name))) is not None
    ]
    descendants: list[Seen] = []
    numbers = {number}
    while new := [p for p in processes if p.parent in numbers and p not in descendants]:
        descendants += new
        numbers |= {process.number for process in new}
    return descendants


def _seen(number: int) -> Seen | None:
    """Return the process of an id, or None if it has ended or is a zombie."""
    try:
        status = Path(f"/proc/{number}/stat").read_text(errors="replace")
        words = Path(f"/proc/{number}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = status.rpartition(")")[2].split()  # the name before it may contain any character
    if fields[0] in ("Z", "X"):
        return None
    return Seen(number, int(fields[1]), int(fields[19]), words.replace(b"\0", b" ").decode())
