"""Subscriptions from nothing but the control topic: a bounded read by Spark, in its workers.

What the topic's compaction has left is what there is: of a subscription that was changed, the last
change, and those before it as far as they are still there.
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
from covey.spark.worker_errors import reraise_worker_errors
from covey.store import IdKind, Manifest, Snapshot, StagedSegment, Store
from covey.stream.control.change_translator import ChangeTranslator
from covey.stream.control.messages import SubscriptionChange, UnreadableChangeHandler, parse_change
from covey.stream.kafka_cluster import KafkaCluster

__all__ = ["build_empty_snapshot", "read_control_messages", "rebuild_store"]

SegmentPublisher = Callable[[list[StagedSegment]], object]
"""Makes the version of segments that were prepared."""

_OUTCOME_SCHEMA = "kind STRING, content STRING"
_LOG_ORDER = [("partition", "ascending"), ("offset", "ascending")]
_NO_HORIZON_US = -(1 << 62)
_MAX_ATTEMPTS = 5
_TOO_MANY_EXPRESSIONS = (
    "subscriptions compare too many different expressions to ask Spark about each"
)
_MAX_SEGMENTS = 16  # at most, since all are asked for every event until they are merged


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
    """Makes the version of the store that has just what the topic says up to `end_offsets`.

    It is made by `publish`, of a segment of each task. Where predicates compare expressions that
    Spark was not asked about yet, it is asked and the topic is read again.

    Cost: the topic is read and shuffled by id; about 20 µs a message and worker.
    """
    tasks = min(_MAX_SEGMENTS, 2 * spark.sparkContext.defaultParallelism)
    by_id = read_control_messages(spark, cluster, topic, end_offsets).repartition(tasks, "key")
    space = with_time_zones(store.space, spark)
    for turn in range(_MAX_ATTEMPTS):
        otherwise = Refusal(_TOO_MANY_EXPRESSIONS) if turn == _MAX_ATTEMPTS - 1 else None
        known = KnownTypes(dict(types.known_types), otherwise)
        reading = _RebuildTask(location, store.versions[-1], space, clock_skew_ms, known)
        found: dict[str, list[Any]] = {"segment": [], "expressions": [], "change": []}
        with reraise_worker_errors():
            for row in by_id.mapInArrow(reading, _OUTCOME_SCHEMA).collect():
                found[row["kind"]].append(json.loads(row["content"]))
        if not found["expressions"]:
            break
        uses = sum(map(Counter, found["expressions"]), Counter[str]())
        types.ask([name for name, _ in sorted(uses.items(), key=lambda use: (-use[1], use[0]))])
    report_unreadable([SubscriptionChange(**one) for one in found["change"]])
    publish([StagedSegment(**one) for one in found["segment"]])


def build_empty_snapshot(space: Space) -> Snapshot:
    """A version without subscriptions."""
    return Snapshot(Manifest(0, 0, space, IdKind.TEXT), ())


def read_control_messages(
    spark: SparkSession, cluster: KafkaCluster, topic: str, end_offsets: Mapping[int, int]
) -> DataFrame:
    """The messages of the topic that are before `end_offsets`."""
    read = (
        spark.read.format("kafka")
        .options(**cluster.reader_options)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option(
            "endingOffsets", json.dumps({topic: {str(p): end for p, end in end_offsets.items()}})
        )
        .option("includeHeaders", "true")
        .option("failOnDataLoss", "false")  # compaction leaves gaps, which are no loss
        .option("minPartitions", spark.sparkContext.defaultParallelism)
        .load()
    )
    header = F.expr("element_at(filter(headers, h -> h.key = 'revision'), 1).value")
    revision = F.when(F.col("value").isNull(), header)  # it is looked at with a cancel only
    return read.select(
        "key", "value", revision.alias("revision"), F.unix_millis("timestamp").alias("at_ms"),
        "topic", "partition", "offset",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _RebuildTask:
    """The function of a `mapInArrow` over messages: each task writes one segment."""

    location: str
    base_version: int
    space: Space
    clock_skew_ms: int
    types: KnownTypes

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        gc.disable()  # it would look at a million objects again and again, none of them garbage
        try:
            if given := list(batches):
                log = pa.Table.from_batches(given).sort_by(_LOG_ORDER)
                yield self._build_outcome(
                    [c for batch in log.to_batches() for c in _parse_changes(batch)]
                )
        finally:
            gc.enable()

    def _build_outcome(self, changes: Sequence[SubscriptionChange]) -> pa.RecordBatch:
        historian = ChangeTranslator(self.clock_skew_ms, self.types)
        applied = historian.translate(build_empty_snapshot(self.space), changes, _NO_HORIZON_US)
        rows: list[tuple[str, Any]] = [
            ("change", one._asdict()) for one in applied.unreadable_changes
        ]
        if applied.unanalysed_expressions:
            rows.append(("expressions", Counter(applied.unanalysed_expressions)))
        else:
            prepared = Store.open(self.location).stage(applied.store_changes, self.base_version)
            rows += [] if prepared is None else [("segment", asdict(prepared))]
        kinds, contents = [kind for kind, _ in rows], [json.dumps(one) for _, one in rows]
        return pa.RecordBatch.from_pydict({"kind": kinds, "content": contents})


def _parse_changes(batch: pa.RecordBatch) -> Iterator[SubscriptionChange]:
    columns: Sequence[list[Any]] = [column.to_pylist() for column in batch.columns]
    for key, value, revision, at_ms, topic, partition, offset in zip(*columns, strict=True):
        place = f"{topic}-{partition}-{offset}"
        yield parse_change(key, value, [("revision", revision)], at_ms, place)
