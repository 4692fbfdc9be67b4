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

from covey.spark.validity import VALIDITY
from covey.store import Changes, Manifest, Snapshot, Store
from covey.store.manifest import now_ms
from covey.stream.batches.decision_log import BatchDecision, DecisionLog, OffsetRanges
from covey.stream.control.change_translator import ChangeTranslator, find_last_ends
from covey.stream.control.messages import SubscriptionChange, UnreadableChangeHandler
from covey.stream.control.reader import ControlTopicReader

__all__ = ["ControlReadStats", "LiveSubscriptions", "format_label", "parse_position"]

_MERGE_GRACE_S = 600.0  # within which a merge names the file that it wrote


@dataclass(frozen=True, slots=True)
class ControlReadStats:
    """What was read of the control topic: how many changes, and how long it took.

    `oldest_change_age_ms` is that of the oldest change when it took effect.
    """

    changes: int = 0
    ignored_changes: int = 0
    unreadable_changes: int = 0
    oldest_change_age_ms: int = 0
    seconds: float = 0.0

    def combine(self, other: ControlReadStats) -> ControlReadStats:
        """Both as one."""
        return ControlReadStats(
            self.changes + other.changes,
            self.ignored_changes + other.ignored_changes,
            self.unreadable_changes + other.unreadable_changes,
            max(self.oldest_change_age_ms, other.oldest_change_age_ms),
            self.seconds + other.seconds,
        )


class LiveSubscriptions:
    """Versions for batches. For any number of threads; the store's only writer."""

    def __init__(
        self,
        store: Store,
        control_reader: ControlTopicReader,
        decision_log: DecisionLog,
        change_translator: ChangeTranslator,
        report_unreadable: UnreadableChangeHandler,
        read_at_s: float,
    ) -> None:
        self.store, self.control_reader, self.decision_log = store, control_reader, decision_log
        self._change_translator, self._report_unreadable = change_translator, report_unreadable
        self._lock = threading.Lock()
        self._horizon_us = -(1 << 62)
        self._last_decided_version: int | None = None
        self._unapplied_changes: list[SubscriptionChange] = []  # read, but not in a version yet
        self._last_control_position = dict(control_reader.position), read_at_s
        self._unreported_stats = ControlReadStats()  # since the last batch

    def decide_batch(
        self, query_id: str, batch: int, offset_ranges: OffsetRanges
    ) -> tuple[BatchDecision, ControlReadStats]:
        """The record of a batch whose events are fixed: what is there, or else made now."""
        known = self.decision_log.find(query_id, batch, offset_ranges)
        if known is not None:
            self._last_decided_version = known.version
            return known, ControlReadStats()
        with self._lock:
            read, self._unreported_stats = (
                self._unreported_stats.combine(self._sync_control()),
                ControlReadStats(),
            )
            version = self.store.snapshot().manifest
            record = BatchDecision(query_id, batch, offset_ranges, version.version, now_ms())
            record = self.decision_log.record_if_absent(record)
            self._last_decided_version = record.version
            return record, read

    def sync_control(self) -> ControlReadStats:
        """Reads the control topic to its end, for while no batch begins.

        The next batch counts what it read.
        """
        with self._lock:
            read = self._sync_control()
            self._unreported_stats = self._unreported_stats.combine(read)
            return read

    def cancel(self, subscription_rows: NDArray[np.int64], cancelled_ms: int) -> None:
        """Ends subscriptions of the newest version that have not ended, at a moment of the past."""
        with self._lock:
            now = self.store.snapshot()
            living = np.setdiff1d(
                subscription_rows, now.find_expired(VALIDITY, cancelled_ms * 1000)
            )
            ids = now.take_ids(living).to_pylist()
            cancelled = [SubscriptionChange(id, cancelled_ms, "") for id in ids]
            applied = self._change_translator.translate(now, cancelled, self._horizon_us)
            self.store.apply(applied.store_changes, now.manifest.label)

    def open_snapshot(self, decision: BatchDecision) -> Snapshot:
        """The version that a batch is decided by."""
        newest = self.store.snapshot()
        is_it = newest.manifest.version == decision.version
        return newest if is_it else self.store.snapshot(decision.version)

    def expire_before(self, horizon_ms: int) -> None:
        """No event that was appended before this moment will come any more."""
        self._horizon_us = max(self._horizon_us, horizon_ms * 1000)
        self.store.expire_before(VALIDITY, self._horizon_us)

    @property
    def control_position(self) -> tuple[dict[int, int], float]:
        """Up to where the control topic was read to its end, and when."""
        with self._lock:
            return self._last_control_position

    def vacuum(self, retain_seconds: float) -> None:
        """Forgets subscriptions that are over, and deletes what is older than so many seconds.

        What decides the last batch is kept, however old it is.
        """
        if self._last_decided_version is None:
            return  # a batch may be about to be run again, with a version of before
        horizon_us, before = self._horizon_us, self.store.snapshot()
        ended = before.take_ids(
            before.find_expired(VALIDITY, horizon_us)
        )  # which takes longer than a batch
        if len(ended):
            with self._lock:
                now = self.store.snapshot()
                rows = now.find_rows(ended)
                rows = rows[rows >= 0]
                regions, of = now.take_regions(rows)
                over = (
                    find_last_ends(regions, of, len(rows)) < horizon_us
                )  # and was not changed since
                self.store.apply(Changes.remove(now.take_ids(rows[over])), now.manifest.label)
        self.store.vacuum(
            retain_seconds, _MERGE_GRACE_S, keep_versions=[self._last_decided_version]
        )
        self.decision_log.delete_older_than(retain_seconds)

    def close(self) -> None:
        """Ends the connection to Kafka and gives the store's lock back."""
        with self._lock:
            self.control_reader.close()
            self.store.close()

    def _sync_control(self) -> ControlReadStats:
        started, began = time.perf_counter(), time.time()
        if self._unapplied_changes:  # an attempt failed, but its version may be there
            known = parse_position(self.store.snapshot().manifest) or {}
            self._unapplied_changes = [
                one for one in self._unapplied_changes if not _is_before(one, known)
            ]
        # Each change is returned once, whatever fails below.
        self._unapplied_changes += self.control_reader.read_to_end()
        changes, position = self._unapplied_changes, dict(self.control_reader.position)
        if not changes:
            self._last_control_position = position, began
            return ControlReadStats()
        applied = self._change_translator.translate(
            self.store.snapshot(), changes, self._horizon_us
        )
        if applied.unreadable_changes:
            self._report_unreadable(applied.unreadable_changes)
        self.store.apply(applied.store_changes, format_label(position))
        self._unapplied_changes, self._last_control_position = [], (position, began)
        oldest = min(change.appended_ms for change in changes)
        return ControlReadStats(
            len(changes),
            applied.num_ignored,
            len(applied.unreadable_changes),
            max(0, now_ms() - oldest),
            time.perf_counter() - started,
        )


def _is_before(change: SubscriptionChange, position: Mapping[int, int]) -> bool:
    """Whether a change is before a position of its topic."""
    _, partition, offset = change.message_ref.rsplit("-", 2)
    return int(offset) < position.get(int(partition), 0)


def format_label(position: Mapping[int, int], zones: int | None = None) -> str:
    """How a version says up to where it has the control topic, and for how many zones it was read.

    >>> format_label({0: 5})
    '{"control": {"0": 5}}'
    """
    zoned = {} if zones is None else {"zones": zones}
    return json.dumps({"control": {str(p): position[p] for p in sorted(position)}, **zoned})


def parse_position(manifest: Manifest) -> dict[int, int] | None:
    """Up to where a version has the control topic, by partition; None if it was not made of it."""
    if manifest.label is None:
        return None
    return {int(p): offset for p, offset in json.loads(manifest.label)["control"].items()}
