"""Pipeline: a Spark query from the event topics to a sink; each batch has a recorded decision.

For each batch Spark first records the offsets of its events. The driver then records the batch
decision with an existing or a new version. Workers decode the events, wait for the decision and
match, and Spark writes the output rows. If the process is killed at any point, the next run repeats
the batch with the same events and, if it was decided, with the same version.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from contextlib import suppress
from functools import partial

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from covey.errors import CoveyError
from covey.spark.store_location import to_spark_uri
from covey.store import BackgroundMerger, Store
from covey.store.storage import open_storage
from covey.stream.batches.batch_size import choose_max_events, compute_observed_cost, probe_cost
from covey.stream.batches.checkpoint import CHECKPOINT_FOLDER, Checkpoint
from covey.stream.batches.decider import BatchDecider, PendingBatches
from covey.stream.batches.version_source import DecidedVersion, FixedVersion, PreopenTask
from covey.stream.config import StreamConfig
from covey.stream.control.subscriptions import LiveSubscriptions
from covey.stream.driver_lease import StateFolder
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
    """One stream: `run` processes batches until `stop` is called.

    A lock prevents two pipelines from using the same state folder; where there are no locks, a
    lease does.

    Args:
        spark: session of the query, made with `SPARK_DEFAULTS`.
        config: configuration of the stream.
        starting_offsets: result of `read_starting_offsets`, for which the caller has checked the
            topics. If it is None, the topics are checked and the offsets are read here.

    Raises:
        InvalidArgumentError: the schema of events or the sink cannot be used, a setting names an
            unknown column, or an event topic or the control topic has timestamps of producers.
        StreamError: a topic does not exist, or Kafka cannot be reached.
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
        self._last_reported_batch = -1  # the last completed batch that was reported
        self._pending_batches: PendingBatches = {}

    def stop(self) -> None:
        """Make `run` return after the current batch."""
        self._stop_requested.set()

    def run(self) -> None:
        """Process batches until `stop` is called.

        If the query fails, it is started again after a delay.

        Raises:
            InvalidArgumentError: the Prometheus endpoint or a topic cannot be used.
            SchemaError: settings differ from those with which the store was created.
            StreamError: Kafka cannot be reached, the query failed and no batch completed before the
                deadline of `RetryPolicy`, or another pipeline has the lease of the state folder.
            StoreError: another pipeline has the lock of the state folder.
        """
        state = StateFolder.acquire(self._config.state.path)
        try:
            self._status.start_prometheus()
            threading.Thread(target=self._preopen_store, name="covey-warm", daemon=True).start()
            subscriptions = open_subscriptions(
                self._spark, self._config, self._cluster, self._match_query.decoder, state
            )
            maintenance = MaintenanceThread(
                subscriptions, self._config.state, state.open(), self._status.write_file
            )
            merger = BackgroundMerger(subscriptions.store)
            try:
                self._run_with_retries(subscriptions, state)
            finally:
                maintenance.close()
                merger.close()
                subscriptions.close()
                self._status.write_file(is_last=True)
        finally:
            state.release()

    def _run_with_retries(self, subscriptions: LiveSubscriptions, state: StateFolder) -> None:
        retry_policy = RetryPolicy(
            f"{self._config.state.path}/{CHECKPOINT_FOLDER}", self._last_reported_batch
        )
        while not self._stop_requested.is_set():
            try:
                self._run_query(subscriptions, state)
            except (PySparkException, CoveyError, OSError) as error:
                if self._stop_requested.is_set():
                    return
                state.confirm()
                delay_s = retry_policy.next_delay_s(error, self._last_reported_batch)
                failure = {"error": summarize_error(error), "retry_in_s": delay_s}
                _log.warning("the query failed", extra=failure)
                self._stop_requested.wait(delay_s)

    def _run_query(self, subscriptions: LiveSubscriptions, state: StateFolder) -> None:
        """Run a query until it fails, `stop` is called, or a version requires further attributes.

        It also ends if another driver has taken over the state folder.

        The attributes that workers receive are fixed when a query is planned. So a version that
        requires further attributes needs a new query.
        """
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
                if state.is_lost:
                    state.confirm()
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
        """Log that the stream is ready, with the offsets at which it began; only the first time."""
        if not self._is_ready:
            self._is_ready = True
            count = subscriptions.store.snapshot().manifest.subscriptions
            position = {"starting_offsets": self._starting_offsets, "from": self._offsets_origin}
            _log.info("ready", extra={**position, "subscriptions": count})

    def _build_rows(self, events: DataFrame, store: Store) -> DataFrame:
        newest = store.snapshot()
        versions = DecidedVersion(
            self._store_location, self._config.state.path, newest.manifest.zone_map_file
        )
        partitioner = build_partitioner(store, newest)
        return self._match_query.build_rows(
            events,
            self._required_attributes,
            versions,
            counts=self._counts,
            partitioner=partitioner,
        )

    def _start_query(self, rows: DataFrame) -> StreamingQuery:
        path = to_spark_uri(f"{self._config.state.path}/{CHECKPOINT_FOLDER}")
        writer = self._sink.build_writer(rows).option("checkpointLocation", path)
        return writer.trigger(
            processingTime=f"{self._config.events.trigger_interval_ms} milliseconds"
        ).start()

    def _await_batch(self, query: StreamingQuery, batch: int | None) -> None:
        """Wait until Spark has committed a decided batch, the query ends, or 60 s have passed.

        If `batch` is None, no batch was decided, and the method returns at once.
        """
        deadline_s = time.monotonic() + _SHUTDOWN_TIMEOUT_S
        while batch is not None and not self._checkpoint.is_committed(batch):
            if time.monotonic() > deadline_s or not query.isActive:
                return
            time.sleep(0.02)

    def _report_batches(self, query: StreamingQuery, subscriptions: LiveSubscriptions) -> None:
        """Report the batches that completed since the last call, and move the expiry horizon."""
        for completed in list_completed_batches(query, self._last_reported_batch):
            self._last_reported_batch = completed.batch
            if completed.oldest_event_ms is not None:
                subscriptions.expire_before(
                    completed.oldest_event_ms - 1000 * self._config.state.max_event_delay_s
                )
            task_counts, decided = (
                self._counts.pop_batch(completed.batch),
                pop_until(self._pending_batches, completed.batch),
            )
            if task_counts is not None and task_counts.raising_subscriptions:
                details = {
                    "batch": completed.batch,
                    "errors": task_counts.errors,
                    "subscriptions": task_counts.raising_subscriptions,
                }
                _log.warning("predicates cannot be computed for some events", extra=details)
            if decided is not None:
                self._status.report_batch(build_batch_metrics(decided, completed, task_counts))

    def _choose_max_events(self, subscriptions: LiveSubscriptions) -> int:
        """Return the largest number of events of a batch: the configured one, or a computed one.

        It is computed from the seconds per event. These are taken from the batches in the status
        file if they suffice, and otherwise measured with the first events of the topics.
        """
        config = self._config
        if config.events.max_events_per_batch is not None:
            return config.events.max_events_per_batch
        cost = compute_observed_cost(read_status(config.state.path))
        if cost is None:
            version = FixedVersion.from_snapshot(
                self._store_location, subscriptions.store.snapshot()
            )
            build_rows = partial(
                self._match_query.build_rows,
                required_attributes=self._required_attributes,
                version_source=version,
            )
            cost = probe_cost(self._spark, self._cluster, config.events.topics, build_rows)
        max_events = choose_max_events(cost)
        details = {"max_events": max_events, "cost_us": cost and 1e6 * cost}
        _log.info("largest number of events of a batch", extra=details)
        return max_events

    def _preopen_store(self) -> None:
        """Start Spark's workers and open the store in them, so that the first batch is faster."""
        # Best effort: the first batch reports the same error.
        with suppress(PySparkException, Py4JError):
            tasks = self._spark.sparkContext.defaultParallelism
            rows = self._spark.range(0, tasks, 1, tasks)
            rows.mapInArrow(PreopenTask(self._store_location), "id LONG").collect()
