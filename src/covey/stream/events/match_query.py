"""Query of a stream: Spark decodes events, and its workers match them and build output rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from covey.errors import InvalidArgumentError
from covey.language.clock import bind_clock
from covey.space import Attribute
from covey.spark.matching import find_raising_attributes
from covey.spark.schemas import select_attribute, select_column
from covey.spark.validity import VALIDITY
from covey.spark.zones import ZonePartitioner
from covey.store import Snapshot
from covey.stream.batches.version_source import VersionSource
from covey.stream.config import StreamConfig
from covey.stream.events.decoder import DECODED, EventDecoder
from covey.stream.events.late_rows import LateRows
from covey.stream.events.notify_task import LEADING_COLUMNS, OUTPUT_SCHEMA, NotifyTask, OutputTopics
from covey.stream.metrics.accumulator import CountsAccumulator

__all__ = ["OBSERVATION_NAME", "MatchQuery", "RequiredAttributes"]

_KAFKA_COLUMNS = ("topic", "partition", "offset", "timestamp", "key", "value")
_EVENT_ID_COLUMN, _DEAD_LETTER_COLUMN, _TIME_COLUMN = "covey.event", "covey.letter", "covey.at"
_LEADING_COLUMN_NAMES = (_EVENT_ID_COLUMN, _DEAD_LETTER_COLUMN, _TIME_COLUMN, "covey.included")
OBSERVATION_NAME = "covey"
"""Name under which Spark reports the number and the append times of the events of a batch."""


def observe_events(events: DataFrame) -> DataFrame:
    """Return the events unchanged; Spark then reports counts and times of them for each batch.

    They are the number of events (`events`), and the append time of the oldest one (`oldest`) and
    the mean append time (`mean`), in milliseconds since 1970.
    """
    ms = F.unix_millis("timestamp")
    return events.observe(
        OBSERVATION_NAME, F.count(F.lit(1)).alias("events"), F.min(ms).alias("oldest"),
        F.avg(ms).alias("mean"),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class RequiredAttributes:
    """Attributes that Spark computes for workers: columns, expressions, and flags of expressions.

    The flag of an expression is false for events on which the expression raises an error.

    Args:
        attributes: the attributes.
        late_templates: templates of the late conditions that Spark evaluates for candidates.
        time_ms: time that relative times in expressions refer to, in milliseconds since 1970; None
            for the time of the batch, which Spark knows.
    """

    attributes: tuple[Attribute, ...] = ()
    late_templates: tuple[Attribute, ...] = ()
    time_ms: int | None = None

    def with_attributes_of(self, snapshot: Snapshot) -> RequiredAttributes:
        """Return these attributes and the missing ones that a version constrains, with flags.

        Templates of late conditions are added too. The validity interval is left out. If nothing is
        missing, `self` is returned.
        """
        known = {*self.names, VALIDITY}
        added = [
            snapshot.space[name] for name in snapshot.constrained_attributes if name not in known
        ]
        raising = find_raising_attributes(snapshot.space, snapshot.constrained_attributes)
        known |= {attribute.name for attribute in added}
        added += [attribute.flag for attribute in raising if attribute.flag.name not in known]
        new_templates = [t for t in snapshot.late_templates if t not in self.late_templates]
        if not (added or new_templates):
            return self
        return replace(
            self,
            attributes=(*self.attributes, *added),
            late_templates=(*self.late_templates, *new_templates),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the attributes."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def task_columns(self) -> list[Column]:
        """Columns that workers receive: the leading columns, then the attributes.

        The leading columns are the event id, the dead letter, the append time, and the JSON of the
        included columns.
        """
        leading = [select_column(name) for name in _LEADING_COLUMN_NAMES]
        return [*leading, *(self.build_column(name) for name in self.names)]

    def build_column(self, name: str) -> Column:
        """Return the column with which Spark computes an attribute of an event."""
        attribute = next(one for one in self.attributes if one.name == name)
        if self.time_ms is None or not attribute.is_derived:
            return select_attribute(attribute)
        return F.expr(bind_clock(attribute.sql, self.time_ms))


class MatchQuery:
    """Builder of a stream's DataFrame, from rows of Kafka to output rows.

    Args:
        decoder: decoder of events.
        included_columns: columns of the event that are added to notifications.
        topics: topics of the output rows.

    Raises:
        InvalidArgumentError: an included column is not a column of the events.
    """

    def __init__(
        self, decoder: EventDecoder, included_columns: Sequence[str], topics: OutputTopics
    ) -> None:
        known = {name.lower(): name for name in decoder.schema.names}
        for name in included_columns:
            if name.lower() not in known:
                raise InvalidArgumentError(
                    f"[notifications] include has {name!r}, which is not a column of the events: "
                    f"their columns are {', '.join(decoder.schema.names)}"
                )
        self.decoder, self._topics = decoder, topics
        self._included_columns = [known[name.lower()] for name in included_columns]
        self._flat_columns = self._flatten_columns()

    @classmethod
    def from_config(cls, config: StreamConfig) -> MatchQuery:
        """Build the query for the configuration of a stream."""
        topics = OutputTopics(config.notifications.topic, config.dead_letters.topic)
        return cls(EventDecoder.from_config(config.events), config.notifications.include, topics)

    def build_rows(
        self,
        kafka_events: DataFrame,
        required_attributes: RequiredAttributes,
        version_source: VersionSource,
        *,
        counts: CountsAccumulator | None = None,
        partitioner: ZonePartitioner | None = None,
    ) -> DataFrame:
        """Return a row for each notification and for each event that cannot be decoded.

        Args:
            kafka_events: rows of Spark's Kafka source.
            required_attributes: attributes that Spark computes; they must include all attributes
                that the version constrains.
            version_source: source of the version in workers.
            counts: accumulator to which workers add counts; None to count nothing.
            partitioner: partitioner that shuffles events to their zones; None without zones.
        """
        observed = kafka_events if counts is None else observe_events(kafka_events)
        decoded = observed.select(*_KAFKA_COLUMNS, self.decoder.decoded_value.alias(DECODED))
        flat, columns = decoded.select(*self._flat_columns), required_attributes.task_columns
        late = LateRows(
            required_attributes.late_templates, self.decoder.schema, len(columns),
            required_attributes.time_ms,
        )  # fmt: skip
        columns += [select_column(name) for name in late.columns]
        attribute_columns = {
            name: LEADING_COLUMNS + i for i, name in enumerate(required_attributes.names)
        }
        if partitioner is None:
            task_input = flat.select(*(column.alias(f"c{i}") for i, column in enumerate(columns)))
        else:
            task_input = partitioner.route_events(
                flat, columns, list(attribute_columns.values()), required_attributes.build_column
            )
        task = NotifyTask(
            version_source,
            attribute_columns,
            self.decoder.dead_letter_formatter,
            self._topics,
            counts,
            partitioner is not None,
            late,
        )
        rows = task_input.mapInArrow(task, late.extend_schema(OUTPUT_SCHEMA))
        return late.decide_rows(rows, OUTPUT_SCHEMA.names)

    def _flatten_columns(self) -> list[Column]:
        """Return the leading columns of the task, then all columns of the event by their names."""
        decoder = self.decoder
        included = F.lit(None).cast("string")
        if self._included_columns:
            included = F.to_json(
                F.struct(
                    *(decoder.get_column(name).alias(name) for name in self._included_columns)
                ),
                {"ignoreNullFields": "false"},
            )
        values = (decoder.event_id, decoder.dead_letter, F.col("timestamp"), included)
        leading = [
            value.alias(name) for value, name in zip(values, _LEADING_COLUMN_NAMES, strict=True)
        ]
        columns = [decoder.get_column(name).alias(name) for name in decoder.schema.names]
        return [*leading, *columns]
