"""Events to the rows that leave: decoded by Spark, matched by its Python workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from covey.errors import InvalidArgumentError
from covey.space import Attribute
from covey.spark.matching import find_raising_attributes
from covey.spark.schemas import select_attribute, select_column
from covey.spark.validity import VALIDITY
from covey.spark.zones import ZonePartitioner
from covey.store import Snapshot
from covey.stream.batches.version_source import VersionSource
from covey.stream.config import StreamConfig
from covey.stream.events.decoder import DECODED, EventDecoder
from covey.stream.events.notify_task import LEADING_COLUMNS, OUTPUT_SCHEMA, NotifyTask, OutputTopics
from covey.stream.metrics.accumulator import CountsAccumulator

__all__ = ["OBSERVATION_NAME", "MatchQuery", "RequiredAttributes"]

_KAFKA_COLUMNS = ("topic", "partition", "offset", "timestamp", "key", "value")
_EVENT_ID_COLUMN, _DEAD_LETTER_COLUMN, _TIME_COLUMN = "covey.event", "covey.letter", "covey.at"
_LEADING_COLUMN_NAMES = (_EVENT_ID_COLUMN, _DEAD_LETTER_COLUMN, _TIME_COLUMN, "covey.included")
OBSERVATION_NAME = "covey"
"""The name under which Spark tells what it counted."""


def observe_events(events: DataFrame) -> DataFrame:
    """The same events as Kafka has them, counted by Spark when they go by."""
    ms = F.unix_millis("timestamp")
    return events.observe(
        OBSERVATION_NAME, F.count(F.lit(1)).alias("events"), F.min(ms).alias("oldest"),
        F.avg(ms).alias("mean"),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class RequiredAttributes:
    """The attributes that workers are given, of which some are expressions."""

    attributes: tuple[Attribute, ...] = ()

    def with_attributes_of(self, snapshot: Snapshot) -> RequiredAttributes:
        """These, and what else a version looks at."""
        known = {*self.names, VALIDITY}
        more = [
            snapshot.space[name] for name in snapshot.constrained_attributes if name not in known
        ]
        raising = find_raising_attributes(snapshot.space, snapshot.constrained_attributes)
        known |= {one.name for one in more}
        more += [one.flag for one in raising if one.flag.name not in known]
        return RequiredAttributes((*self.attributes, *more)) if more else self

    @property
    def names(self) -> tuple[str, ...]:
        """What they are called."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def task_columns(self) -> list[Column]:
        """What workers get, as columns whose names do not count."""
        technical = [select_column(name) for name in _LEADING_COLUMN_NAMES]
        return [*technical, *(self.build_column(name) for name in self.names)]

    def build_column(self, name: str) -> Column:
        """What Spark computes of an event for an attribute."""
        return select_attribute(next(one for one in self.attributes if one.name == name))


class MatchQuery:
    """Makes the rows of a stream."""

    def __init__(
        self, decoder: EventDecoder, included_columns: Sequence[str], topics: OutputTopics
    ) -> None:
        known = {name.lower(): name for name in decoder.schema.names}
        for name in included_columns:
            if name.lower() not in known:
                raise InvalidArgumentError(
                    f"[notifications] include names {name!r}, but events have "
                    f"{', '.join(decoder.schema.names)}"
                )
        self.decoder, self._topics = decoder, topics
        self._included_columns = [known[name.lower()] for name in included_columns]
        self._flat_columns = self._flatten_columns()

    @classmethod
    def from_config(cls, config: StreamConfig) -> MatchQuery:
        """As the configuration says."""
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
        """A row for each notification and for each event that cannot be read.

        With a routing events are shuffled to their zones first.
        """
        given = kafka_events if counts is None else observe_events(kafka_events)
        read = given.select(*_KAFKA_COLUMNS, self.decoder.decoded_value.alias(DECODED))
        flat, columns = read.select(*self._flat_columns), required_attributes.task_columns
        places = {name: LEADING_COLUMNS + i for i, name in enumerate(required_attributes.names)}
        if partitioner is None:
            chosen = flat.select(*(one.alias(f"c{i}") for i, one in enumerate(columns)))
        else:
            chosen = partitioner.route_events(
                flat, columns, list(places.values()), required_attributes.build_column
            )
        notices = NotifyTask(
            version_source,
            places,
            self.decoder.dead_letter_formatter,
            self._topics,
            counts,
            partitioner is not None,
        )
        return chosen.mapInArrow(notices, OUTPUT_SCHEMA)

    def _flatten_columns(self) -> list[Column]:
        """What is kept of an event, and its columns under their own names."""
        decoding = self.decoder
        included = F.lit(None).cast("string")
        if self._included_columns:
            included = F.to_json(
                F.struct(
                    *(decoding.get_column(name).alias(name) for name in self._included_columns)
                ),
                {"ignoreNullFields": "false"},
            )
        kept = (decoding.event_id, decoding.dead_letter, F.col("timestamp"), included)
        technical = [one.alias(name) for one, name in zip(kept, _LEADING_COLUMN_NAMES, strict=True)]
        columns = [decoding.get_column(name).alias(name) for name in decoding.schema.names]
        return [*technical, *columns]
