"""Processes of a run: started, killed, started again, and all gone at the end.

Reads /proc, so it runs on Linux only. A process is told apart by its number and the time it was
started: numbers are used again.
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
    """A process that was there when we looked."""

    number: int
    parent: int
    started: int
    words: str

    @property
    def is_running(self) -> bool:
        now = _seen(self.number)
        return now is not None and now.started == self.started

    def kill(self) -> bool:
        """Kills it, and says whether there was something to kill."""
        if not self.is_running:
            return False
        try:
            os.kill(self.number, signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True


@dataclass(slots=True)
class Child:
    """A process that is started again and again; what it says is appended to a file."""

    words: Sequence[str]
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    starts: int = 0
    _process: subprocess.Popen[bytes] | None = None
    _left: list[Seen] = field(default_factory=list)

    def start(self) -> None:
        """In a session of its own: an interrupt at the keyboard is not for it."""
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
        """The exit code, if it ended by itself since it was started."""
        return None if self._process is None else self._process.poll()

    def family(self) -> list[Seen]:
        """The processes that it started, and those that they started."""
        return [] if self._process is None else below(self._process.pid)

    def kill(self) -> None:
        """Kills this one process; what it started has to find out by itself."""
        if self._process is not None:
            self._left += self.family()
            self._process.kill()
            self._process.wait()

    def end(self, seconds: float) -> int | None:
        """Asks it to end, and kills it if it does not; its exit code, none if it was killed."""
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
        """Kills what it left behind and is still there after a while; says how many those were."""
        until = time.monotonic() + seconds
        while any(seen.is_running for seen in self._left) and time.monotonic() < until:
            time.sleep(0.1)
        killed = sum(seen.kill() for seen in self._left)
        while any(seen.is_running for seen in self._left):
            time.sleep(0.01)
        self._left.clear()
        return killed

    def said(self, size: int = 3000) -> str:
        """The end of what it said."""
        return self.log.read_text(errors="replace")[-size:]


def below(number: int) -> list[Seen]:
    """All processes whose parents, or parents' parents, lead to a process."""
    everyone = [
        seen
        for folder in Path("/proc").iterdir()
        if folder.name.isdigit() and (seen := _seen(int(folder.name))) is not None
    ]
    found: list[Seen] = []
    numbers = {number}
    while new := [seen for seen in everyone if seen.parent in numbers and seen not in found]:
        found += new
        numbers |= {seen.number for seen in new}
    return found


def _seen(number: int) -> Seen | None:
    """A process, unless it is gone or only waits for its parent to notice that."""
    try:
        status = Path(f"/proc/{number}/stat").read_text(errors="replace")
        words = Path(f"/proc/{number}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = status.rpartition(")")[2].split()  # the name before it may hold anything
    if fields[0] in ("Z", "X"):
        return None
    return Seen(number, int(fields[1]), int(fields[19]), words.replace(b"\0", b" ").decode())
