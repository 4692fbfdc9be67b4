"""The logs of a run as arrays: events, changes, notifications, dead letters, and journals.

Events are rows in the order of their times, and subscriptions are numbers. A notification is one
integer, its code: event row · number of subscriptions + subscription number; and a hash of its
bytes.

Cost: a few microseconds and some hundred bytes per event; 16 bytes per notification.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from soak.rule import COLUMNS, Change, Floats, Ints
from soak.topics import Record

__all__ = ["EventLog", "Sent", "letters", "lines", "read_changes"]

_NOTIFICATION = re.compile(
    rb'\{"id":"([^"]+)","event":"([^"]+)","subscription":"([^"]+)","version":\d+\}'
)


@dataclass(frozen=True, slots=True)
class EventLog:
    """Committed events in the order of their times.

    `rows` has the row of each event by its id, and `columns` has one array per attribute.
    `malformed` has the ids of malformed events, which have no row.
    """

    rows: dict[str, int]
    times_ms: Ints
    columns: tuple[Floats, ...]
    malformed: frozenset[str]

    @classmethod
    def of(cls, topic: str, records: Iterable[Record]) -> EventLog:
        """Return the events of the records of a topic."""
        ids, times, values, malformed = [], array("q"), array("d"), set()
        for record in records:
            id_ = f"{topic}-{record.partition}-{record.offset}"
            try:
                event = json.loads(record.value or b"")
                values.extend([float(event[name]) for name in COLUMNS])
            except (ValueError, UnicodeDecodeError):
                malformed.add(id_)
            else:
                ids.append(id_)
                times.append(record.time_ms)
        order = np.argsort(np.array(times, np.int64), kind="stable")
        table = np.array(values, np.float64).reshape(-1, len(COLUMNS))[order]
        return cls(
            {ids[i]: row for row, i in enumerate(order.tolist())},
            np.array(times, np.int64)[order],
            tuple(np.ascontiguousarray(column) for column in table.T),
            frozenset(malformed),
        )


@dataclass(slots=True)
class Sent:
    """Notifications in the order in which they were sent.

    `strangers` are notifications without a known event or subscription, or with another format than
    that of the contract.
    """

    events: Mapping[str, int]
    subscriptions: Mapping[str, int]
    codes: array[int] = field(default_factory=lambda: array("q"))
    hashes: array[int] = field(default_factory=lambda: array("q"))
    strangers: list[str] = field(default_factory=list)

    def add(self, key: bytes | None, value: bytes | None) -> None:
        """Add a notification."""
        match = _NOTIFICATION.fullmatch(value or b"")
        if match is None or match[3] != key or match[1] != match[2] + b"/" + match[3]:
            self.strangers.append(repr((key, value)))
        elif (code := self.code(match[1].decode())) is None:
            self.strangers.append(match[1].decode())
        else:
            self.codes.append(code)
            self.hashes.append(hash(value))

    def code(self, id_: str) -> int | None:
        """Return the code of the notification with this id, or None if its pair is unknown."""
        event, _, subscription = id_.partition("/")
        row, number = self.events.get(event), self.subscriptions.get(subscription)
        return None if row is None or number is None else row * len(self.subscriptions) + number

    def name(self, code: int) -> str:
        """Return the id of the notification with this code; this is slow."""
        row, number = divmod(code, len(self.subscriptions))
        event = next(id_ for id_, at in self.events.items() if at == row)
        return f"{event}/{next(id_ for id_, at in self.subscriptions.items() if at == number)}"


def read_changes(topic: str, file: Path) -> dict[str, Change]:
    """Return the changes that the recorder copied, by id of the record, in order per partition."""
    changes = {}
    for fields in lines(file):
        id_ = f"{topic}-{fields['partition']}-{fields['offset']}"
        key, time_ms, value, headers = (
            fields[name] for name in ("key", "time_ms", "value", "headers")
        )
        changes[id_] = Change.read(key, time_ms, value, headers)
    return changes


def letters(records: Iterable[Record]) -> set[str]:
    """Return the ids of the events and changes of dead letters."""
    dead_letters = [json.loads(record.value or b"{}") for record in records]
    return {letter.get("event") or letter.get("change") for letter in dead_letters}


def lines(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file of JSON lines; skip partial lines of killed writers."""
    with file.open(encoding="utf-8") as text:
        for line in text:
            try:
                yield json.loads(line)
            except ValueError:
                continue
