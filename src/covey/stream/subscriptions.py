"""The subscriptions of a running stream: a store that follows the control topic.

For each batch, after its events are fixed, the topic is read to its end; what that changed is made
durable as a version; then the version is recorded for the batch. A batch that was recorded before
is decided by that version, and the topic is not looked at.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.spark.lifetimes import LIFETIME
from covey.store import Changes, Snapshot, Store, Version
from covey.store.writer import now_ms
from covey.stream.control import ControlTopic
from covey.stream.history import Historian, last_ends
from covey.stream.messages import Change, Report
from covey.stream.records import Offsets, Record, Records

__all__ = ["LiveSubscriptions", "Read", "label_of", "position_of"]

_GRACE_S = 600.0  # within which a merge names the file that it wrote


@dataclass(frozen=True, slots=True)
class Read:
    """What was read of the control topic: how many changes, and how long it took.

    `age_ms` is that of the oldest change when it took effect.
    """

    changes: int = 0
    ignored: int = 0
    unreadable: int = 0
    age_ms: int = 0
    seconds: float = 0.0

    def and_then(self, later: Read) -> Read:
        """Both as one."""
        return Read(
            self.changes + later.changes,
            self.ignored + later.ignored,
            self.unreadable + later.unreadable,
            max(self.age_ms, later.age_ms),
            self.seconds + later.seconds,
        )


class LiveSubscriptions:
    """Versions for batches. For any number of threads; the store's only writer."""

    def __init__(
        self, store: Store, control: ControlTopic, records: Records, historian: Historian,
        report: Report, read_at: float,
    ) -> None:  # fmt: skip
        self.store, self.control, self.records = store, control, records
        self._historian, self._report = historian, report
        self._lock = threading.Lock()
        self._horizon_us = -(1 << 62)
        self._deciding: int | None = None
        self._waiting: list[Change] = []  # read, but not in a version yet
        self._followed = dict(control.position), read_at
        self._uncounted = Read()  # since the last batch

    def decided_by(self, query: str, batch: int, events: Offsets) -> tuple[Record, Read]:
        """The record of a batch whose events are fixed: what is there, or else made now."""
        known = self.records.find(query, batch, events)
        if known is not None:
            self._deciding = known.version
            return known, Read()
        with self._lock:
            read, self._uncounted = self._uncounted.and_then(self._follow()), Read()
            version = self.store.snapshot().version
            record = Record(query, batch, events, version.number, now_ms())
            record = self.records.record(record)
            self._deciding = record.version
            return record, read

    def follow(self) -> Read:
        """Reads the control topic to its end, for while no batch begins.

        The next batch counts what it read.
        """
        with self._lock:
            read = self._follow()
            self._uncounted = self._uncounted.and_then(read)
            return read

    def cancel(self, rows: NDArray[np.int64], at_ms: int) -> None:
        """Ends subscriptions of the newest version that have not ended, at a moment of the past."""
        with self._lock:
            now = self.store.snapshot()
            living = np.setdiff1d(rows, now.ended(LIFETIME, at_ms * 1000))
            ids = now.ids(living).to_pylist()
            cancelled = [Change(id, at_ms, "") for id in ids]
            applied = self._historian.applied(now, cancelled, self._horizon_us)
            self.store.apply(applied.changes, now.version.label)

    def snapshot(self, record: Record) -> Snapshot:
        """The version that a batch is decided by."""
        newest = self.store.snapshot()
        is_it = newest.version.number == record.version
        return newest if is_it else self.store.snapshot(record.version)

    def forget_before(self, ms: int) -> None:
        """No event that was appended before this moment will come any more."""
        self._horizon_us = max(self._horizon_us, ms * 1000)
        self.store.forget(LIFETIME, self._horizon_us)

    @property
    def followed(self) -> tuple[dict[int, int], float]:
        """Up to where the control topic was read to its end, and when."""
        with self._lock:
            return self._followed

    def clean(self, keep_seconds: float) -> None:
        """Forgets subscriptions that are over, and deletes what is older than so many seconds.

        What decides the last batch is kept, however old it is.
        """
        if self._deciding is None:
            return  # a batch may be about to be run again, with a version of before
        horizon_us, before = self._horizon_us, self.store.snapshot()
        ended = before.ids(before.ended(LIFETIME, horizon_us))  # which takes longer than a batch
        if len(ended):
            with self._lock:
                now = self.store.snapshot()
                rows = now.find(ended)
                rows = rows[rows >= 0]
                regions, of = now.regions(rows)
                over = last_ends(regions, of, len(rows)) < horizon_us  # and was not changed since
                self.store.apply(Changes.remove(now.ids(rows[over])), now.version.label)
        self.store.collect(keep_seconds, _GRACE_S, [self._deciding])
        self.records.forget(keep_seconds)

    def close(self) -> None:
        """Ends the connection to Kafka and gives the store's lock back."""
        with self._lock:
            self.control.close()
            self.store.close()

    def _follow(self) -> Read:
        started, began = time.perf_counter(), time.time()
        if self._waiting:  # an attempt failed, but its version may be there
            known = position_of(self.store.snapshot().version) or {}
            self._waiting = [one for one in self._waiting if not _is_within(one, known)]
        self.control.to_end(self._waiting)  # which gives each once, whatever fails below
        changes, position = self._waiting, dict(self.control.position)
        if not changes:
            self._followed = position, began
            return Read()
        applied = self._historian.applied(self.store.snapshot(), changes, self._horizon_us)
        if applied.unreadable:
            self._report(applied.unreadable)
        self.store.apply(applied.changes, label_of(position))
        self._waiting, self._followed = [], (position, began)
        oldest = min(change.at_ms for change in changes)
        return Read(
            len(changes),
            applied.ignored,
            len(applied.unreadable),
            max(0, now_ms() - oldest),
            time.perf_counter() - started,
        )


def _is_within(change: Change, position: Mapping[int, int]) -> bool:
    """Whether a change is before a position of its topic."""
    _, partition, offset = change.place.rsplit("-", 2)
    return int(offset) < position.get(int(partition), 0)


def label_of(position: Mapping[int, int], zones: int | None = None) -> str:
    """How a version says up to where it has the control topic, and for how many zones it was read.

    >>> label_of({0: 5})
    '{"control": {"0": 5}}'
    """
    zoned = {} if zones is None else {"zones": zones}
    return json.dumps({"control": {str(p): position[p] for p in sorted(position)}, **zoned})


def position_of(version: Version) -> dict[int, int] | None:
    """Up to where a version has the control topic, by partition; None if it was not made of it."""
    if version.label is None:
        return None
    return {int(p): offset for p, offset in json.loads(version.label)["control"].items()}
