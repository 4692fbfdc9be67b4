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
from covey.store.storage import PARTIAL_SUFFIX, FileEntry, StorageBackend

__all__ = ["BatchDecision", "DecisionLog", "OffsetRanges"]

OffsetRanges = Mapping[str, Mapping[str, tuple[int, int]]]
"""By topic and partition, the first offset and the one after the last."""

_FOLDER = "batches"


@dataclass(frozen=True, slots=True)
class BatchDecision:
    """One batch of one query: the version that decided it, and which events it had."""

    query: str
    batch: int
    events: OffsetRanges
    version: int
    written_ms: int

    @property
    def file_name(self) -> str:
        """Where it is kept: the same batch with other events is another one."""
        events = json.dumps(self.events, sort_keys=True).encode()
        digest = hashlib.sha256(events).hexdigest()[:16]
        return f"{_FOLDER}/{self.batch:012d}-{self.query}-{digest}.json"

    @property
    def max_event_count(self) -> int:
        """How many events it had at most; transactions leave gaps."""
        ranges = [r for partitions in self.events.values() for r in partitions.values()]
        return sum(end - first for first, end in ranges)

    def contains(self, topic: str, partition: int, offset: int) -> bool:
        """Whether an event was in this batch."""
        first, end = self.events.get(topic, {}).get(str(partition), (0, 0))
        return first <= offset < end


@dataclass(frozen=True, slots=True)
class DecisionLog:
    """The records of a stream, in its state folder."""

    storage: StorageBackend

    def find(self, query_id: str, batch: int, offset_ranges: OffsetRanges) -> BatchDecision | None:
        """The record of a batch, if it has one."""
        name = BatchDecision(query_id, batch, offset_ranges, 0, 0).file_name
        try:
            return _parse_decision(self.storage.read(name))
        except FileNotFoundError:
            return None

    def record_if_absent(self, decision: BatchDecision) -> BatchDecision:
        """Records a batch, durably, if nobody has before; gives what is recorded then."""
        try:
            self.storage.put_if_absent(decision.file_name, json.dumps(asdict(decision)).encode())
        except StoreError:
            known = self.find(decision.query, decision.batch, decision.events)
            if known is None:
                raise
            return known
        return decision

    def find_by_event(self, topic: str, partition: int, offset: int) -> BatchDecision | None:
        """The record of the last batch that had an event.

        Cost: reads records from the newest on back.
        """
        for record in self.iter_newest_first():
            if record.contains(topic, partition, offset):
                return record
        return None

    def iter_newest_first(self) -> Iterator[BatchDecision]:
        """All records that are kept."""
        for one in self._list_files():
            try:
                yield _parse_decision(self.storage.read(f"{_FOLDER}/{one.name}"))
            except FileNotFoundError:  # it was old, and has just been forgotten
                continue

    def delete_older_than(self, retain_seconds: float) -> int:
        """Deletes records that are older, but never the newest; how many.

        What was not written to its end goes as well, and is not counted.
        """
        before = time.time() - retain_seconds
        old = [one for one in self._list_files()[1:] if one.modified_at_s < before]
        given_up = [
            one
            for one in self.storage.list(_FOLDER)
            if one.name.endswith(PARTIAL_SUFFIX) and one.modified_at_s < before
        ]
        for one in old + given_up:
            self.storage.delete(f"{_FOLDER}/{one.name}")
        return len(old)

    def _list_files(self) -> list[FileEntry]:
        """The files of records, the newest first."""
        listed = [
            one for one in self.storage.list(_FOLDER) if not one.name.endswith(PARTIAL_SUFFIX)
        ]
        return sorted(listed, key=lambda file: (file.modified_at_s, file.name), reverse=True)


def _parse_decision(content: bytes) -> BatchDecision:
    saved = json.loads(content)
    events = {
        topic: {partition: (first, end) for partition, (first, end) in offsets.items()}
        for topic, offsets in saved.pop("events").items()
    }
    return BatchDecision(events=events, **saved)
