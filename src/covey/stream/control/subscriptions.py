"""Subscriptions of a running stream: a store that is synced with the control topic.

When the events of a batch are fixed, the control topic is read to its end, its changes are
committed as a version, and the batch decision is recorded with that version. If the batch already
has a decision, this decision is used and the topic is not read.
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

_MERGE_GRACE_S = 600.0  # a merge commits the file that it writes within this time


@dataclass(frozen=True, slots=True)
class ControlReadStats:
    """Counts and time of one or more syncs with the control topic.

    Args:
        changes: number of changes that were read.
        ignored_changes: number of changes that were ignored, because their subscription had an
            equal or higher revision.
        unreadable_changes: number of changes that could not be read.
        oldest_change_age_ms: time from the append of the oldest change until it took effect; 0 if
            there were no changes.
        seconds: elapsed time of the syncs.
    """

    changes: int = 0
    ignored_changes: int = 0
    unreadable_changes: int = 0
    oldest_change_age_ms: int = 0
    seconds: float = 0.0

    def combine(self, other: ControlReadStats) -> ControlReadStats:
        """Return the sums of both counts and times, and the larger one of the two ages."""
        return ControlReadStats(
            self.changes + other.changes,
            self.ignored_changes + other.ignored_changes,
            self.unreadable_changes + other.unreadable_changes,
            max(self.oldest_change_age_ms, other.oldest_change_age_ms),
            self.seconds + other.seconds,
        )


class LiveSubscriptions:
    """Store of a stream, its sync with the control topic, and the decisions of batches.

    The object is thread-safe, and must be the only writer of the store.

    Args:
        store: the store; `close` closes it.
        control_reader: reader of the control topic, at the position of the store.
        decision_log: log of batch decisions.
        change_translator: translator of subscription changes to store changes.
        report_unreadable: function that reports changes that could not be read.
        read_at_s: time at which the control topic was last read to its end, in seconds since 1970.
    """

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
        self._unreported_stats = ControlReadStats()  # of syncs since the last decision

    def decide_batch(
        self, query_id: str, batch: int, offset_ranges: OffsetRanges, time_ms: int
    ) -> tuple[BatchDecision, ControlReadStats]:
        """Return the recorded decision of a batch, or sync with the control topic and record one.

        Args:
            query_id: id of the Spark query.
            batch: number of the batch.
            offset_ranges: events of the batch, which Spark has fixed.
            time_ms: time of the batch, which Spark has fixed, in milliseconds since 1970.

        Returns:
            The decision, and the counts of all syncs since the last decision that this object
            recorded. The counts are zero if the batch already had a decision.
        """
        recorded = self.decision_log.find(query_id, batch, offset_ranges)
        if recorded is not None:
            self._last_decided_version = recorded.version
            return recorded, ControlReadStats()
        with self._lock:
            stats, self._unreported_stats = (
                self._unreported_stats.combine(self._sync_control()),
                ControlReadStats(),
            )
            manifest = self.store.snapshot().manifest
            decision = BatchDecision(
                query_id, batch, offset_ranges, manifest.version, now_ms(), time_ms
            )
            decision = self.decision_log.record_if_absent(decision)
            self._last_decided_version = decision.version
            return decision, stats

    def sync_control(self) -> ControlReadStats:
        """Read the control topic to its end, commit its changes, and return the counts.

        The method is called between batches, so that the next decision has less to read. The counts
        that the next decision returns include these counts.
        """
        with self._lock:
            stats = self._sync_control()
            self._unreported_stats = self._unreported_stats.combine(stats)
            return stats

    def cancel(self, subscription_rows: NDArray[np.int64], cancelled_ms: int) -> None:
        """Cancel subscriptions of the newest version with effect from a time in the past.

        Subscriptions whose validity ended before this time are not changed.

        Args:
            subscription_rows: rows of the subscriptions in the newest version.
            cancelled_ms: time of the cancellation, in milliseconds since 1970.
        """
        with self._lock:
            newest = self.store.snapshot()
            live_rows = np.setdiff1d(
                subscription_rows, newest.find_expired(VALIDITY, cancelled_ms * 1000)
            )
            ids = newest.take_ids(live_rows).to_pylist()
            changes = [SubscriptionChange(id, cancelled_ms, "") for id in ids]
            translated = self._change_translator.translate(newest, changes, self._horizon_us)
            self.store.apply(translated.store_changes, newest.manifest.label)

    def open_snapshot(self, decision: BatchDecision) -> Snapshot:
        """Open the version that decides a batch."""
        newest = self.store.snapshot()
        is_newest = newest.manifest.version == decision.version
        return newest if is_newest else self.store.snapshot(decision.version)

    def expire_before(self, horizon_ms: int) -> None:
        """Move the horizon, which is the time before which no event can arrive any more.

        Later merges and changes drop regions that end before the horizon. A time before the current
        horizon has no effect.

        Args:
            horizon_ms: the horizon, in milliseconds since 1970.
        """
        self._horizon_us = max(self._horizon_us, horizon_ms * 1000)
        self.store.expire_before(VALIDITY, self._horizon_us)

    @property
    def control_position(self) -> tuple[dict[int, int], float]:
        """Next offset of each partition, and the time of the last sync in seconds since 1970."""
        with self._lock:
            return self._last_control_position

    def vacuum(self, retain_seconds: float) -> None:
        """Remove expired subscriptions, and delete versions and decisions beyond the retention.

        The version that decided the last batch is kept, however old it is. Nothing is done before
        `decide_batch` has returned for the first time, because a batch of an earlier process may
        have to be run again.

        Args:
            retain_seconds: the retention, in seconds.
        """
        if self._last_decided_version is None:
            return
        # The search for expired subscriptions takes longer than a batch, so it holds no lock.
        horizon_us, searched = self._horizon_us, self.store.snapshot()
        expired_ids = searched.take_ids(searched.find_expired(VALIDITY, horizon_us))
        if len(expired_ids):
            with self._lock:
                newest = self.store.snapshot()
                rows = newest.find_rows(expired_ids)
                rows = rows[rows >= 0]
                regions, row_indices = newest.take_regions(rows)
                # A subscription that changed after the search may not be expired any more.
                is_expired = find_last_ends(regions, row_indices, len(rows)) < horizon_us
                removed_ids = newest.take_ids(rows[is_expired])
                self.store.apply(Changes.remove(removed_ids), newest.manifest.label)
        self.store.vacuum(
            retain_seconds, _MERGE_GRACE_S, keep_versions=[self._last_decided_version]
        )
        self.decision_log.delete_older_than(retain_seconds)

    def close(self) -> None:
        """Close the connections to Kafka and the store."""
        with self._lock:
            self.control_reader.close()
            self.store.close()

    def _sync_control(self) -> ControlReadStats:
        started, read_at_s = time.perf_counter(), time.time()
        if self._unapplied_changes:  # an attempt failed, but its version may have been committed
            committed = parse_position(self.store.snapshot().manifest) or {}
            self._unapplied_changes = [
                change for change in self._unapplied_changes if not _is_before(change, committed)
            ]
        # The reader returns each change once, so changes are kept until they are in a version.
        self._unapplied_changes += self.control_reader.read_to_end()
        changes, position = self._unapplied_changes, dict(self.control_reader.position)
        if not changes:
            self._last_control_position = position, read_at_s
            return ControlReadStats()
        translated = self._change_translator.translate(
            self.store.snapshot(), changes, self._horizon_us
        )
        if translated.unreadable_changes:
            self._report_unreadable(translated.unreadable_changes)
        self.store.apply(translated.store_changes, format_label(position))
        self._unapplied_changes, self._last_control_position = [], (position, read_at_s)
        oldest_ms = min(change.appended_ms for change in changes)
        return ControlReadStats(
            len(changes),
            translated.num_ignored,
            len(translated.unreadable_changes),
            max(0, now_ms() - oldest_ms),
            time.perf_counter() - started,
        )


def _is_before(change: SubscriptionChange, position: Mapping[int, int]) -> bool:
    """Return whether the message of a change is before a position of its topic."""
    _, partition, offset = change.message_ref.rsplit("-", 2)
    return int(offset) < position.get(int(partition), 0)


def format_label(position: Mapping[int, int], zones: int | None = None) -> str:
    """Return the label of a version: its position in the control topic, and maybe its zones.

    Args:
        position: for each partition the offset before which the version contains all messages.
        zones: number of zones if the version was made because that number changed; otherwise None.

    >>> format_label({0: 5})
    '{"control": {"0": 5}}'
    """
    zoned = {} if zones is None else {"zones": zones}
    return json.dumps({"control": {str(p): position[p] for p in sorted(position)}, **zoned})


def parse_position(manifest: Manifest) -> dict[int, int] | None:
    """Return the position in the control topic from the label of a version.

    Returns:
        The next offset of each partition; None if the version has no label.
    """
    if manifest.label is None:
        return None
    return {int(p): offset for p, offset in json.loads(manifest.label)["control"].items()}
