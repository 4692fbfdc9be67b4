"""What is counted of each batch: by Spark as the batch goes by, and by the driver around it."""

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
    """One batch.

    `false_candidates` are pairs that the index proposed and that were no notification, `errors`
    those that were none because Spark raises on something that the subscription compares.
    `oldest_change_age_ms` is how long the oldest change of the batch had waited. `recent_share` is
    the share of regions that are not in the largest segment. Delays are from Kafka's taking an
    event to Kafka's taking all that came of the batch. What a sink does not let Spark count is
    None.
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
    """A batch that is done, as Spark tells of it.

    `observed_metrics` is empty if Spark could not count.
    """

    batch: int
    completed_ms: int
    match_ms: float
    observed_metrics: Mapping[str, Any]

    @classmethod
    def from_progress(cls, progress: Mapping[str, JsonValue]) -> CompletedBatch | None:
        """From Spark's words; None if there was nothing to do."""
        fields: Mapping[str, Any] = progress
        took = fields["durationMs"]
        if "addBatch" not in took:
            return None
        started_ms = datetime.fromisoformat(fields["timestamp"]).timestamp() * 1000
        return cls(
            fields["batchId"],
            round(started_ms + took["triggerExecution"]),
            took["addBatch"],
            fields.get("observedMetrics", {}).get(OBSERVATION_NAME, {}),
        )

    @property
    def oldest_event_ms(self) -> int | None:
        """When the oldest event was appended, if that is known."""
        oldest: int | None = self.observed_metrics.get("oldest")
        return oldest


def list_completed_batches(query: StreamingQuery, last_batch: int) -> list[CompletedBatch]:
    """The batches after one that are done, as far as Spark still knows them."""
    recent = query._jsq.recentProgress()  # which has many, of which Python would read all
    found: list[CompletedBatch] = []
    for i in reversed(range(len(recent))):
        if recent[i].batchId() <= last_batch:
            break
        done = CompletedBatch.from_progress(json.loads(recent[i].json()))
        found += [done] if done is not None else []
    return found[::-1]


def build_batch_metrics(
    decided_batch: DecidedBatch, completed_batch: CompletedBatch, task_counts: TaskCounts | None
) -> BatchMetrics:
    """All of a batch together."""
    record, read, observed = (
        decided_batch.decision,
        decided_batch.control_stats,
        completed_batch.observed_metrics,
    )
    regions = [entry.regions for entry in decided_batch.snapshot.manifest.segments]
    return BatchMetrics(
        batch=record.batch,
        version=record.version,
        completed_ms=completed_batch.completed_ms,
        events=observed.get("events", record.max_event_count),
        notifications=task_counts and task_counts.notifications,
        dead_letters=task_counts and task_counts.dead_letters,
        errors=task_counts and task_counts.errors,
        false_candidates=task_counts and task_counts.candidates - task_counts.notifications,
        changes=read.changes,
        ignored_changes=read.ignored_changes,
        unreadable_changes=read.unreadable_changes,
        oldest_change_age_ms=read.oldest_change_age_ms,
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
