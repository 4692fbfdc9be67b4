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

from covey.language.analysis import KnownTypes, Refusal
from covey.space import Space
from covey.spark.analysis import SparkTypes
from covey.spark.task import told
from covey.store import IdKind, Prepared, Snapshot, Store, Version
from covey.stream.cluster import Cluster
from covey.stream.history import Historian
from covey.stream.messages import Change, Report, read_change

__all__ = ["load_anew", "messages", "nobody"]

Publish = Callable[[list[Prepared]], object]
"""Makes the version of segments that were prepared."""

_OUTCOME = "kind STRING, content STRING"
_IN_LOG = [("partition", "ascending"), ("offset", "ascending")]
_NEVER = -(1 << 62)
_MAX_TURNS = 5
_TOO_MANY = "subscriptions compare too many different expressions to ask Spark about each"
_SEGMENTS = 16  # at most, since all are asked for every event until they are merged


def load_anew(
    spark: SparkSession,
    cluster: Cluster,
    topic: str,
    ends: Mapping[int, int],
    store: Store,
    place: str,
    allowance_ms: int,
    types: SparkTypes,
    publish: Publish,
    report: Report,
) -> None:
    """Makes the version of the store at a place that has just what the topic says up to `ends`.

    It is made by `publish`, of a segment of each task. Where predicates compare expressions that
    Spark was not asked about yet, it is asked and the topic is read again.

    Cost: the topic is read and shuffled by id; about 20 µs a message and worker.
    """
    tasks = min(_SEGMENTS, 2 * spark.sparkContext.defaultParallelism)
    by_id = messages(spark, cluster, topic, ends).repartition(tasks, "key")
    for turn in range(_MAX_TURNS):
        otherwise = Refusal(_TOO_MANY) if turn == _MAX_TURNS - 1 else None
        known = KnownTypes(dict(types.known), otherwise)
        reading = _Reading(place, store.versions[-1], store.space, allowance_ms, known)
        found: dict[str, list[Any]] = {"segment": [], "asked": [], "change": []}
        with told():
            for row in by_id.mapInArrow(reading, _OUTCOME).collect():
                found[row["kind"]].append(json.loads(row["content"]))
        if not found["asked"]:
            break
        uses = sum(map(Counter, found["asked"]), Counter[str]())
        types.ask([name for name, _ in sorted(uses.items(), key=lambda use: (-use[1], use[0]))])
    report([Change(**one) for one in found["change"]])
    publish([Prepared(**one) for one in found["segment"]])


def nobody(space: Space) -> Snapshot:
    """A version without subscriptions."""
    return Snapshot(Version(0, 0, space, IdKind.TEXT), ())


def messages(
    spark: SparkSession, cluster: Cluster, topic: str, ends: Mapping[int, int]
) -> DataFrame:
    """The messages of the topic that are before `ends`."""
    read = (
        spark.read.format("kafka")
        .options(**cluster.reading)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("endingOffsets", json.dumps({topic: {str(p): end for p, end in ends.items()}}))
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
class _Reading:
    """The function of a `mapInArrow` over messages: each task writes one segment."""

    place: str
    base: int
    space: Space
    allowance_ms: int
    types: KnownTypes

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        gc.disable()  # it would look at a million objects again and again, none of them garbage
        try:
            if given := list(batches):
                log = pa.Table.from_batches(given).sort_by(_IN_LOG)
                yield self._outcome([c for batch in log.to_batches() for c in _changes(batch)])
        finally:
            gc.enable()

    def _outcome(self, changes: Sequence[Change]) -> pa.RecordBatch:
        historian = Historian(self.allowance_ms, self.types)
        applied = historian.applied(nobody(self.space), changes, _NEVER)
        rows: list[tuple[str, Any]] = [("change", one._asdict()) for one in applied.unreadable]
        if applied.unanalysed:
            rows.append(("asked", Counter(applied.unanalysed)))
        else:
            prepared = Store.open(self.place).prepare(applied.changes, self.base)
            rows += [] if prepared is None else [("segment", asdict(prepared))]
        kinds, contents = [kind for kind, _ in rows], [json.dumps(one) for _, one in rows]
        return pa.RecordBatch.from_pydict({"kind": kinds, "content": contents})


def _changes(batch: pa.RecordBatch) -> Iterator[Change]:
    columns: Sequence[list[Any]] = [column.to_pylist() for column in batch.columns]
    for key, value, revision, at_ms, topic, partition, offset in zip(*columns, strict=True):
        place = f"{topic}-{partition}-{offset}"
        yield read_change(key, value, [("revision", revision)], at_ms, place)
