"""A line every ten seconds: how far a run is, and how long it will still take."""

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
    """Watches a run from a thread of its own, because the run waits for this and that."""

    kills: Kills
    longest_gap_s: float = 0.0  # without a batch that was put on record
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
        """Whether as much was acknowledged and killed as asked."""
        return self._share() >= 1

    def update(self) -> None:
        """Reads what was added to the journal."""
        file = self.kills.scene.asked.folder / JOURNAL
        if file.exists():
            with file.open("rb") as journal:
                journal.seek(self._read)
                text = journal.read()
            text = text[: text.rfind(b"\n") + 1]
            self._read += len(text)
            name = f'"topic": "{EVENTS}"'.encode()
            of_events = text.count(name)
            self.events += of_events - text.count(b'"aborted"')
            self.changes += text.count(b'"topic"') - of_events

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
        left = f"{elapsed / share * (1 - share):.0f} s left" if 0 < share < 1 else "…"
        asked, killed = self.kills.scene.asked, self.kills.counts.total()
        return (
            f"{self.events}/{asked.events} events, {self.changes}/{asked.changes} changes, "
            f"{killed}/{asked.kills} kills, {self.kills.scene.state.batches} batches, "
            f"{elapsed:.0f} s, {left if share < 1 else 'draining'}"
        )

    def _share(self) -> float:
        """How much of the least advanced of what was asked is done."""
        asked = self.kills.scene.asked
        done = (self.events, self.changes, self.kills.counts.total())
        wanted = (asked.events, asked.changes, asked.kills)
        return min(have / want if want else 1.0 for have, want in zip(done, wanted, strict=True))
