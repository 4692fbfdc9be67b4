"""A plan on Kafka: a topic for each broker, fed from the topic of the broker above it.

Each level of the tree is one query. An event goes on to those brokers below its topic whose filter
it is in, as it came. What is delivered again after a failure is there again: at least once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from pathlib import Path

import numpy as np
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from covey.errors import ValueRefused
from covey.plan.saving import SavedPlan
from covey.plan.tree import PUBLISHER
from covey.stream.cluster import Cluster

__all__ = ["Deployment", "Received"]


@dataclass(frozen=True, slots=True)
class Received:
    """What came to a broker: events, their bytes, and which share of all that were published."""

    broker: int
    events: int
    bytes: int
    share: float
    planned: float


@dataclass(frozen=True, slots=True)
class Deployment:
    """`schema` is Spark's of the JSON values in topic `events`; topics are named by `prefix`."""

    plan: SavedPlan
    cluster: Cluster
    events: str
    schema: str
    prefix: str

    def topic(self, broker: int) -> str:
        """The topic of a broker; the publisher's is that of the events."""
        return self.events if broker == PUBLISHER else f"{self.prefix}.{broker}"

    def levels(self) -> Iterator[list[int]]:
        """The brokers of each level, from the publisher's down."""
        parents = self.plan.tree.parents
        level = np.flatnonzero(parents == PUBLISHER)
        while len(level):
            yield level.tolist()
            level = np.flatnonzero(np.isin(parents, level))

    def check(self) -> None:
        """What a plan needs of events is in their schema, and topics are there: or it is said."""
        try:
            schema = StructType.fromDDL(self.schema)
        except PySparkException as error:
            raise ValueRefused(f"the schema of events, {self.schema!r}: {error}") from None
        fields = schema.names if isinstance(schema, StructType) else []
        for name in self.plan.attributes:
            if name.lower() not in map(str.lower, fields):
                raise ValueRefused(
                    f"the schema of events, {self.schema!r}, has no {name}: the plan's filters do"
                )
        for broker in (PUBLISHER, *range(len(self.plan.tree))):
            self.cluster.partitions(self.topic(broker))

    def start(self, spark: SparkSession, checkpoint: str, once: bool) -> Iterator[StreamingQuery]:
        """The query of each level, which begins with the first event that its topics have.

        With `once` a query ends when it has passed on what was there, and then the next begins.
        """
        for number, level in enumerate(self.levels()):
            rows = self._passed_on(spark, level)
            options = {**self.cluster.spark_options, "kafka.acks": "all"}
            writer = rows.writeStream.format("kafka").options(**options)
            writer = writer.option("checkpointLocation", str(Path(checkpoint) / f"level-{number}"))
            query = writer.trigger(availableNow=True).start() if once else writer.start()
            if once:
                query.awaitTermination()
            yield query

    def _passed_on(self, spark: SparkSession, level: list[int]) -> DataFrame:
        parents = self.plan.tree.parents
        above = sorted({self.topic(int(parents[broker])) for broker in level})
        came = (
            spark.readStream.format("kafka")
            .options(**self.cluster.reading)
            .option("subscribe", ",".join(above))
            .option("startingOffsets", "earliest")
            .load()
        )
        event = F.from_json(F.col("value").cast("string"), self.schema)
        read = came.select("topic", "key", "value", event.alias("event"))
        to = F.array_compact(F.array(*(self._wanted(broker) for broker in level)))
        return read.select(F.explode(to).alias("topic"), "key", "value")

    def _wanted(self, broker: int) -> Column:
        """The topic of a broker if an event is from above it and in its filter, else null."""
        low, high = self.plan.filters.of(broker)
        inside: list[Column] = []
        for lower, upper in zip(low.tolist(), high.tolist(), strict=True):
            sides = [
                F.col("event")[name].between(F.lit(a), F.lit(b))
                for name, a, b in zip(self.plan.attributes, lower, upper, strict=True)
            ]
            inside.append(reduce(and_, sides))
        is_in = reduce(or_, inside) if inside else F.lit(False)
        above = F.col("topic") == F.lit(self.topic(int(self.plan.tree.parents[broker])))
        return F.when(above & is_in, F.lit(self.topic(broker)))

    def received(self, spark: SparkSession) -> list[Received]:
        """What all topics have now. Cost: it reads them all."""
        topics = [self.topic(b) for b in (PUBLISHER, *range(len(self.plan.tree)))]
        rows = (
            spark.read.format("kafka")
            .options(**self.cluster.reading)
            .option("subscribe", ",".join(topics))
            .load()
            .groupBy("topic")
            .agg(F.count("*").alias("events"), F.sum(F.length("value")).alias("bytes"))
            .collect()
        )
        found = {row["topic"]: (row["events"], row["bytes"] or 0) for row in rows}
        published, _ = found.get(self.events, (0, 0))
        if not published:
            raise ValueRefused(f"topic {self.events} has no event: nothing can be measured")
        return [
            Received(broker, events, size, events / published, float(planned))
            for broker, planned in enumerate(self.plan.received)
            for events, size in (found.get(self.topic(broker), (0, 0)),)
        ]
