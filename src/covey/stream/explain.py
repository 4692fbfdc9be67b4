"""Explanation of a past decision: why a subscription was notified of an event, or why not.

The version that decided the event's batch supplies the regions and validity intervals; later
changes have no effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from covey._argument_checks import check_arguments, format_value, parse_whole_number
from covey.errors import InvalidArgumentError, StreamError
from covey.geometry import Regions
from covey.geometry.scalars import Scalars
from covey.language import Explanation, explain, parse, render
from covey.language.clock import bind_clock
from covey.space import Attribute, Space
from covey.spark.fitting import UNLIMITED, SparkExpressionTypes
from covey.spark.schemas import convert_to_utc
from covey.spark.validity import VALIDITY, drop_validity
from covey.sql_names import quote_identifier
from covey.store.storage import open_storage
from covey.stream.batches.decision_log import BatchDecision, DecisionLog
from covey.stream.config import StreamConfig
from covey.stream.events.decoder import DECODED, EventDecoder
from covey.stream.replay import ReplayRange, open_version

__all__ = ["DecisionExplanation", "explain_decision", "find_decision", "parse_event_ref"]


@dataclass(frozen=True, slots=True)
class PredicateOutcome:
    """Outcome of one predicate of a subscription on an event.

    Args:
        from_ms: start of the validity interval, in milliseconds since 1970; None if it has no
            start.
        to_ms: end of the validity interval, exclusive, in milliseconds since 1970; None if it has
            no end.
        is_in_effect: whether the validity interval contains the append time of the event.
        explanation: the predicate, evaluated on the event condition by condition.
    """

    from_ms: int | None
    to_ms: int | None
    is_in_effect: bool
    explanation: Explanation


@dataclass(frozen=True, slots=True)
class DecisionExplanation:
    """Decision on one event for one subscription, with the reasons; `str` returns it as text.

    Args:
        event_ref: address of the event, `topic-partition-offset`.
        subscription_id: id of the subscription.
        decision: newest batch decision that contains the event.
        appended_ms: time at which Kafka appended the event, in milliseconds since 1970.
        problem: why the event could not be decoded; None if it could.
        revision: revision of the subscription in the deciding version; None if that version does
            not contain the subscription.
        predicates: outcomes of the subscription's predicates, ordered by start of validity.
    """

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
        verb = "was notified of" if self.is_notified else "was not notified of"
        lines = [
            f"{self.subscription_id} {verb} {self.event_ref}: "
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
            lines.append(
                "the subscription had no predicate at that time: it was cancelled, or its "
                "predicate could not be read"
            )
        for outcome in self.predicates:
            effect = "in effect" if outcome.is_in_effect else "not in effect"
            start, end = _format_time(outcome.from_ms), _format_time(outcome.to_ms)
            lines.append(f"valid from {start} to {end} ({effect}):")
            lines += [f"  {line}" for line in str(outcome.explanation).splitlines()]
        return lines


def explain_decision(
    spark: SparkSession, config: StreamConfig, event_ref: tuple[str, int, int], subscription_id: str
) -> DecisionExplanation:
    """Explain what the stream decided on an event for a subscription.

    Args:
        spark: session that reads the event from Kafka.
        config: configuration of the stream.
        event_ref: topic, partition and offset of the event.
        subscription_id: id of the subscription.

    Raises:
        InvalidArgumentError: neither the version that decided the event nor the newest one has the
            subscription.
        StreamError: no batch decision in the log contains the event, or Kafka no longer has it or
            cannot be reached.
        StoreError: the version that decided the event was vacuumed.
    """
    topic, partition, offset = event_ref
    name = f"{topic}-{partition}-{offset}"
    decision = find_decision(config, event_ref, subscription_id)
    snapshot = open_version(config, decision.version)
    (row,) = snapshot.find_rows([subscription_id]).tolist()
    first, end = {topic: {str(partition): offset}}, {topic: {str(partition): offset + 1}}
    event_range = ReplayRange.from_offsets(config, first, end)
    decoder = EventDecoder.from_config(config.events)
    found = np.array([row] if row >= 0 else [], np.int64)
    regions, _ = snapshot.take_regions(found)
    plain = drop_validity(regions)
    texts = [render(plain, i) for i in range(len(plain))]
    # Spark computes every expression of the texts, also those of late conditions.
    types = SparkExpressionTypes(spark, decoder.schema, (), max_attributes=UNLIMITED)
    space = parse(replace(plain.space, derived=()), texts, types=types).space
    rows = event_range.read_events(spark, config)
    event = _load_event(rows, decoder, space.derived, decision.time_ms, name)
    revision = None if row < 0 else int(snapshot.take_revisions(found)[0])
    outcomes: list[PredicateOutcome] = []
    if event["problem"] is None:
        outcomes = _explain_regions(regions, texts, space, event["at"], event["values"])
    return DecisionExplanation(
        name, subscription_id, decision, event["at"], event["problem"], revision, tuple(outcomes)
    )


def find_decision(
    config: StreamConfig, event_ref: tuple[str, int, int], subscription_id: str
) -> BatchDecision:
    """Return the newest batch decision that contains an event; only the state folder is read.

    Raises:
        InvalidArgumentError: neither the version that decided the event nor the newest one has the
            subscription.
        StreamError: no batch decision in the log contains the event.
        StoreError: the version that decided the event was vacuumed.
    """
    name = "-".join(map(str, event_ref))
    log = DecisionLog(open_storage(config.state.path))
    decision = log.find_by_event(*event_ref)
    if decision is None and next(log.iter_newest_first(), None) is None:
        raise StreamError(
            f"the state folder {config.state.path} contains no decision of a stream: check "
            "[state] path, or start the stream with `covey stream`"
        )
    if decision is None:
        raise StreamError(
            f"no batch decision contains {name}: it has not been decided yet, was published before "
            "the stream began to read, or was decided more than [state] retention_s = "
            f"{config.state.retention_s} seconds ago"
        )
    snapshots = [open_version(config, version) for version in (decision.version, None)]
    if all(snapshot.find_rows([subscription_id])[0] < 0 for snapshot in snapshots):
        raise InvalidArgumentError(
            f"there is no subscription {subscription_id}, neither in version {decision.version}, "
            f"which decided {name}, nor in the newest version: check the id"
        )
    return decision


@check_arguments
def parse_event_ref(text: str) -> tuple[str, int, int]:
    """Parse an event ref into topic, partition and offset.

    Raises:
        InvalidArgumentError: `text` is not an event ref.

    >>> parse_event_ref("new-ads-0-17")
    ('new-ads', 0, 17)
    """
    parts = text.rsplit("-", 2)
    numbers = [parse_whole_number(part) for part in parts[1:]]
    if len(parts) != 3 or not parts[0] or None in numbers:
        raise InvalidArgumentError(
            f"{format_value(text)} is not an event ref: write TOPIC-PARTITION-OFFSET"
        )
    return parts[0], int(parts[1]), int(parts[2])


def _load_event(
    rows: DataFrame,
    decoder: EventDecoder,
    derived: Sequence[Attribute],
    time_ms: int,
    event_ref: str,
) -> dict[str, Any]:
    """Read one event from Kafka and compute its attributes.

    Args:
        rows: the event as a row of Spark's Kafka source.
        decoder: decoder of events.
        derived: the derived attributes that are computed.
        time_ms: time of the batch, in milliseconds since 1970.
        event_ref: address of the event.

    Returns:
        A dictionary with three keys. `at` is the append time in milliseconds since 1970. `problem`
        is the reason why the event cannot be decoded, or None. `values` contains the values of
        columns and derived attributes by name.
    """
    decoded = rows.withColumn(DECODED, decoder.decoded_value)
    columns = [decoder.get_column(name).alias(name) for name in decoder.schema.names]
    letter = decoder.dead_letter.alias("covey.letter")
    at = F.unix_millis("timestamp").alias("covey.at")
    flat = decoded.select(at, letter, *columns)
    computed = [
        F.expr(bind_clock(attribute.sql, time_ms)).alias(f"d{i}")
        for i, attribute in enumerate(derived)
    ]
    event_columns = [F.col(quote_identifier(name)) for name in flat.columns]
    selected = flat.select(*event_columns, *computed)
    found = selected.collect()
    if not found:
        raise StreamError(
            f"Kafka has no committed event {event_ref}: the offset belongs to an aborted "
            "transaction, or to no message"
        )
    fields: dict[str, Any] = convert_to_utc(found[0].asDict(), selected.schema)
    values = {name: fields[name] for name in decoder.schema.names}
    values |= {attribute.name: fields[f"d{i}"] for i, attribute in enumerate(derived)}
    dead_letter, problem = fields["covey.letter"], None
    if dead_letter is not None:
        problem = decoder.dead_letter_formatter.find_reason(
            dead_letter["value"] and bytes(dead_letter["value"]), dead_letter["decoded"]
        )
    return {"at": fields["covey.at"], "problem": problem, "values": values}


def _explain_regions(
    regions: Regions,
    texts: Sequence[str],
    space: Space,
    appended_ms: int,
    values: dict[str, Any],
) -> list[PredicateOutcome]:
    """Return the outcome of each region, in the order of their starts.

    Revision markers are left out.

    Args:
        regions: the regions, with their validity intervals.
        texts: for each region its predicate.
        space: space with the derived attributes of the predicates.
        appended_ms: append time of the event, in milliseconds since 1970.
        values: the event's values of columns and derived attributes, by name.
    """
    outcomes = []
    for row, text in enumerate(texts):
        validity = regions.gather_constraints(regions.space[VALIDITY], np.array([row]))
        assert isinstance(validity, Scalars)
        low, high = int(validity.lower[0]), int(validity.upper[0])
        if low == high and low % 1000:
            continue
        outcomes.append(
            PredicateOutcome(
                None if low < -(1 << 61) else low // 1000,
                None if high > 1 << 61 else (high + 1) // 1000,
                low <= appended_ms * 1000 <= high,
                explain(space, text, values),
            )
        )
    return sorted(outcomes, key=lambda outcome: outcome.from_ms or 0)


def _format_time(ms: int | None) -> str:
    if ms is None:
        return "unbounded"
    when = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)
    return when.isoformat(timespec="milliseconds")
