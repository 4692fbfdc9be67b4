"""Deployment of a plan on Kafka: one topic per broker, filled from the topic of its parent.

Each level of the broker tree is one streaming query. It forwards an event unchanged from the topic
of a broker to the topics of those child brokers whose filters contain the event. Delivery is at
least once: after a failure an event may be forwarded again.
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
    """Measured traffic of one broker.

    Args:
        broker: number of the broker.
        events: number of events in the broker's topic.
        size_bytes: total size of the values of these events, without keys.
        share: `events`, divided by the number of published events.
        planned_bandwidth: bandwidth of the broker in the plan.
    """

    broker: int
    events: int
    size_bytes: int
    share: float
    planned_bandwidth: float


@dataclass(frozen=True, slots=True)
class PlanDeployment:
    """Plan together with the Kafka topics on which it runs.

    Args:
        plan: the broker tree and the filters.
        cluster: the Kafka cluster.
        event_topic: topic of the published events, whose values are JSON.
        event_schema: Spark schema of the events, as DDL text such as `x DOUBLE, y DOUBLE`.
        topic_prefix: the topic of broker n is `<topic_prefix>.<n>`.
    """

    plan: SavedPlan
    cluster: KafkaCluster
    event_topic: str
    event_schema: str
    topic_prefix: str

    def get_topic(self, broker: int) -> str:
        """Return the topic of a broker; the topic of the publisher is `event_topic`."""
        return self.event_topic if broker == PUBLISHER else f"{self.topic_prefix}.{broker}"

    def iter_levels(self) -> Iterator[list[int]]:
        """Yield the brokers of each level of the tree, beginning with the publisher's children."""
        parents = self.plan.tree.parents
        level = np.flatnonzero(parents == PUBLISHER)
        while len(level):
            yield level.tolist()
            level = np.flatnonzero(np.isin(parents, level))

    def validate(self) -> None:
        """Raise an error if the schema of events does not suit the plan, or a topic is missing.

        Raises:
            InvalidArgumentError: if Spark cannot parse `event_schema`, or it lacks an attribute of
                the plan.
            StreamError: if a topic does not exist, or Kafka cannot be reached.
        """
        try:
            schema = StructType.fromDDL(self.event_schema)
        except PySparkException as error:
            raise InvalidArgumentError(
                f"the schema of events {self.event_schema!r} cannot be parsed (an example is "
                f"x DOUBLE, y DOUBLE): {error}"
            ) from None
        fields = schema.names if isinstance(schema, StructType) else []
        for name in self.plan.attributes:
            if name.lower() not in map(str.lower, fields):
                raise InvalidArgumentError(
                    f"the schema of events {self.event_schema!r} has no {name}, which the filters "
                    "of the plan use: add it to the schema"
                )
        for broker in (PUBLISHER, *range(len(self.plan.tree))):
            self.cluster.list_partitions(self.get_topic(broker))

    def start_queries(
        self, spark: SparkSession, checkpoint_path: str, *, once: bool
    ) -> Iterator[StreamingQuery]:
        """Start the query of each level of the broker tree, and yield the query.

        A query is started only when the iterator reaches it.

        Args:
            spark: session of the queries.
            checkpoint_path: folder for the checkpoints of the queries; without a checkpoint, a
                query begins with the first event of its topics.
            once: if true, each query ends when it has forwarded the existing events, and the query
                of the next level starts after that. If false, all queries run until they are
                stopped.
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
        """Return the rows that the query of a level writes, with `topic`, `key` and `value`.

        There is one row for each event and each broker of the level to which it is forwarded.
        """
        parents = self.plan.tree.parents
        parent_topics = sorted({self.get_topic(int(parents[broker])) for broker in level})
        kafka_events = (
            spark.readStream.format("kafka")
            .options(**self.cluster.reader_options)
            .option("subscribe", ",".join(parent_topics))
            .option("startingOffsets", "earliest")
            .load()
        )
        event = F.from_json(F.col("value").cast("string"), self.event_schema)
        decoded = kafka_events.select("topic", "key", "value", event.alias("event"))
        targets = F.array_compact(F.array(*(self._build_topic_column(broker) for broker in level)))
        return decoded.select(F.explode(targets).alias("topic"), "key", "value")

    def _build_topic_column(self, broker: int) -> Column:
        """Return a column with the topic of the broker for each event to forward to the broker.

        For other events, the column is null. An event is forwarded if it is in the topic of the
        broker's parent and the broker's filter contains it.
        """
        low, high = self.plan.filters.rectangles_of(broker)
        in_rectangle: list[Column] = []
        for lower, upper in zip(low.tolist(), high.tolist(), strict=True):
            sides = [
                F.col("event")[name].between(F.lit(a), F.lit(b))
                for name, a, b in zip(self.plan.attributes, lower, upper, strict=True)
            ]
            in_rectangle.append(reduce(and_, sides))
        in_filter = reduce(or_, in_rectangle) if in_rectangle else F.lit(False)
        from_parent = F.col("topic") == F.lit(self.get_topic(int(self.plan.tree.parents[broker])))
        return F.when(from_parent & in_filter, F.lit(self.get_topic(broker)))

    def measure_traffic(self, spark: SparkSession) -> list[BrokerTraffic]:
        """Count the events that are now in the topic of each broker.

        Raises:
            InvalidArgumentError: if the topic of published events is empty.

        Cost: all topics are read from their first to their last event.
        """
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
        counts = {row["topic"]: (row["events"], row["bytes"] or 0) for row in rows}
        published, _ = counts.get(self.event_topic, (0, 0))
        if not published:
            raise InvalidArgumentError(
                f"topic {self.event_topic} has no event, so the traffic cannot be measured: "
                "publish events first"
            )
        return [
            BrokerTraffic(broker, events, size, events / published, float(planned))
            for broker, planned in enumerate(self.plan.bandwidth_by_broker)
            for events, size in (counts.get(self.get_topic(broker), (0, 0)),)
        ]
