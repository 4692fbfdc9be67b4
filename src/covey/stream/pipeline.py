"""The pipeline: a query of Spark's from the topics of events to a sink, decided batch by batch.

For each batch Spark fixes the events and writes down which; then its version is found or made, and
recorded; workers that have decoded events wait for that, match them, and all that comes of them is
written at once. It may end at any of these points, and is run again with the same events and the
same version.
"""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from covey.errors import CoveyError
from covey.spark.places import spark_path
from covey.store import Merger, Store
from covey.store.lock import WriterLock
from covey.store.places import directory_at
from covey.stream.checkpoint import CHECKPOINT, Checkpoint
from covey.stream.cluster import Cluster
from covey.stream.config import Config
from covey.stream.counts import Counts, taken
from covey.stream.deciding import Decider, Waiting
from covey.stream.figures import done_after, figures
from covey.stream.matched import Matched, Wanted
from covey.stream.opening import open_subscriptions, store_place_of
from covey.stream.pace import cost_seen, per_batch, probed
from covey.stream.patience import Patience, in_short
from covey.stream.sinks import sink_of
from covey.stream.status import Status, read_status
from covey.stream.subscriptions import LiveSubscriptions
from covey.stream.upkeep import Upkeep
from covey.stream.versions import ByRecord, Named, Opening
from covey.stream.zoned import routing_of

__all__ = ["Pipeline"]

_log = logging.getLogger(__name__)

_TELL_S = 0.5
_END_S = 60.0


class Pipeline:
    """One stream, as its configuration says; `run` until it is stopped.

    A second one on the same state folder is refused, as long as the folder is on a local file
    system.
    """

    def __init__(self, spark: SparkSession, config: Config) -> None:
        self._spark, self._config = spark, config
        self._sink, self._matched, self._wanted = sink_of(config), Matched.of(config), Wanted()
        self._place, self._counts = store_place_of(config), Counts(spark.sparkContext)
        self._cluster = Cluster(config.kafka)
        for topic in config.events.topics:
            self._cluster.check_append_time(topic)
        if config.notifications.sink == "kafka":
            self._cluster.partitions(config.notifications.topic)
        self._cluster.partitions(config.dead_letters.topic)
        self._checkpoint = Checkpoint(directory_at(f"{config.state.path}/{CHECKPOINT}"))
        folder = directory_at(config.state.path).local_path("")
        self._status = Status(folder, config.metrics)
        self._stopping = threading.Event()
        self._done = -1  # the last batch that was told of
        self._waiting: Waiting = {}

    def stop(self) -> None:
        """Lets `run` end after the batch that is under way."""
        self._stopping.set()

    def run(self) -> None:
        """Runs until `stop`; what fails is tried again for some minutes."""
        lock = self._locked()
        try:
            self._status.serve()
            threading.Thread(target=self._warm, name="covey-warm", daemon=True).start()
            subscriptions = open_subscriptions(
                self._spark, self._config, self._cluster, self._matched.decoding
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
        patience = Patience(f"{self._config.state.path}/{CHECKPOINT}", self._done)
        while not self._stopping.is_set():
            try:
                self._follow(subscriptions)
            except (PySparkException, CoveyError, OSError) as error:
                if self._stopping.is_set():
                    return
                pause_s = patience.pause_s(error, self._done)
                failed = {"error": in_short(error), "again_in_s": pause_s}
                _log.warning("the query failed", extra=failed)
                self._stopping.wait(pause_s)

    def _follow(self, subscriptions: LiveSubscriptions) -> None:
        """Runs a query until it fails, is to end, or has to be another one."""
        self._wanted = self._wanted.and_of(subscriptions.store.snapshot())
        events = self._events(self._per_batch(subscriptions))
        query = self._started(self._rows(events, subscriptions.store))
        decider = Decider(subscriptions, self._checkpoint, self._wanted, self._waiting)
        try:
            while query.isActive and not self._stopping.is_set():
                if decider.over.wait(_TELL_S):
                    break
                self._tell(query, subscriptions)
            if self._stopping.is_set():
                self._wait_for(query, decider.close())
            elif decider.error is not None:
                raise decider.error
            elif not decider.over.is_set():
                query.awaitTermination()
        finally:
            decider.close()
            self._wanted = decider.wanted
            self._tell(query, subscriptions)
            query.stop()

    def _events(self, per_batch: int) -> DataFrame:
        config = self._config
        return (
            self._spark.readStream.format("kafka")
            .options(**self._cluster.reading)
            .option("subscribe", ",".join(config.events.topics))
            .option("startingOffsets", config.events.starting)
            .option("maxOffsetsPerTrigger", per_batch)
            .load()
        )

    def _rows(self, events: DataFrame, store: Store) -> DataFrame:
        now = store.snapshot()
        versions = ByRecord(self._place, self._config.state.path, now.version.zoning)
        routing = routing_of(store, now)
        return self._matched.rows(events, self._wanted, versions, self._counts, routing)

    def _started(self, rows: DataFrame) -> StreamingQuery:
        path = spark_path(f"{self._config.state.path}/{CHECKPOINT}")
        writer = self._sink.writer(rows).option("checkpointLocation", path)
        return writer.trigger(processingTime=f"{self._config.events.every_ms} milliseconds").start()

    def _wait_for(self, query: StreamingQuery, batch: int | None) -> None:
        """Until a batch that was decided is done, if that does not take long."""
        until = time.monotonic() + _END_S
        while batch is not None and not self._checkpoint.is_committed(batch):
            if time.monotonic() > until or not query.isActive:
                return
            time.sleep(0.02)

    def _tell(self, query: StreamingQuery, subscriptions: LiveSubscriptions) -> None:
        """Tells of the batches that were done since it was last called."""
        for done in done_after(query, self._done):
            self._done = done.batch
            if done.oldest_ms is not None:
                subscriptions.forget_before(done.oldest_ms - 1000 * self._config.state.forget_s)
            made, decided = self._counts.taken(done.batch), taken(self._waiting, done.batch)
            if made is not None and made.raising:
                named = {"batch": done.batch, "errors": made.errors, "subscriptions": made.raising}
                _log.warning("predicates cannot be computed for some events", extra=named)
            if decided is not None:
                self._status.batch(figures(decided, done, made))

    def _per_batch(self, subscriptions: LiveSubscriptions) -> int:
        """How many events a batch may have, by what one cost lately, or costs now."""
        config = self._config
        if config.events.per_batch is not None:
            return config.events.per_batch
        cost = cost_seen(read_status(config.state.path))
        if cost is None:
            named = Named.of(self._place, subscriptions.store.snapshot())
            rows = partial(self._matched.rows, wanted=self._wanted, versions=named)
            cost = probed(self._spark, self._cluster, config.events.topics, rows)
        most = per_batch(cost)
        _log.info("events of a batch", extra={"most": most, "cost_us": cost and 1e6 * cost})
        return most

    def _warm(self) -> None:
        """Lets Spark start its workers and open the store in them, which takes seconds."""
        with suppress(PySparkException, Py4JError):  # who needs them will hear of it
            tasks = self._spark.sparkContext.defaultParallelism
            rows = self._spark.range(0, tasks, 1, tasks)
            rows.mapInArrow(Opening(self._place), "id LONG").collect()

    def _locked(self) -> WriterLock | None:
        path = directory_at(self._config.state.path).local_path("stream.lock")
        if path is None:
            return None
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        return WriterLock(path)
