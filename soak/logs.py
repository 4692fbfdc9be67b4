"""The logs of a run as arrays: events, changes, notifications, dead letters, what was promised.

Events become rows in the order of their times, subscriptions become numbers, a notification
becomes one integer, event · subscriptions + number, and a hash of its bytes.

Cost: a few microseconds and some hundred bytes an event; 16 bytes a notification.
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
    """Committed events, in the order of their times; `malformed` are ids of those with no row."""

    rows: dict[str, int]
    times_ms: Ints
    columns: tuple[Floats, ...]
    malformed: frozenset[str]

    @classmethod
    def of(cls, topic: str, records: Iterable[Record]) -> EventLog:
        """What the records of a topic say."""
        ids, times, values, malformed = [], array("q"), array("d"), set()
        for record in records:
            id_ = f"{topic}-{record.partition}-{record.offset}"
            try:
                said = json.loads(record.value or b"")
                values.extend([float(said[name]) for name in COLUMNS])
            except (ValueError, UnicodeDecodeError):
                malformed.add(id_)
            else:
                ids.append(id_)
                times.append(record.time_ms)
        order = np.argsort(np.array(times, np.int64), kind="stable")
        table = np.array(values, np.float64).reshape(-1, len(COLUMNS))[order]
        return cls(
            {ids[row]: place for place, row in enumerate(order.tolist())},
            np.array(times, np.int64)[order],
            tuple(np.ascontiguousarray(column) for column in table.T),
            frozenset(malformed),
        )


@dataclass(slots=True)
class Sent:
    """Notifications, in the order they were sent; `strangers` name no event or subscription.

    What is written otherwise than the contract says is a stranger, too.
    """

    events: Mapping[str, int]
    subscriptions: Mapping[str, int]
    codes: array[int] = field(default_factory=lambda: array("q"))
    hashes: array[int] = field(default_factory=lambda: array("q"))
    strangers: list[str] = field(default_factory=list)

    def add(self, key: bytes | None, value: bytes | None) -> None:
        """One more notification."""
        match = _NOTIFICATION.fullmatch(value or b"")
        if match is None or match[3] != key or match[1] != match[2] + b"/" + match[3]:
            self.strangers.append(repr((key, value)))
        elif (code := self.code(match[1].decode())) is None:
            self.strangers.append(match[1].decode())
        else:
            self.codes.append(code)
            self.hashes.append(hash(value))

    def code(self, id_: str) -> int | None:
        """The number of the notification with this id, if it names a known pair."""
        event, _, subscription = id_.partition("/")
        row, number = self.events.get(event), self.subscriptions.get(subscription)
        return None if row is None or number is None else row * len(self.subscriptions) + number

    def name(self, code: int) -> str:
        """The id of a notification; slow."""
        row, number = divmod(code, len(self.subscriptions))
        event = next(id_ for id_, at in self.events.items() if at == row)
        return f"{event}/{next(id_ for id_, at in self.subscriptions.items() if at == number)}"


def read_changes(topic: str, file: Path) -> dict[str, Change]:
    """What the recorder copied, by id of the record, each partition in its order."""
    found = {}
    for said in lines(file):
        id_ = f"{topic}-{said['partition']}-{said['offset']}"
        found[id_] = Change.read(said["key"], said["time_ms"], said["value"], said["headers"])
    return found


def letters(records: Iterable[Record]) -> set[str]:
    """The ids of the events and changes that dead letters are about."""
    said = [json.loads(record.value or b"{}") for record in records]
    return {letter.get("event") or letter.get("change") for letter in said}


def lines(file: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file of JSON lines; a line that a killed writer did not end is left out."""
    with file.open(encoding="utf-8") as text:
        for line in text:
            try:
                yield json.loads(line)
            except ValueError:
                continue
