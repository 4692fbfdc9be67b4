"""The pipeline: a query of Spark's over the topics of events, decided batch by batch.

For each batch Spark fixes the events and writes down which; then its version is found or made, and
recorded; then events are decoded and matched and all that comes of them is written at once. It may
end at any of these points, and is run again with the same events and the same version.
"""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from covey.errors import StreamError, raised_elsewhere
from covey.spark.places import spark_path
from covey.store import Merger
from covey.store.lock import WriterLock
from covey.store.places import directory_at
from covey.stream.checkpoint import Checkpoint
from covey.stream.cluster import Cluster
from covey.stream.config import Config
from covey.stream.events import Decoding
from covey.stream.figures import Observed
from covey.stream.matched import Matched
from covey.stream.opening import open_subscriptions, store_place_of
from covey.stream.pace import cost_seen, per_batch, probed
from covey.stream.sinks import addressed, sink_of
from covey.stream.status import Status, read_status
from covey.stream.subscriptions import LiveSubscriptions
from covey.stream.upkeep import Upkeep

__all__ = ["SESSION", "Pipeline"]

_log = logging.getLogger(__name__)

SESSION = {
    "spark.sql.ansi.enabled": "false",  # no value of an event is to end a query
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.sources.useV1SourceList": "avro,csv,json,orc,parquet,text",  # observes Kafka's too
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing."
        "FileSystemBasedCheckpointFileManager"
    ),
}
"""Settings of a session for streams, unless the user has others."""

_PATIENCE_S = 600.0
_PAUSE_S = (1.0, 2.0, 5.0, 10.0)
_COMMIT_S = 5.0


class Pipeline:
    """One stream, as its configuration says; `run` until it is stopped.

    A second one on the same state folder is refused, as long as the folder is on a local file
    system.
    """

    def __init__(self, spark: SparkSession, config: Config) -> None:
        self._spark, self._config = spark, config
        self._topics = [config.notifications.topic, config.dead_letters.topic]
        self._sink, self._decoding = sink_of(config), Decoding.of(config.events)
        place = store_place_of(config)
        self._matched = Matched(self._decoding, config.notifications.include, place)
        self._cluster = Cluster(config.kafka)
        for topic in config.events.topics:
            self._cluster.check_append_time(topic)
        for topic in self._topics if config.notifications.sink == "kafka" else self._topics[1:]:
            self._cluster.partitions(topic)
        self._checkpoint = Checkpoint(directory_at(f"{config.state.path}/checkpoint"))
        folder = directory_at(config.state.path).local_path("")
        self._status = Status(folder, config.metrics)
        self._stopping, self._deciding = threading.Event(), threading.Lock()
        self._done: int | None = None  # the last batch

    def stop(self) -> None:
        """Lets `run` end after the batch that is under way."""
        self._stopping.set()

    def run(self) -> None:
        """Runs until `stop`; what fails is tried again for some minutes."""
        lock = self._locked()
        try:
            self._status.serve()
            subscriptions = open_subscriptions(
                self._spark, self._config, self._cluster, self._decoding
            )
            upkeep = Upkeep(subscriptions, self._config.state, self._status.write)
            merger = Merger(subscriptions.store)
            try:
                self._run(subscriptions)
            finally:
                upkeep.close()
                merger.close()
                subscriptions.close()
                self._status.write(is_last=True)
        finally:
            if lock is not None:
                lock.release()

    def _run(self, subscriptions: LiveSubscriptions) -> None:
        failed_at, failures, done = time.monotonic(), 0, self._done
        while not self._stopping.is_set():
            try:
                self._follow(self._started(subscriptions))
            except PySparkException as error:
                if self._stopping.is_set():
                    return
                said = raised_elsewhere(str(error)) or str(error).splitlines()[0]
                if self._done != done:
                    failed_at, failures, done = time.monotonic(), 0, self._done
                if time.monotonic() - failed_at > _PATIENCE_S:
                    raise StreamError(f"the stream fails again and again: {said}") from None
                pause = _PAUSE_S[min(failures, len(_PAUSE_S) - 1)]
                failures += 1
                _log.warning("the query failed", extra={"error": said, "again_in_s": pause})
                self._stopping.wait(pause)

    def _follow(self, query: StreamingQuery) -> None:
        """Waits until the query ends, or is to end; a batch under way is finished first."""
        while not query.awaitTermination(1):
            if self._stopping.is_set():
                with self._deciding:  # no batch is under way, and none begins
                    batch = self._done
                until = time.monotonic() + _COMMIT_S
                while batch is not None and not self._checkpoint.is_committed(batch):
                    if time.monotonic() > until:
                        break
                    time.sleep(0.02)
                query.stop()
                return

    def _started(self, subscriptions: LiveSubscriptions) -> StreamingQuery:
        config = self._config
        reader = (
            self._spark.readStream.format("kafka")
            .options(**self._cluster.reading)
            .option("subscribe", ",".join(config.events.topics))
            .option("startingOffsets", config.events.starting)
            .option("maxOffsetsPerTrigger", self._per_batch(subscriptions))
        )

        def decide(frame: DataFrame, batch: int) -> None:
            with self._deciding:
                if self._stopping.is_set():
                    raise StreamError("the stream is being stopped")
                self._batch(subscriptions, frame, batch)
                self._done = batch

        path = spark_path(f"{config.state.path}/checkpoint")
        return (
            reader.load()
            .writeStream.foreachBatch(decide)
            .option("checkpointLocation", path)
            .start()
        )

    def _per_batch(self, subscriptions: LiveSubscriptions) -> int:
        """How many events a batch may have, by what one cost lately, or costs now."""
        config = self._config
        if config.events.per_batch is not None:
            return config.events.per_batch
        cost = cost_seen(read_status(config.state.path))
        if cost is None:
            topics, now = config.events.topics, subscriptions.store.snapshot()
            cost = probed(self._spark, self._cluster, topics, self._matched, now)
        most = per_batch(cost)
        _log.info("events of a batch", extra={"most": most, "cost_us": cost and 1e6 * cost})
        return most

    def _batch(self, subscriptions: LiveSubscriptions, frame: DataFrame, batch: int) -> None:
        started, observed = time.perf_counter(), Observed()
        query, events = self._checkpoint.query(), self._checkpoint.events(batch)
        record, read = subscriptions.decided_by(query, batch, events)
        snapshot = subscriptions.snapshot(record)
        decided = time.perf_counter()
        rows = self._matched.rows(observed.events(frame), snapshot, record.version)
        self._sink.write(addressed(observed.rows(rows), self._topics), query, batch)
        written = time.perf_counter()
        if observed.oldest_ms is not None:
            subscriptions.forget_before(observed.oldest_ms - 1000 * self._config.state.forget_s)
        self._status.batch(
            observed.figures(record, snapshot, read, decided - started, written - decided)
        )

    def _locked(self) -> WriterLock | None:
        path = directory_at(self._config.state.path).local_path("stream.lock")
        if path is None:
            return None
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        return WriterLock(path)
