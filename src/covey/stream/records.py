"""Which version decided which batch: recorded before the batch has any effect, and never changed.

A batch that is run again, by whomever, finds what was recorded and is decided the same way. A
record also says which events the batch had, so that a past event can be asked about.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

from covey.errors import StoreError
from covey.store.directory import PARTIAL, Directory, Listed

__all__ = ["Offsets", "Record", "Records"]

Offsets = Mapping[str, Mapping[str, tuple[int, int]]]
"""By topic and partition, the first offset and the one after the last."""

_FOLDER = "batches"


@dataclass(frozen=True, slots=True)
class Record:
    """One batch of one query: the version that decided it, and which events it had."""

    query: str
    batch: int
    events: Offsets
    version: int
    written_ms: int

    @property
    def name(self) -> str:
        """Where it is kept: the same batch with other events is another one."""
        events = json.dumps(self.events, sort_keys=True).encode()
        digest = hashlib.sha256(events).hexdigest()[:16]
        return f"{_FOLDER}/{self.batch:012d}-{self.query}-{digest}.json"

    @property
    def count(self) -> int:
        """How many events it had at most; transactions leave gaps."""
        ranges = [r for partitions in self.events.values() for r in partitions.values()]
        return sum(end - first for first, end in ranges)

    def has(self, topic: str, partition: int, offset: int) -> bool:
        """Whether an event was in this batch."""
        first, end = self.events.get(topic, {}).get(str(partition), (0, 0))
        return first <= offset < end


@dataclass(frozen=True, slots=True)
class Records:
    """The records of a stream, in its state folder."""

    directory: Directory

    def find(self, query: str, batch: int, events: Offsets) -> Record | None:
        """The record of a batch, if it has one."""
        name = Record(query, batch, events, 0, 0).name
        try:
            return _read(self.directory.read(name))
        except FileNotFoundError:
            return None

    def record(self, record: Record) -> Record:
        """Records a batch, durably, if nobody has before; gives what is recorded then."""
        try:
            self.directory.publish(record.name, json.dumps(asdict(record)).encode())
        except StoreError:
            known = self.find(record.query, record.batch, record.events)
            if known is None:
                raise
            return known
        return record

    def of_event(self, topic: str, partition: int, offset: int) -> Record | None:
        """The record of the last batch that had an event.

        Cost: reads records from the newest on back.
        """
        for record in self.newest_first():
            if record.has(topic, partition, offset):
                return record
        return None

    def newest_first(self) -> Iterator[Record]:
        """All records that are kept."""
        for one in self._listed():
            try:
                yield _read(self.directory.read(f"{_FOLDER}/{one.name}"))
            except FileNotFoundError:  # it was old, and has just been forgotten
                continue

    def forget(self, keep_seconds: float) -> int:
        """Deletes records that are older, but never the newest; how many.

        What was not written to its end goes as well, and is not counted.
        """
        before = time.time() - keep_seconds
        old = [one for one in self._listed()[1:] if one.written < before]
        given_up = [
            one
            for one in self.directory.list(_FOLDER)
            if one.name.endswith(PARTIAL) and one.written < before
        ]
        for one in old + given_up:
            self.directory.delete(f"{_FOLDER}/{one.name}")
        return len(old)

    def _listed(self) -> list[Listed]:
        """The files of records, the newest first."""
        listed = [one for one in self.directory.list(_FOLDER) if not one.name.endswith(PARTIAL)]
        return sorted(listed, key=lambda file: (file.written, file.name), reverse=True)


def _read(content: bytes) -> Record:
    saved = json.loads(content)
    events = {
        topic: {partition: (first, end) for partition, (first, end) in offsets.items()}
        for topic, offsets in saved.pop("events").items()
    }
    return Record(events=events, **saved)
