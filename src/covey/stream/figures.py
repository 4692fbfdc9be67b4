"""What is counted of each batch: by Spark as the batch goes by, and by the driver around it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from covey.store import Snapshot
from covey.store.writer import now_ms
from covey.stream.notices import TO_DEAD_LETTERS, TO_SUBSCRIBERS
from covey.stream.records import Record
from covey.stream.subscriptions import Read

__all__ = ["Figures", "Observed"]

_PATIENCE_S = 1.0


@dataclass(frozen=True, slots=True)
class Figures:
    """One batch.

    `in_vain` are pairs that the index proposed and that were no notification. `oldest_change_ms` is
    how long the oldest change of the batch had waited. `recent_share` is the share of regions that
    are not in the largest segment. Delays are from Kafka's taking an event to Kafka's taking all
    that came of the batch. What a sink does not let Spark count is None.
    """

    batch: int
    version: int
    at_ms: int
    events: int
    notifications: int | None
    dead_letters: int | None
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


class Observed:
    """Counts the events of a batch and what comes of them, without another pass over them."""

    def __init__(self) -> None:
        self._events, self._rows = Observation(), Observation()

    def events(self, frame: DataFrame) -> DataFrame:
        """The same events, counted when they go by."""
        at = F.unix_millis("timestamp")
        return frame.observe(
            self._events, F.count(F.lit(1)).alias("events"), F.min(at).alias("oldest"),
            F.avg(at).alias("mean"),
        )  # fmt: skip

    def rows(self, rows: DataFrame) -> DataFrame:
        """The same rows, counted when they go by, without those that go nowhere."""
        counted = rows.observe(
            self._rows,
            F.count_if(F.col("route") == TO_SUBSCRIBERS).alias("notifications"),
            F.count_if(F.col("route") == TO_DEAD_LETTERS).alias("dead_letters"),
            F.sum("proposed").alias("proposed"),
        )
        return counted.where("route >= 0")

    @property
    def oldest_ms(self) -> int | None:
        """When the oldest event was appended, if that is known."""
        oldest: int | None = self._told[0].get("oldest")
        return oldest

    @cached_property
    def _told(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What was observed of events and of rows, after the batch was written."""
        return _told(self._events), _told(self._rows)

    def figures(
        self, record: Record, snapshot: Snapshot, read: Read, decide_s: float, match_s: float
    ) -> Figures:
        """After the batch was written."""
        events, rows = self._told
        now = now_ms()
        regions = [entry.regions for entry in snapshot.version.segments]
        return Figures(
            batch=record.batch,
            version=record.version,
            at_ms=now,
            events=events.get("events", record.count),
            notifications=rows.get("notifications"),
            dead_letters=rows.get("dead_letters"),
            in_vain=(rows["proposed"] or 0) - rows["notifications"] if rows else None,
            changes=read.changes,
            ignored=read.ignored,
            unreadable=read.unreadable,
            oldest_change_ms=read.age_ms,
            subscriptions=len(snapshot),
            segments=len(regions),
            recent_share=round(1 - max(regions) / sum(regions), 4) if sum(regions) else 0.0,
            delay_mean_ms=round(now - (events.get("mean") or now), 1),
            delay_max_ms=now - (events.get("oldest") or now),
            decide_ms=round(1000 * decide_s, 1),
            match_ms=round(1000 * match_s, 1),
        )


def _told(observation: Observation) -> dict[str, Any]:
    """What was observed; nothing if the sink did not do it as Spark observes."""
    until = time.monotonic() + _PATIENCE_S
    observed = observation._jo  # its `get` waits for ever
    while observed is None or not observed.future().isCompleted():
        if time.monotonic() > until:
            return {}
        time.sleep(0.005)
    found: dict[str, Any] = observation.get
    return found
