"""The pipeline: a query of Spark's from the topics of events to a sink, decided batch by batch.

For each batch Spark fixes the events and writes down which; then its version is found or made, and
recorded; workers that have decoded events wait for that, match them, and all that comes of them is
written at once. It may end at any of these points, and is run again with the same events and the
same version.
"""

from __future__ import annotations

import json
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
from covey.spark.store_location import to_spark_uri
from covey.store import BackgroundMerger, Store
from covey.store.storage import WriterLock, open_storage
from covey.stream.batches.batch_size import choose_max_events, compute_observed_cost, probe_cost
from covey.stream.batches.checkpoint import CHECKPOINT_FOLDER, Checkpoint
from covey.stream.batches.decider import BatchDecider, PendingBatches
from covey.stream.batches.version_source import DecidedVersion, FixedVersion, PreopenTask
from covey.stream.config import StreamConfig
from covey.stream.control.subscriptions import LiveSubscriptions
from covey.stream.events.match_query import MatchQuery, RequiredAttributes
from covey.stream.events.sinks import build_sink
from covey.stream.kafka_cluster import KafkaCluster
from covey.stream.maintenance import MaintenanceThread
from covey.stream.metrics.accumulator import CountsAccumulator, pop_until
from covey.stream.metrics.batch_metrics import build_batch_metrics, list_completed_batches
from covey.stream.metrics.status import StatusReporter, read_status
from covey.stream.retry import RetryPolicy, summarize_error
from covey.stream.startup import locate_store, open_subscriptions
from covey.stream.topics import TopicOffsets, check_topics, read_starting_offsets
from covey.stream.zones import build_partitioner

__all__ = ["Pipeline"]

_log = logging.getLogger(__name__)

_REPORT_INTERVAL_S = 0.5
_SHUTDOWN_TIMEOUT_S = 60.0


class Pipeline:
    """One stream, as its configuration says; `run` until it is stopped.

    A second one on the same state folder is refused, as long as the folder is on a local file
    system.
    """

    def __init__(
        self,
        spark: SparkSession,
        config: StreamConfig,
        *,
        starting_offsets: tuple[TopicOffsets, str] | None = None,
    ) -> None:
        self._spark, self._config = spark, config
        self._starting_offsets, self._offsets_origin = starting_offsets or ({}, "")
        self._is_ready = False
        self._sink = build_sink(config)
        self._match_query = MatchQuery.from_config(config)
        self._required_attributes = RequiredAttributes()
        self._store_location = locate_store(config)
        self._counts = CountsAccumulator(spark.sparkContext)
        self._cluster = KafkaCluster(config.kafka)
        if not self._offsets_origin:
            check_topics(config)
            self._starting_offsets, self._offsets_origin = read_starting_offsets(config)
        self._checkpoint = Checkpoint(open_storage(f"{config.state.path}/{CHECKPOINT_FOLDER}"))
        folder = open_storage(config.state.path).local_path("")
        self._status = StatusReporter(folder, config.metrics)
        self._stop_requested = threading.Event()
        self._last_reported_batch = -1  # the last batch that was told of
        self._pending_batches: PendingBatches = {}

    def stop(self) -> None:
        """Lets `run` end after the batch that is under way."""
        self._stop_requested.set()

    def run(self) -> None:
        """Runs until `stop`; what fails is tried again for some minutes."""
        lock = self._acquire_lock()
        try:
            self._status.start_prometheus()
            threading.Thread(target=self._preopen_store, name="covey-warm", daemon=True).start()
            subscriptions = open_subscriptions(
                self._spark, self._config, self._cluster, self._match_query.decoder
            )
            upkeep = MaintenanceThread(subscriptions, self._config.state, self._status.write_file)
            merger = BackgroundMerger(subscriptions.store)
            try:
                self._run_with_retries(subscriptions)
            finally:
                upkeep.close()
                merger.close()
                subscriptions.close()
                self._status.write_file(is_last=True)
        finally:
            if lock is not None:
                lock.release()

    def _run_with_retries(self, subscriptions: LiveSubscriptions) -> None:
        patience = RetryPolicy(
            f"{self._config.state.path}/{CHECKPOINT_FOLDER}", self._last_reported_batch
        )
        while not self._stop_requested.is_set():
            try:
                self._run_query(subscriptions)
            except (PySparkException, CoveyError, OSError) as error:
                if self._stop_requested.is_set():
                    return
                pause_s = patience.next_delay_s(error, self._last_reported_batch)
                failed = {"error": summarize_error(error), "again_in_s": pause_s}
                _log.warning("the query failed", extra=failed)
                self._stop_requested.wait(pause_s)

    def _run_query(self, subscriptions: LiveSubscriptions) -> None:
        """Runs a query until it fails, is to end, or has to be another one."""
        self._required_attributes = self._required_attributes.with_attributes_of(
            subscriptions.store.snapshot()
        )
        events = self._read_events(self._choose_max_events(subscriptions))
        query = self._start_query(self._build_rows(events, subscriptions.store))
        self._report_ready(subscriptions)
        decider = BatchDecider(
            subscriptions, self._checkpoint, self._required_attributes, self._pending_batches
        )
        try:
            while query.isActive and not self._stop_requested.is_set():
                if decider.run_ended.wait(_REPORT_INTERVAL_S):
                    break
                self._report_batches(query, subscriptions)
            if self._stop_requested.is_set():
                self._await_batch(query, decider.close())
            elif decider.error is not None:
                raise decider.error
            elif not decider.run_ended.is_set():
                query.awaitTermination()
        finally:
            decider.close()
            self._required_attributes = decider.required_attributes
            self._report_batches(query, subscriptions)
            query.stop()

    def _read_events(self, max_events: int) -> DataFrame:
        config = self._config
        return (
            self._spark.readStream.format("kafka")
            .options(**self._cluster.reader_options)
            .option("subscribe", ",".join(config.events.topics))
            .option("startingOffsets", json.dumps(self._starting_offsets))
            .option("maxOffsetsPerTrigger", max_events)
            .load()
        )

    def _report_ready(self, subscriptions: LiveSubscriptions) -> None:
        """Log once that events are matched from now on, and the first offsets of them."""
        if not self._is_ready:
            self._is_ready = True
            count = subscriptions.store.snapshot().manifest.subscriptions
            position = {"starting_offsets": self._starting_offsets, "from": self._offsets_origin}
            _log.info("ready", extra={**position, "subscriptions": count})

    def _build_rows(self, events: DataFrame, store: Store) -> DataFrame:
        now = store.snapshot()
        versions = DecidedVersion(
            self._store_location, self._config.state.path, now.manifest.zone_map_file
        )
        routing = build_partitioner(store, now)
        return self._match_query.build_rows(
            events, self._required_attributes, versions, counts=self._counts, partitioner=routing
        )

    def _start_query(self, rows: DataFrame) -> StreamingQuery:
        path = to_spark_uri(f"{self._config.state.path}/{CHECKPOINT_FOLDER}")
        writer = self._sink.build_writer(rows).option("checkpointLocation", path)
        return writer.trigger(
            processingTime=f"{self._config.events.trigger_interval_ms} milliseconds"
        ).start()

    def _await_batch(self, query: StreamingQuery, batch: int | None) -> None:
        """Until a batch that was decided is done, if that does not take long."""
        until = time.monotonic() + _SHUTDOWN_TIMEOUT_S
        while batch is not None and not self._checkpoint.is_committed(batch):
            if time.monotonic() > until or not query.isActive:
                return
            time.sleep(0.02)

    def _report_batches(self, query: StreamingQuery, subscriptions: LiveSubscriptions) -> None:
        """Tells of the batches that were done since it was last called."""
        for done in list_completed_batches(query, self._last_reported_batch):
            self._last_reported_batch = done.batch
            if done.oldest_event_ms is not None:
                subscriptions.expire_before(
                    done.oldest_event_ms - 1000 * self._config.state.max_event_delay_s
                )
            made, decided = (
                self._counts.pop_batch(done.batch),
                pop_until(self._pending_batches, done.batch),
            )
            if made is not None and made.raising_subscriptions:
                named = {
                    "batch": done.batch,
                    "errors": made.errors,
                    "subscriptions": made.raising_subscriptions,
                }
                _log.warning("predicates cannot be computed for some events", extra=named)
            if decided is not None:
                self._status.report_batch(build_batch_metrics(decided, done, made))

    def _choose_max_events(self, subscriptions: LiveSubscriptions) -> int:
        """How many events a batch may have, by what one cost lately, or costs now."""
        config = self._config
        if config.events.max_events_per_batch is not None:
            return config.events.max_events_per_batch
        cost = compute_observed_cost(read_status(config.state.path))
        if cost is None:
            named = FixedVersion.from_snapshot(self._store_location, subscriptions.store.snapshot())
            rows = partial(
                self._match_query.build_rows,
                required_attributes=self._required_attributes,
                version_source=named,
            )
            cost = probe_cost(self._spark, self._cluster, config.events.topics, rows)
        most = choose_max_events(cost)
        _log.info("events of a batch", extra={"most": most, "cost_us": cost and 1e6 * cost})
        return most

    def _preopen_store(self) -> None:
        """Lets Spark start its workers and open the store in them, which takes seconds."""
        with suppress(PySparkException, Py4JError):  # who needs them will hear of it
            tasks = self._spark.sparkContext.defaultParallelism
            rows = self._spark.range(0, tasks, 1, tasks)
            rows.mapInArrow(PreopenTask(self._store_location), "id LONG").collect()

    def _acquire_lock(self) -> WriterLock | None:
        path = open_storage(self._config.state.path).local_path("stream.lock")
        if path is None:
            return None
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        return WriterLock(path)
