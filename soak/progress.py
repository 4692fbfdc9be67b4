"""Progress of a run, printed every ten seconds, with the estimated remaining time."""

from __future__ import annotations

import sys
import threading
import time
from dataclasses import dataclass, field
from types import TracebackType

from soak.kills import Kills
from soak.names import EVENTS, JOURNAL

__all__ = ["Progress"]

_EVERY_S = 10


@dataclass(slots=True)
class Progress:
    """The progress of a run, read by a separate thread because the run often waits."""

    kills: Kills
    longest_gap_s: float = 0.0  # longest time between two batch decisions
    events: int = 0
    changes: int = 0
    _read: int = 0
    _started: float = field(default_factory=time.monotonic)
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread = field(init=False)

    def __enter__(self) -> Progress:
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    @property
    def is_enough(self) -> bool:
        """Whether the requested numbers of events, changes and kills are reached."""
        return self._share() >= 1

    def update(self) -> None:
        """Read the new lines of the journal."""
        file = self.kills.scene.asked.folder / JOURNAL
        if file.exists():
            with file.open("rb") as journal:
                journal.seek(self._read)
                text = journal.read()
            text = text[: text.rfind(b"\n") + 1]
            self._read += len(text)
            name = f'"topic": "{EVENTS}"'.encode()
            event_count = text.count(name)
            self.events += event_count - text.count(b'"aborted"')
            self.changes += text.count(b'"topic"') - event_count

    def _watch(self) -> None:
        state, seconds, newest_s = self.kills.scene.state, 0, time.time()
        while not self._over.wait(1.0):
            seconds += 1
            self.update()
            now_s = max(state.newest_s, newest_s)
            self.longest_gap_s = max(self.longest_gap_s, now_s - newest_s)
            newest_s = now_s
            if seconds % _EVERY_S == 0:
                print(self._line(), file=sys.stderr, flush=True)

    def _line(self) -> str:
        elapsed, share = time.monotonic() - self._started, self._share()
        remaining = f"{elapsed / share * (1 - share):.0f} s left" if 0 < share < 1 else "…"
        asked, killed = self.kills.scene.asked, self.kills.counts.total()
        return (
            f"{self.events}/{asked.events} events, {self.changes}/{asked.changes} changes, "
            f"{killed}/{asked.kills} kills, {self.kills.scene.state.batches} batches, "
            f"{elapsed:.0f} s, {remaining if share < 1 else 'draining'}"
        )

    def _share(self) -> float:
        """Return the smallest share of the requested events, changes and kills that is reached."""
        asked = self.kills.scene.asked
        counts = (self.events, self.changes, self.kills.counts.total())
        requested = (asked.events, asked.changes, asked.kills)
        return min(n / total if total else 1.0 for n, total in zip(counts, requested, strict=True))
