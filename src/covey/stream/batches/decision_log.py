"""Decision log: the version that decided each batch, recorded before the batch has any effect.

A decision is never changed. A batch that is run again, by this or another process, is decided by
the same version. A decision also contains the offset ranges of the batch, so that the decision on a
past event can be found.
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
"""For each topic and partition the first offset, and the offset after the last one."""

_FOLDER = "batches"


@dataclass(frozen=True, slots=True)
class BatchDecision:
    """Decision of one batch of one query.

    Args:
        query: id of the Spark query.
        batch: number of the batch.
        events: offset ranges of the events in the batch.
        version: version of the store that decides the batch.
        written_ms: time of the decision, in milliseconds since 1970.
        time_ms: time of the batch, in milliseconds since 1970: the value of `current_timestamp()`
            in predicates. Spark records it before it runs the batch, and uses it again if the batch
            is run again.
    """

    query: str
    batch: int
    events: OffsetRanges
    version: int
    written_ms: int
    time_ms: int

    @property
    def file_name(self) -> str:
        """Name of the decision's file; it contains a digest of the offset ranges."""
        events = json.dumps(self.events, sort_keys=True).encode()
        digest = hashlib.sha256(events).hexdigest()[:16]
        return f"{_FOLDER}/{self.batch:012d}-{self.query}-{digest}.json"

    @property
    def max_event_count(self) -> int:
        """Number of offsets in the batch; there may be fewer events, as transactions leave gaps."""
        ranges = [r for partitions in self.events.values() for r in partitions.values()]
        return sum(end - first for first, end in ranges)

    def contains(self, topic: str, partition: int, offset: int) -> bool:
        """Return whether an event is in this batch."""
        first, end = self.events.get(topic, {}).get(str(partition), (0, 0))
        return first <= offset < end


@dataclass(frozen=True, slots=True)
class DecisionLog:
    """All batch decisions of a stream, as files in its state folder."""

    storage: StorageBackend

    def find(self, query_id: str, batch: int, offset_ranges: OffsetRanges) -> BatchDecision | None:
        """Return the decision of a batch with these offset ranges, or None if there is none."""
        name = BatchDecision(query_id, batch, offset_ranges, 0, 0, 0).file_name
        try:
            return _parse_decision(self.storage.read(name))
        except FileNotFoundError:
            return None

    def record_if_absent(self, decision: BatchDecision) -> BatchDecision:
        """Record a decision durably, unless the batch has one already; return the recorded one."""
        try:
            self.storage.put_if_absent(decision.file_name, json.dumps(asdict(decision)).encode())
        except StoreError:
            recorded = self.find(decision.query, decision.batch, decision.events)
            if recorded is None:
                raise
            return recorded
        return decision

    def find_by_event(self, topic: str, partition: int, offset: int) -> BatchDecision | None:
        """Return the newest decision whose batch contains an event, or None if there is none.

        Cost: reads decisions one by one, from the newest backwards.
        """
        for decision in self.iter_newest_first():
            if decision.contains(topic, partition, offset):
                return decision
        return None

    def iter_newest_first(self) -> Iterator[BatchDecision]:
        """Yield all decisions in the log, the newest first."""
        for entry in self._list_files():
            try:
                yield _parse_decision(self.storage.read(f"{_FOLDER}/{entry.name}"))
            except FileNotFoundError:  # `delete_older_than` has just deleted it
                continue

    def delete_older_than(self, retain_seconds: float) -> int:
        """Delete decisions older than a number of seconds, and return how many were deleted.

        The newest decision is never deleted. Incomplete files of that age are deleted too, but not
        counted.
        """
        before = time.time() - retain_seconds
        old = [entry for entry in self._list_files()[1:] if entry.modified_at_s < before]
        incomplete = [
            entry
            for entry in self.storage.list(_FOLDER)
            if entry.name.endswith(PARTIAL_SUFFIX) and entry.modified_at_s < before
        ]
        for entry in old + incomplete:
            self.storage.delete(f"{_FOLDER}/{entry.name}")
        return len(old)

    def _list_files(self) -> list[FileEntry]:
        """Return the files of decisions, the newest first."""
        entries = [
            entry for entry in self.storage.list(_FOLDER) if not entry.name.endswith(PARTIAL_SUFFIX)
        ]
        return sorted(entries, key=lambda file: (file.modified_at_s, file.name), reverse=True)


def _parse_decision(content: bytes) -> BatchDecision:
    saved = json.loads(content)
    events = {
        topic: {partition: (first, end) for partition, (first, end) in offsets.items()}
        for topic, offsets in saved.pop("events").items()
    }
    return BatchDecision(events=events, **saved)
