"""Subscriptions from nothing but the control topic: a bounded read by Spark, in its workers.

What the topic's compaction has left is what there is: of a subscription that was changed, the last
change, and those before it as far as they are still there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from covey.space import Space
from covey.spark.task import in_a_task, told
from covey.store import IdKind, Prepared, Snapshot, Store, Version
from covey.stream.cluster import Cluster
from covey.stream.history import Historian
from covey.stream.messages import Change, read_change

__all__ = ["Anew", "load_anew", "messages", "nobody"]

_OUTCOME = "kind STRING, content STRING"
_NEVER = -(1 << 62)


@dataclass(frozen=True, slots=True)
class Anew:
    """What was loaded: the version, and the changes that could not be read."""

    version: int
    unreadable: tuple[Change, ...]


def load_anew(
    spark: SparkSession,
    cluster: Cluster,
    topic: str,
    ends: Mapping[int, int],
    place: str,
    allowance_ms: int,
    label: str,
) -> Anew:
    """Makes the version of a store that has just what the control topic says up to `ends`.

    Cost: the topic is read and shuffled once by id; about 20 µs a message and worker.
    """
    with Store.open(place) as store:
        space, base = store.space, store.versions[-1]
    reading = _Reading(place, base, space, allowance_ms)
    tasks = 2 * spark.sparkContext.defaultParallelism
    by_id = messages(spark, cluster, topic, ends).repartition(tasks, "key")
    with told():
        rows = (
            by_id.sortWithinPartitions("partition", "offset")
            .mapInArrow(reading, _OUTCOME)
            .collect()
        )
    segments = [Prepared(**json.loads(r["content"])) for r in rows if r["kind"] == "segment"]
    unreadable = [Change(**json.loads(r["content"])) for r in rows if r["kind"] == "change"]
    loaded = in_a_task(spark, partial(_load, place, segments, label))
    return Anew(loaded["version"], tuple(unreadable))


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
        .load()
    )
    revision = F.expr("element_at(filter(headers, h -> h.key = 'revision'), 1).value")
    return read.select(
        "key", "value", revision.alias("revision"), F.unix_millis("timestamp").alias("at_ms"),
        "partition", "offset", F.concat_ws("-", "topic", "partition", "offset").alias("place"),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Reading:
    """The function of a `mapInArrow` over messages: each task writes one segment."""

    place: str
    base: int
    space: Space
    allowance_ms: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        changes = [change for batch in batches for change in _changes(batch)]
        if not changes:
            return
        historian = Historian(self.allowance_ms)
        applied = historian.applied(nobody(self.space), changes, _NEVER)
        prepared = Store.open(self.place).prepare(applied.changes, self.base)
        rows = [("change", change._asdict()) for change in applied.unreadable]
        if prepared is not None:
            rows.append(("segment", asdict(prepared)))
        kinds, contents = [kind for kind, _ in rows], [json.dumps(one) for _, one in rows]
        yield pa.RecordBatch.from_pydict({"kind": kinds, "content": contents})


def _changes(batch: pa.RecordBatch) -> Iterator[Change]:
    columns: Sequence[list[Any]] = [
        batch.column(name).to_pylist() for name in ("key", "value", "revision", "at_ms", "place")
    ]
    for key, value, revision, at_ms, place in zip(*columns, strict=True):
        yield read_change(key, value, [("revision", revision)], at_ms, place)


def _load(place: str, segments: Sequence[Prepared], label: str) -> dict[str, Any]:
    """Makes the version, in a task."""
    with Store.open(place) as store:
        return {"version": store.load(segments, label=label, anew=True).number}
