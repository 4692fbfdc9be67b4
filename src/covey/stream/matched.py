"""Events to the rows that leave: decoded by Spark, matched by its Python workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from covey.errors import ValueRefused
from covey.space import Attribute
from covey.spark.lifetimes import LIFETIME
from covey.spark.raised import raising_attributes
from covey.spark.routing import Routing
from covey.spark.schemas import column_named, derived_or_column
from covey.store import Snapshot
from covey.stream.config import Config
from covey.stream.counts import Counts
from covey.stream.events import READ, Decoding
from covey.stream.notices import KEPT, ROWS, Notices, Topics
from covey.stream.versions import Versions

__all__ = ["OBSERVED", "Matched", "Wanted"]

_FROM_KAFKA = ("topic", "partition", "offset", "timestamp", "key", "value")
_EVENT, _LETTER, _AT = "covey.event", "covey.letter", "covey.at"
_TECHNICAL = (_EVENT, _LETTER, _AT, "covey.included")
OBSERVED = "covey"
"""The name under which Spark tells what it counted."""


def observed(events: DataFrame) -> DataFrame:
    """The same events as Kafka has them, counted by Spark when they go by."""
    ms = F.unix_millis("timestamp")
    return events.observe(
        OBSERVED, F.count(F.lit(1)).alias("events"), F.min(ms).alias("oldest"),
        F.avg(ms).alias("mean"),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Wanted:
    """The attributes that workers are given, of which some are expressions."""

    attributes: tuple[Attribute, ...] = ()

    def and_of(self, snapshot: Snapshot) -> Wanted:
        """These, and what else a version looks at."""
        known = {*self.names, LIFETIME}
        more = [snapshot.space[name] for name in snapshot.constrained if name not in known]
        raising = raising_attributes(snapshot.space, snapshot.constrained)
        known |= {one.name for one in more}
        more += [one.flag for one in raising if one.flag.name not in known]
        return Wanted((*self.attributes, *more)) if more else self

    @property
    def names(self) -> tuple[str, ...]:
        """What they are called."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def columns(self) -> list[Column]:
        """What workers get, as columns whose names do not count."""
        technical = [column_named(name) for name in _TECHNICAL]
        return [*technical, *(self.attribute(name) for name in self.names)]

    def attribute(self, name: str) -> Column:
        """What Spark computes of an event for an attribute."""
        return derived_or_column(next(one for one in self.attributes if one.name == name))


class Matched:
    """Makes the rows of a stream."""

    def __init__(self, decoding: Decoding, include: Sequence[str], topics: Topics) -> None:
        known = {name.lower(): name for name in decoding.schema.names}
        for name in include:
            if name.lower() not in known:
                raise ValueRefused(
                    f"[notifications] include names {name!r}, but events have "
                    f"{', '.join(decoding.schema.names)}"
                )
        self.decoding, self._topics = decoding, topics
        self._include = [known[name.lower()] for name in include]
        self._flat = self._flattened()

    @classmethod
    def of(cls, config: Config) -> Matched:
        """As the configuration says."""
        topics = Topics(config.notifications.topic, config.dead_letters.topic)
        return cls(Decoding.of(config.events), config.notifications.include, topics)

    def rows(
        self,
        frame: DataFrame,
        wanted: Wanted,
        versions: Versions,
        counts: Counts | None = None,
        routing: Routing | None = None,
    ) -> DataFrame:
        """A row for each notification and for each event that cannot be read.

        With a routing events are shuffled to their zones first.
        """
        given = frame if counts is None else observed(frame)
        read = given.select(*_FROM_KAFKA, self.decoding.read.alias(READ))
        flat, columns = read.select(*self._flat), wanted.columns
        places = {name: KEPT + i for i, name in enumerate(wanted.names)}
        if routing is None:
            chosen = flat.select(*(one.alias(f"c{i}") for i, one in enumerate(columns)))
        else:
            chosen = routing.routed(flat, columns, list(places.values()), wanted.attribute)
        notices = Notices(
            versions, places, self.decoding.unreadable, self._topics, counts, routing is not None
        )
        return chosen.mapInArrow(notices, ROWS)

    def _flattened(self) -> list[Column]:
        """What is kept of an event, and its columns under their own names."""
        decoding = self.decoding
        included = F.lit(None).cast("string")
        if self._include:
            included = F.to_json(
                F.struct(*(decoding.column(name).alias(name) for name in self._include)),
                {"ignoreNullFields": "false"},
            )
        kept = (decoding.event, decoding.letter, F.col("timestamp"), included)
        technical = [one.alias(name) for one, name in zip(kept, _TECHNICAL, strict=True)]
        columns = [decoding.column(name).alias(name) for name in decoding.schema.names]
        return [*technical, *columns]
