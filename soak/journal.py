"""The journal of the producers, which has one line for each acknowledged record.

A killed producer may have delivered more records than it wrote to the journal, never fewer. After a
restart, it continues with the revisions of the journal, and skips revisions that it may have
delivered without an entry.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from soak.logs import lines
from soak.names import ALERTS, EVENTS

__all__ = ["Journal", "Past"]

_JUMP = 1000  # skipped revisions: more than the changes of one subscription that can be in flight
_RECENT = 500  # number of recently changed subscriptions: those of about a minute


class Journal:
    """A journal to which lines are appended; a partial line of a killed writer is ended first."""

    def __init__(self, file: Path) -> None:
        self._descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        self._lines: list[str] = [""]

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.flush()
        os.close(self._descriptor)

    def note(self, topic: str, partition: int, offset: int, **more: object) -> None:
        """Add an acknowledged record with further fields."""
        entry = {"topic": topic, "partition": partition, "offset": offset, **more}
        self._lines.append(json.dumps(entry))

    def flush(self) -> None:
        """Write all lines to the operating system, so that they survive a kill of this process."""
        unwritten = "\n".join([*self._lines, ""]).encode() if self._lines else b""
        while unwritten:
            unwritten = unwritten[os.write(self._descriptor, unwritten) :]
        self._lines.clear()


@dataclass(slots=True)
class Past:
    """The numbers of acknowledged records and the state of subscriptions.

    They are read from a journal, and updated by the producers.
    """

    events: int = 0
    changes: int = 0
    live: dict[str, None] = field(default_factory=dict)
    cancelled: dict[str, None] = field(default_factory=dict)
    recent: dict[str, None] = field(default_factory=dict)  # in the order of their last change
    revisions: dict[str, int] = field(default_factory=dict)
    _jump: int = 0
    _jumped: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, file: Path) -> Past:
        """Return the past of a journal, whose file need not exist."""
        past = cls()
        for entry in lines(file) if file.exists() else ():
            if entry["topic"] == EVENTS:
                past.events += "aborted" not in entry
            elif entry["topic"] == ALERTS:
                past.changes += 1
                past.mark(entry["subscription"], entry["revision"], entry["live"])
        past._jump, past._jumped = _JUMP if file.exists() else 0, set()
        return past

    def next_revision(self, id_: str) -> int:
        """Return a revision above all revisions of the subscription that were sent."""
        return self.revisions.get(id_, 0) + 1 + (0 if id_ in self._jumped else self._jump)

    def mark(self, id_: str, revision: int, live: bool) -> None:
        """Record that a subscription was changed or cancelled, with its highest revision."""
        if revision > self.revisions.get(id_, 0) or live != (id_ in self.live):
            self.recent.pop(id_, None)
            self.recent[id_] = None
            if len(self.recent) > _RECENT:
                self.recent.pop(next(iter(self.recent)))
        if revision > self.revisions.get(id_, 0):
            self.revisions[id_] = revision
            self._jumped.add(id_)
        (self.cancelled if live else self.live).pop(id_, None)
        (self.live if live else self.cancelled)[id_] = None
