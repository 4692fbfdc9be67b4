"""Rebuild of the store from the control topic alone, which Spark's workers read.

Log compaction may have removed earlier changes of a subscription. So the rebuilt store contains the
last change of each subscription, and the earlier changes that are still on the topic.
"""

from __future__ import annotations

import gc
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from covey.language.semantics import KnownTypes, Refusal
from covey.space import Space
from covey.spark.fitting import SparkExpressionTypes
from covey.spark.session_settings import with_time_zones
from covey.spark.workers import reraise_worker_errors
from covey.store import IdKind, Manifest, Snapshot, StagedSegment, Store
from covey.stream.control.change_translator import ChangeTranslator
from covey.stream.control.messages import SubscriptionChange, UnreadableChangeHandler, parse_change
from covey.stream.kafka_cluster import KafkaCluster

__all__ = ["build_empty_snapshot", "read_control_messages", "rebuild_store"]

SegmentPublisher = Callable[[list[StagedSegment]], object]
"""Function that commits a version of exactly these staged segments."""

_OUTCOME_SCHEMA = "kind STRING, content STRING"
_LOG_ORDER = [("partition", "ascending"), ("offset", "ascending")]
_NO_HORIZON_US = -(1 << 62)
_MAX_ATTEMPTS = 5
_TOO_MANY_EXPRESSIONS = (
    "subscriptions compare too many different expressions for Spark to analyse each of them; use "
    "fewer different expressions in predicates"
)
_MAX_SEGMENTS = 16  # few, as every event is matched with every segment until they are merged


def rebuild_store(
    spark: SparkSession,
    cluster: KafkaCluster,
    topic: str,
    end_offsets: Mapping[int, int],
    store: Store,
    location: str,
    clock_skew_ms: int,
    types: SparkExpressionTypes,
    publish: SegmentPublisher,
    report_unreadable: UnreadableChangeHandler,
) -> None:
    """Commit a version of the store that contains exactly the subscriptions of the control topic.

    Each task stages one segment. If predicates compare expressions of unknown type, Spark analyses
    the expressions, and the topic is read again. The topic is read at most five times; the last
    time, changes whose predicates still compare an expression of unknown type are unreadable.

    Args:
        spark: session that reads the topic.
        cluster: the Kafka cluster.
        topic: the control topic.
        end_offsets: for each partition the offset before which messages are read.
        store: the store.
        location: location of the store.
        clock_skew_ms: a predicate is valid from this many milliseconds before its change was
            appended.
        types: the known types of expressions; the types of expressions that Spark analyses are
            added.
        publish: function that commits a version of exactly the staged segments.
        report_unreadable: function that reports changes that could not be read.

    Cost: the topic is read and shuffled by id; a worker needs about 20 µs per message.
    """
    tasks = min(_MAX_SEGMENTS, 2 * spark.sparkContext.defaultParallelism)
    by_id = read_control_messages(spark, cluster, topic, end_offsets).repartition(tasks, "key")
    space = with_time_zones(store.space, spark)
    for attempt in range(_MAX_ATTEMPTS):
        refusal = Refusal(_TOO_MANY_EXPRESSIONS) if attempt == _MAX_ATTEMPTS - 1 else None
        known_types = KnownTypes(dict(types.facts), refusal)
        task = _RebuildTask(location, store.versions[-1], space, clock_skew_ms, known_types)
        outcomes: dict[str, list[Any]] = {"segment": [], "expressions": [], "change": []}
        with reraise_worker_errors():
            for row in by_id.mapInArrow(task, _OUTCOME_SCHEMA).collect():
                outcomes[row["kind"]].append(json.loads(row["content"]))
        if not outcomes["expressions"]:
            break
        uses = sum(map(Counter, outcomes["expressions"]), Counter[str]())
        types.ask(uses)
    report_unreadable([SubscriptionChange(**fields) for fields in outcomes["change"]])
    publish([StagedSegment(**fields) for fields in outcomes["segment"]])


def build_empty_snapshot(space: Space) -> Snapshot:
    """Return a snapshot without subscriptions."""
    return Snapshot(Manifest(0, 0, space, IdKind.TEXT), ())


def read_control_messages(
    spark: SparkSession, cluster: KafkaCluster, topic: str, end_offsets: Mapping[int, int]
) -> DataFrame:
    """Return the messages of the control topic before `end_offsets`, as a DataFrame.

    The columns are `key`, `value`, `revision`, `at_ms`, `topic`, `partition` and `offset`.
    `revision` is the header of this name if the value is null, and null otherwise. `at_ms` is the
    append time in milliseconds since 1970.
    """
    read = (
        spark.read.format("kafka")
        .options(**cluster.reader_options)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option(
            "endingOffsets", json.dumps({topic: {str(p): end for p, end in end_offsets.items()}})
        )
        .option("includeHeaders", "true")
        .option("failOnDataLoss", "false")  # log compaction leaves gaps, which are not data loss
        .option("minPartitions", spark.sparkContext.defaultParallelism)
        .load()
    )
    header = F.expr("element_at(filter(headers, h -> h.key = 'revision'), 1).value")
    revision = F.when(F.col("value").isNull(), header)  # the header counts only for a null value
    return read.select(
        "key", "value", revision.alias("revision"), F.unix_millis("timestamp").alias("at_ms"),
        "topic", "partition", "offset",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _RebuildTask:
    """Function for `mapInArrow` over control messages: each task stages one segment.

    It returns rows with the columns `kind` and `content`, which is JSON. By its kind, a row is the
    staged segment (`segment`), the number of uses of each expression that Spark must analyse first
    (`expressions`), or a change that could not be read (`change`). If there are expressions to
    analyse, nothing is staged.
    """

    location: str
    base_version: int
    space: Space
    clock_skew_ms: int
    types: KnownTypes

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        gc.disable()  # a collection would traverse a million objects, all of which are in use
        try:
            if message_batches := list(batches):
                log = pa.Table.from_batches(message_batches).sort_by(_LOG_ORDER)
                yield self._build_outcome(
                    [c for batch in log.to_batches() for c in _parse_changes(batch)]
                )
        finally:
            gc.enable()

    def _build_outcome(self, changes: Sequence[SubscriptionChange]) -> pa.RecordBatch:
        translator = ChangeTranslator(self.clock_skew_ms, self.types)
        translated = translator.translate(build_empty_snapshot(self.space), changes, _NO_HORIZON_US)
        rows: list[tuple[str, Any]] = [
            ("change", change._asdict()) for change in translated.unreadable_changes
        ]
        if translated.unanalysed_expressions:
            rows.append(("expressions", Counter(translated.unanalysed_expressions)))
        else:
            staged = Store.open(self.location).stage(translated.store_changes, self.base_version)
            rows += [] if staged is None else [("segment", asdict(staged))]
        kinds, contents = [kind for kind, _ in rows], [json.dumps(content) for _, content in rows]
        return pa.RecordBatch.from_pydict({"kind": kinds, "content": contents})


def _parse_changes(batch: pa.RecordBatch) -> Iterator[SubscriptionChange]:
    columns: Sequence[list[Any]] = [column.to_pylist() for column in batch.columns]
    for key, value, revision, at_ms, topic, partition, offset in zip(*columns, strict=True):
        message_ref = f"{topic}-{partition}-{offset}"
        yield parse_change(key, value, [("revision", revision)], at_ms, message_ref)
