"""Metrics of a batch, from Spark's progress report, from the driver and from the workers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from covey._types import JsonValue
from covey.stream.batches.decider import DecidedBatch
from covey.stream.events.match_query import OBSERVATION_NAME
from covey.stream.metrics.accumulator import TaskCounts

__all__ = ["BatchMetrics", "CompletedBatch", "build_batch_metrics", "list_completed_batches"]


@dataclass(frozen=True, slots=True)
class BatchMetrics:
    """Counts and times of one completed batch.

    Args:
        batch: number of the batch.
        version: version that decided the batch.
        completed_ms: time at which the batch was completed, in milliseconds since 1970.
        events: number of events; if Spark did not report it, the number of offsets.
        notifications: number of notifications. This count and the next three are None if workers
            reported no counts.
        dead_letters: number of events that could not be decoded.
        errors: number of undecided pairs: an expression of the subscription raises an error on the
            event.
        false_candidates: number of pairs that the index proposed, but that are not notifications.
        changes: number of changes read from the control topic since the previous decision.
        ignored_changes: number of changes that were ignored, because their subscription had an
            equal or higher revision.
        unreadable_changes: number of changes that could not be read.
        oldest_change_age_ms: time from the append of the oldest change until it took effect; 0 if
            there were no changes.
        subscriptions: number of subscriptions in the version.
        segments: number of segments in the version.
        recent_share: share of the regions that are not in the largest segment.
        delay_mean_ms: mean time from the append of an event to the end of the batch; 0 if Spark
            did not report it.
        delay_max_ms: time from the append of the oldest event to the end of the batch; 0 if Spark
            did not report it.
        decide_ms: elapsed time of the decision.
        match_ms: elapsed time in which Spark matched the batch and wrote its rows.
    """

    batch: int
    version: int
    completed_ms: int
    events: int
    notifications: int | None
    dead_letters: int | None
    errors: int | None
    false_candidates: int | None
    changes: int
    ignored_changes: int
    unreadable_changes: int
    oldest_change_age_ms: int
    subscriptions: int
    segments: int
    recent_share: float
    delay_mean_ms: float
    delay_max_ms: float
    decide_ms: float
    match_ms: float


@dataclass(frozen=True, slots=True)
class CompletedBatch:
    """A completed batch in Spark's progress report.

    Args:
        batch: number of the batch.
        completed_ms: time at which the batch was completed, in milliseconds since 1970.
        match_ms: elapsed time in which Spark matched the batch and wrote its rows.
        observed_metrics: counts and times from `observe_events`; empty if Spark did not report
            them.
    """

    batch: int
    completed_ms: int
    match_ms: float
    observed_metrics: Mapping[str, Any]

    @classmethod
    def from_progress(cls, progress: Mapping[str, JsonValue]) -> CompletedBatch | None:
        """Build a batch from a progress report; return None if the report is not about a batch."""
        fields: Mapping[str, Any] = progress
        durations_ms = fields["durationMs"]
        if "addBatch" not in durations_ms:
            return None
        started_ms = datetime.fromisoformat(fields["timestamp"]).timestamp() * 1000
        return cls(
            fields["batchId"],
            round(started_ms + durations_ms["triggerExecution"]),
            durations_ms["addBatch"],
            fields.get("observedMetrics", {}).get(OBSERVATION_NAME, {}),
        )

    @property
    def oldest_event_ms(self) -> int | None:
        """Append time of the oldest event, in milliseconds since 1970; None if it is unknown."""
        oldest: int | None = self.observed_metrics.get("oldest")
        return oldest


def list_completed_batches(query: StreamingQuery, last_batch: int) -> list[CompletedBatch]:
    """Return the completed batches with numbers above `last_batch`, in ascending order.

    Spark reports only its last batches; earlier ones are missing.
    """
    recent = query._jsq.recentProgress()  # Python's `query.recentProgress` would parse every report
    completed: list[CompletedBatch] = []
    for i in reversed(range(len(recent))):
        if recent[i].batchId() <= last_batch:
            break
        batch = CompletedBatch.from_progress(json.loads(recent[i].json()))
        completed += [batch] if batch is not None else []
    return completed[::-1]


def build_batch_metrics(
    decided_batch: DecidedBatch, completed_batch: CompletedBatch, task_counts: TaskCounts | None
) -> BatchMetrics:
    """Build the metrics of a batch from what the driver, Spark and the workers report about it.

    Args:
        decided_batch: the decision, from the driver.
        completed_batch: the batch in Spark's progress report.
        task_counts: the counts of the workers; None if they reported none.
    """
    decision, control_stats, observed = (
        decided_batch.decision,
        decided_batch.control_stats,
        completed_batch.observed_metrics,
    )
    regions = [entry.regions for entry in decided_batch.snapshot.manifest.segments]
    return BatchMetrics(
        batch=decision.batch,
        version=decision.version,
        completed_ms=completed_batch.completed_ms,
        events=observed.get("events", decision.max_event_count),
        notifications=task_counts and task_counts.notifications,
        dead_letters=task_counts and task_counts.dead_letters,
        errors=task_counts and task_counts.errors,
        false_candidates=task_counts and task_counts.candidates - task_counts.notifications,
        changes=control_stats.changes,
        ignored_changes=control_stats.ignored_changes,
        unreadable_changes=control_stats.unreadable_changes,
        oldest_change_age_ms=control_stats.oldest_change_age_ms,
        subscriptions=len(decided_batch.snapshot),
        segments=len(regions),
        recent_share=round(1 - max(regions) / sum(regions), 4) if sum(regions) else 0.0,
        delay_mean_ms=round(
            completed_batch.completed_ms - (observed.get("mean") or completed_batch.completed_ms), 1
        ),
        delay_max_ms=completed_batch.completed_ms
        - (completed_batch.oldest_event_ms or completed_batch.completed_ms),
        decide_ms=round(1000 * decided_batch.seconds, 1),
        match_ms=completed_batch.match_ms,
    )
