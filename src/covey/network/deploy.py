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

from covey.errors import InvalidArgumentError
from covey.plan import PUBLISHER, SavedPlan
from covey.stream.kafka_cluster import KafkaCluster

__all__ = ["BrokerTraffic", "PlanDeployment"]


@dataclass(frozen=True, slots=True)
class BrokerTraffic:
    """What came to a broker: events, their bytes, and which share of all that were published."""

    broker: int
    events: int
    size_bytes: int
    share: float
    planned_bandwidth: float


@dataclass(frozen=True, slots=True)
class PlanDeployment:
    """`schema` is Spark's of the JSON values in topic `events`; topics are named by `prefix`."""

    plan: SavedPlan
    cluster: KafkaCluster
    event_topic: str
    event_schema: str
    topic_prefix: str

    def get_topic(self, broker: int) -> str:
        """The topic of a broker; the publisher's is that of the events."""
        return self.event_topic if broker == PUBLISHER else f"{self.topic_prefix}.{broker}"

    def iter_levels(self) -> Iterator[list[int]]:
        """The brokers of each level, from the publisher's down."""
        parents = self.plan.tree.parents
        level = np.flatnonzero(parents == PUBLISHER)
        while len(level):
            yield level.tolist()
            level = np.flatnonzero(np.isin(parents, level))

    def validate(self) -> None:
        """What a plan needs of events is in their schema, and topics are there: or it is said."""
        try:
            schema = StructType.fromDDL(self.event_schema)
        except PySparkException as error:
            raise InvalidArgumentError(
                f"the schema of events, {self.event_schema!r}: {error}"
            ) from None
        fields = schema.names if isinstance(schema, StructType) else []
        for name in self.plan.attributes:
            if name.lower() not in map(str.lower, fields):
                raise InvalidArgumentError(
                    f"the schema of events, {self.event_schema!r}, has no {name}: "
                    "the plan's filters do"
                )
        for broker in (PUBLISHER, *range(len(self.plan.tree))):
            self.cluster.list_partitions(self.get_topic(broker))

    def start_queries(
        self, spark: SparkSession, checkpoint_path: str, *, once: bool
    ) -> Iterator[StreamingQuery]:
        """The query of each level, which begins with the first event that its topics have.

        With `once` a query ends when it has passed on what was there, and then the next begins.
        """
        for number, level in enumerate(self.iter_levels()):
            rows = self._route_events(spark, level)
            options = {**self.cluster.spark_options, "kafka.acks": "all"}
            writer = rows.writeStream.format("kafka").options(**options)
            writer = writer.option(
                "checkpointLocation", str(Path(checkpoint_path) / f"level-{number}")
            )
            query = writer.trigger(availableNow=True).start() if once else writer.start()
            if once:
                query.awaitTermination()
            yield query

    def _route_events(self, spark: SparkSession, level: list[int]) -> DataFrame:
        parents = self.plan.tree.parents
        above = sorted({self.get_topic(int(parents[broker])) for broker in level})
        came = (
            spark.readStream.format("kafka")
            .options(**self.cluster.reader_options)
            .option("subscribe", ",".join(above))
            .option("startingOffsets", "earliest")
            .load()
        )
        event = F.from_json(F.col("value").cast("string"), self.event_schema)
        read = came.select("topic", "key", "value", event.alias("event"))
        to = F.array_compact(F.array(*(self._build_topic_column(broker) for broker in level)))
        return read.select(F.explode(to).alias("topic"), "key", "value")

    def _build_topic_column(self, broker: int) -> Column:
        """The topic of a broker if an event is from above it and in its filter, else null."""
        low, high = self.plan.filters.rectangles_of(broker)
        inside: list[Column] = []
        for lower, upper in zip(low.tolist(), high.tolist(), strict=True):
            sides = [
                F.col("event")[name].between(F.lit(a), F.lit(b))
                for name, a, b in zip(self.plan.attributes, lower, upper, strict=True)
            ]
            inside.append(reduce(and_, sides))
        is_in = reduce(or_, inside) if inside else F.lit(False)
        above = F.col("topic") == F.lit(self.get_topic(int(self.plan.tree.parents[broker])))
        return F.when(above & is_in, F.lit(self.get_topic(broker)))

    def measure_traffic(self, spark: SparkSession) -> list[BrokerTraffic]:
        """What all topics have now. Cost: it reads them all."""
        topics = [self.get_topic(b) for b in (PUBLISHER, *range(len(self.plan.tree)))]
        rows = (
            spark.read.format("kafka")
            .options(**self.cluster.reader_options)
            .option("subscribe", ",".join(topics))
            .load()
            .groupBy("topic")
            .agg(F.count("*").alias("events"), F.sum(F.length("value")).alias("bytes"))
            .collect()
        )
        found = {row["topic"]: (row["events"], row["bytes"] or 0) for row in rows}
        published, _ = found.get(self.event_topic, (0, 0))
        if not published:
            raise InvalidArgumentError(
                f"topic {self.event_topic} has no event: nothing can be measured"
            )
        return [
            BrokerTraffic(broker, events, size, events / published, float(planned))
            for broker, planned in enumerate(self.plan.bandwidth_by_broker)
            for events, size in (found.get(self.get_topic(broker), (0, 0)),)
        ]
