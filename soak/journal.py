"""What was acknowledged to the producers, a line each, written after the acknowledgement.

A producer that was killed may have delivered more than it wrote, never less. Started again, it
takes up the revisions from here, with a jump over those that it may have delivered unwritten.
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

_JUMP = 1000  # more changes of one subscription than can be on their way
_RECENT = 500  # subscriptions, which are changed within a minute


class Journal:
    """Appends lines; a line that a killed writer did not end is ended first."""

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
        """One acknowledged record."""
        said = {"topic": topic, "partition": partition, "offset": offset, **more}
        self._lines.append(json.dumps(said))

    def flush(self) -> None:
        """Gives all lines to the system, which keeps them when this process is killed."""
        rest = "\n".join([*self._lines, ""]).encode() if self._lines else b""
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]
        self._lines.clear()


@dataclass(slots=True)
class Past:
    """How much was acknowledged, and where subscriptions are: read from a journal, then kept up."""

    events: int = 0
    changes: int = 0
    live: dict[str, None] = field(default_factory=dict)
    cancelled: dict[str, None] = field(default_factory=dict)
    recent: dict[str, None] = field(default_factory=dict)  # changed last, the latest at the end
    revisions: dict[str, int] = field(default_factory=dict)
    _jump: int = 0
    _jumped: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, file: Path) -> Past:
        """The past in a journal, which may not be there yet."""
        past = cls()
        for said in lines(file) if file.exists() else ():
            if said["topic"] == EVENTS:
                past.events += "aborted" not in said
            elif said["topic"] == ALERTS:
                past.changes += 1
                past.mark(said["subscription"], said["revision"], said["live"])
        past._jump, past._jumped = _JUMP if file.exists() else 0, set()
        return past

    def next_revision(self, id_: str) -> int:
        """A revision that is above all that were ever sent."""
        return self.revisions.get(id_, 0) + 1 + (0 if id_ in self._jumped else self._jump)

    def mark(self, id_: str, revision: int, live: bool) -> None:
        """A subscription was put or cancelled, and this is its highest revision."""
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
