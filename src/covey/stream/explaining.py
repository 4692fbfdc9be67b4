"""Why a subscription was notified of an event, or was not: what was decided then, and by what.

Version, regions and lifetimes are those of the batch that had the event, whatever changed since.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from covey.errors import StreamError, ValueRefused
from covey.geometry import Regions
from covey.geometry.scalars import Scalars
from covey.language import Explanation, explain, render
from covey.quoting import quoted
from covey.spark.lifetimes import LIFETIME, without_lifetime
from covey.store import Snapshot
from covey.store.places import directory_at
from covey.stream.config import Config
from covey.stream.events import READ, Decoding
from covey.stream.past import Past, version_at
from covey.stream.records import Record, Records

__all__ = ["Decision", "decision", "parse_place"]


@dataclass(frozen=True, slots=True)
class Counted:
    """One predicate of a subscription, when it counted, and what became of it on the event."""

    from_ms: int | None
    to_ms: int | None
    counts: bool
    explanation: Explanation


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided on one event for one subscription."""

    event: str
    subscription: str
    record: Record
    appended_ms: int
    problem: str | None
    revision: int | None
    predicates: tuple[Counted, ...]

    @property
    def is_notified(self) -> bool:
        """Whether the subscription was notified of the event."""
        return any(one.counts and one.explanation.holds for one in self.predicates)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Sequence[str]:
        outcome = "was notified of" if self.is_notified else "was not notified of"
        lines = [
            f"{self.subscription} {outcome} {self.event}: version {self.record.version}, batch "
            f"{self.record.batch}; the event was appended at {_when(self.appended_ms)}"
        ]
        if self.problem is not None:
            lines.append(f"the event could not be read: {self.problem}")
        elif self.revision is None:
            lines.append(f"version {self.record.version} has no subscription {self.subscription}")
        elif not self.predicates:
            lines.append("it had no predicate then: it was cancelled, or could not be read")
        for one in self.predicates:
            counted = "counted" if one.counts else "did not count then"
            lines.append(f"from {_when(one.from_ms)} to {_when(one.to_ms)}, which {counted}:")
            lines += [f"  {line}" for line in str(one.explanation).splitlines()]
        return lines


def decision(
    spark: SparkSession, config: Config, place: tuple[str, int, int], subscription: str
) -> Decision:
    """What the stream decided on the event at a place of Kafka.

    It is a `StreamError` if no batch had it, or if that was longer ago than versions are kept.
    """
    topic, partition, offset = place
    name = f"{topic}-{partition}-{offset}"
    record = Records(directory_at(config.state.path)).of_event(topic, partition, offset)
    if record is None:
        raise StreamError(
            f"no batch is known that had {name}: it was not decided yet, or longer ago than "
            f"[state] retention_s = {config.state.retention_s} seconds"
        )
    snapshot = version_at(config, record.version)
    (row,) = snapshot.find([subscription]).tolist()
    first, end = {topic: {str(partition): offset}}, {topic: {str(partition): offset + 1}}
    past = Past.between(config, first, end)
    event = _event(spark, config, past, snapshot, name)
    revision = None if row < 0 else int(snapshot.revisions(np.array([row]))[0])
    counted: list[Counted] = []
    if row >= 0 and event["problem"] is None:
        regions, _ = snapshot.regions(np.array([row]))
        counted = _counted(regions, event["at"], event["values"])
    return Decision(
        name, subscription, record, event["at"], event["problem"], revision, tuple(counted)
    )


def parse_place(text: str) -> tuple[str, int, int]:
    """Where an event is on Kafka.

    >>> parse_place("new-ads-0-17")
    ('new-ads', 0, 17)
    """
    parts = text.rsplit("-", 2)
    if len(parts) != 3 or not (parts[1].isdecimal() and parts[2].isdecimal()) or not parts[0]:
        raise ValueRefused(f"{text!r} is no place of an event: write TOPIC-PARTITION-OFFSET")
    return parts[0], int(parts[1]), int(parts[2])


def _event(
    spark: SparkSession, config: Config, past: Past, snapshot: Snapshot, name: str
) -> dict[str, Any]:
    """The event as predicates see it: columns and derived attributes, or why it cannot be read."""
    decoding = Decoding.of(config.events)
    read = past.events(spark, config).withColumn(READ, decoding.read)
    columns = [decoding.column(one).alias(one) for one in decoding.schema.names]
    letter = decoding.letter.alias("covey.letter")
    at = F.unix_millis("timestamp").alias("covey.at")
    flat = read.select(at, letter, *columns)
    derived = [F.expr(one.sql).alias(f"d{i}") for i, one in enumerate(snapshot.space.derived)]
    kept = [F.col(quoted(one)) for one in flat.columns]
    rows = flat.select(*kept, *derived).collect()
    if not rows:
        raise StreamError(f"Kafka has no event {name} that was committed")
    given = rows[0].asDict()
    values = {one: given[one] for one in decoding.schema.names}
    values |= {one.name: given[f"d{i}"] for i, one in enumerate(snapshot.space.derived)}
    values = {key: _with_zone(value) for key, value in values.items()}
    dead, problem = given["covey.letter"], None
    if dead is not None:
        problem = decoding.unreadable.reason(dead["value"] and bytes(dead["value"]), dead["read"])
    return {"at": given["covey.at"], "problem": problem, "values": values}


def _counted(regions: Regions, at_ms: int, event: dict[str, Any]) -> list[Counted]:
    """Each region as a predicate with its lifetime; what only remembers a revision is none."""
    found = []
    for row in range(len(regions)):
        lifetime = regions.batch(regions.space[LIFETIME], np.array([row]))
        assert isinstance(lifetime, Scalars)
        low, high = int(lifetime.lower[0]), int(lifetime.upper[0])
        if low == high and low % 1000:
            continue
        others = {name: c for name, c in regions.constraints.items() if name != LIFETIME}
        plain = replace(regions, constraints=others)
        space = without_lifetime(regions.space)
        text = render(replace(plain, space=space), row)
        found.append(
            Counted(
                None if low < -(1 << 61) else low // 1000,
                None if high > 1 << 61 else (high + 1) // 1000,
                low <= at_ms * 1000 <= high,
                explain(space, text, event),
            )
        )
    return sorted(found, key=lambda one: one.from_ms or 0)


def _with_zone(value: Any) -> Any:
    """Times as Spark gives them, which are of this machine's zone, with that zone."""
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def _when(ms: int | None) -> str:
    if ms is None:
        return "ever"
    when = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)
    return when.isoformat(timespec="milliseconds")
