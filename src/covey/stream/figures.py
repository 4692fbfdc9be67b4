"""What is counted of each batch: by Spark as the batch goes by, and by the driver around it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from covey.stream.counts import Made
from covey.stream.deciding import Decided
from covey.stream.matched import OBSERVED

__all__ = ["Done", "Figures", "done_after", "figures"]


@dataclass(frozen=True, slots=True)
class Figures:
    """One batch.

    `in_vain` are pairs that the index proposed and that were no notification, `errors` those that
    were none because Spark raises on something that the subscription compares. `oldest_change_ms`
    is how long the oldest change of the batch had waited. `recent_share` is the share of regions
    that are not in the largest segment. Delays are from Kafka's taking an event to Kafka's taking
    all that came of the batch. What a sink does not let Spark count is None.
    """

    batch: int
    version: int
    at_ms: int
    events: int
    notifications: int | None
    dead_letters: int | None
    errors: int | None
    in_vain: int | None
    changes: int
    ignored: int
    unreadable: int
    oldest_change_ms: int
    subscriptions: int
    segments: int
    recent_share: float
    delay_mean_ms: float
    delay_max_ms: float
    decide_ms: float
    match_ms: float


@dataclass(frozen=True, slots=True)
class Done:
    """A batch that is done, as Spark tells of it; nothing is `observed` if it could not count."""

    batch: int
    at_ms: int
    match_ms: float
    observed: Mapping[str, Any]

    @classmethod
    def of(cls, progress: Mapping[str, Any]) -> Done | None:
        """From Spark's words; None if there was nothing to do."""
        took = progress["durationMs"]
        if "addBatch" not in took:
            return None
        started_ms = datetime.fromisoformat(progress["timestamp"]).timestamp() * 1000
        return cls(
            progress["batchId"],
            round(started_ms + took["triggerExecution"]),
            took["addBatch"],
            progress.get("observedMetrics", {}).get(OBSERVED, {}),
        )

    @property
    def oldest_ms(self) -> int | None:
        """When the oldest event was appended, if that is known."""
        oldest: int | None = self.observed.get("oldest")
        return oldest


def done_after(query: StreamingQuery, batch: int) -> list[Done]:
    """The batches after one that are done, as far as Spark still knows them."""
    recent = query._jsq.recentProgress()  # which has many, of which Python would read all
    found: list[Done] = []
    for i in reversed(range(len(recent))):
        if recent[i].batchId() <= batch:
            break
        done = Done.of(json.loads(recent[i].json()))
        found += [done] if done is not None else []
    return found[::-1]


def figures(decided: Decided, done: Done, made: Made | None) -> Figures:
    """All of a batch together."""
    record, read, observed = decided.record, decided.read, done.observed
    regions = [entry.regions for entry in decided.snapshot.version.segments]
    return Figures(
        batch=record.batch,
        version=record.version,
        at_ms=done.at_ms,
        events=observed.get("events", record.count),
        notifications=made and made.notifications,
        dead_letters=made and made.dead_letters,
        errors=made and made.errors,
        in_vain=made and made.proposed - made.notifications,
        changes=read.changes,
        ignored=read.ignored,
        unreadable=read.unreadable,
        oldest_change_ms=read.age_ms,
        subscriptions=len(decided.snapshot),
        segments=len(regions),
        recent_share=round(1 - max(regions) / sum(regions), 4) if sum(regions) else 0.0,
        delay_mean_ms=round(done.at_ms - (observed.get("mean") or done.at_ms), 1),
        delay_max_ms=done.at_ms - (done.oldest_ms or done.at_ms),
        decide_ms=round(1000 * decided.seconds, 1),
        match_ms=done.match_ms,
    )
