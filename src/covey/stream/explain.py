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

from covey._argument_checks import check_arguments, format_value, parse_whole_number
from covey.errors import InvalidArgumentError, StreamError
from covey.geometry import Regions
from covey.geometry.scalars import Scalars
from covey.language import Explanation, explain, render
from covey.spark.validity import VALIDITY, without_validity
from covey.sql_names import quote_identifier
from covey.store import Snapshot
from covey.store.storage import open_storage
from covey.stream.batches.decision_log import BatchDecision, DecisionLog
from covey.stream.config import StreamConfig
from covey.stream.events.decoder import DECODED, EventDecoder
from covey.stream.replay import ReplayRange, open_version

__all__ = ["DecisionExplanation", "explain_decision", "parse_event_ref"]


@dataclass(frozen=True, slots=True)
class PredicateOutcome:
    """One predicate of a subscription, when it counted, and what became of it on the event."""

    from_ms: int | None
    to_ms: int | None
    is_in_effect: bool
    explanation: Explanation


@dataclass(frozen=True, slots=True)
class DecisionExplanation:
    """What was decided on one event for one subscription."""

    event_ref: str
    subscription_id: str
    decision: BatchDecision
    appended_ms: int
    problem: str | None
    revision: int | None
    predicates: tuple[PredicateOutcome, ...]

    @property
    def is_notified(self) -> bool:
        """Whether the subscription was notified of the event."""
        return any(one.is_in_effect and one.explanation.holds for one in self.predicates)

    def __str__(self) -> str:
        return "\n".join(self._format_lines())

    def _format_lines(self) -> Sequence[str]:
        outcome = "was notified of" if self.is_notified else "was not notified of"
        lines = [
            f"{self.subscription_id} {outcome} {self.event_ref}: "
            f"version {self.decision.version}, batch {self.decision.batch}; "
            f"the event was appended at {_format_time(self.appended_ms)}"
        ]
        if self.problem is not None:
            lines.append(f"the event could not be read: {self.problem}")
        elif self.revision is None:
            lines.append(
                f"version {self.decision.version} has no subscription {self.subscription_id}"
            )
        elif not self.predicates:
            lines.append("it had no predicate then: it was cancelled, or could not be read")
        for one in self.predicates:
            counted = "counted" if one.is_in_effect else "did not count then"
            lines.append(
                f"from {_format_time(one.from_ms)} to {_format_time(one.to_ms)}, which {counted}:"
            )
            lines += [f"  {line}" for line in str(one.explanation).splitlines()]
        return lines


def explain_decision(
    spark: SparkSession, config: StreamConfig, event_ref: tuple[str, int, int], subscription_id: str
) -> DecisionExplanation:
    """What the stream decided on the event at a place of Kafka.

    It is a `StreamError` if no batch had it, or if that was longer ago than versions are kept.
    """
    topic, partition, offset = event_ref
    name = f"{topic}-{partition}-{offset}"
    record = DecisionLog(open_storage(config.state.path)).find_by_event(topic, partition, offset)
    if record is None:
        raise StreamError(
            f"no batch is known that had {name}: it was not decided yet, or longer ago than "
            f"[state] retention_s = {config.state.retention_s} seconds"
        )
    snapshot = open_version(config, record.version)
    (row,) = snapshot.find_rows([subscription_id]).tolist()
    first, end = {topic: {str(partition): offset}}, {topic: {str(partition): offset + 1}}
    past = ReplayRange.from_offsets(config, first, end)
    event = _load_event(spark, config, past, snapshot, name)
    revision = None if row < 0 else int(snapshot.take_revisions(np.array([row]))[0])
    counted: list[PredicateOutcome] = []
    if row >= 0 and event["problem"] is None:
        regions, _ = snapshot.take_regions(np.array([row]))
        counted = _explain_regions(regions, event["at"], event["values"])
    return DecisionExplanation(
        name, subscription_id, record, event["at"], event["problem"], revision, tuple(counted)
    )


@check_arguments
def parse_event_ref(text: str) -> tuple[str, int, int]:
    """Where an event is on Kafka.

    >>> parse_event_ref("new-ads-0-17")
    ('new-ads', 0, 17)
    """
    parts = text.rsplit("-", 2)
    numbers = [parse_whole_number(part) for part in parts[1:]]
    if len(parts) != 3 or not parts[0] or None in numbers:
        raise InvalidArgumentError(
            f"{format_value(text)} is no place of an event: write TOPIC-PARTITION-OFFSET"
        )
    return parts[0], int(parts[1]), int(parts[2])


def _load_event(
    spark: SparkSession,
    config: StreamConfig,
    replay_range: ReplayRange,
    snapshot: Snapshot,
    event_ref: str,
) -> dict[str, Any]:
    """The event as predicates see it: columns and derived attributes, or why it cannot be read."""
    decoding = EventDecoder.from_config(config.events)
    read = replay_range.read_events(spark, config).withColumn(DECODED, decoding.decoded_value)
    columns = [decoding.get_column(one).alias(one) for one in decoding.schema.names]
    letter = decoding.dead_letter.alias("covey.letter")
    at = F.unix_millis("timestamp").alias("covey.at")
    flat = read.select(at, letter, *columns)
    derived = [F.expr(one.sql).alias(f"d{i}") for i, one in enumerate(snapshot.space.derived)]
    kept = [F.col(quote_identifier(one)) for one in flat.columns]
    rows = flat.select(*kept, *derived).collect()
    if not rows:
        raise StreamError(f"Kafka has no event {event_ref} that was committed")
    given = rows[0].asDict()
    values = {one: given[one] for one in decoding.schema.names}
    values |= {one.name: given[f"d{i}"] for i, one in enumerate(snapshot.space.derived)}
    values = {key: _to_utc(value) for key, value in values.items()}
    dead, problem = given["covey.letter"], None
    if dead is not None:
        problem = decoding.dead_letter_formatter.find_reason(
            dead["value"] and bytes(dead["value"]), dead["decoded"]
        )
    return {"at": given["covey.at"], "problem": problem, "values": values}


def _explain_regions(
    regions: Regions, appended_ms: int, values: dict[str, Any]
) -> list[PredicateOutcome]:
    """Each region as a predicate with its lifetime; what only remembers a revision is none."""
    found = []
    for row in range(len(regions)):
        lifetime = regions.gather_constraints(regions.space[VALIDITY], np.array([row]))
        assert isinstance(lifetime, Scalars)
        low, high = int(lifetime.lower[0]), int(lifetime.upper[0])
        if low == high and low % 1000:
            continue
        others = {name: c for name, c in regions.constraints.items() if name != VALIDITY}
        plain = replace(regions, constraints=others)
        space = without_validity(regions.space)
        text = render(replace(plain, space=space), row)
        found.append(
            PredicateOutcome(
                None if low < -(1 << 61) else low // 1000,
                None if high > 1 << 61 else (high + 1) // 1000,
                low <= appended_ms * 1000 <= high,
                explain(space, text, values),
            )
        )
    return sorted(found, key=lambda one: one.from_ms or 0)


def _to_utc(value: Any) -> Any:
    """Times as Spark gives them, which are of this machine's zone, with that zone."""
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def _format_time(ms: int | None) -> str:
    if ms is None:
        return "ever"
    when = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)
    return when.isoformat(timespec="milliseconds")
