"""Startup of a stream: open the store, and find where to resume reading the control topic.

The stream resumes reading the control topic at the position up to which the store was last synced.
If there is no such position, if Kafka has deleted messages after it, or if the partitions of the
topic have changed, the store is rebuilt from the whole topic.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from pyspark.sql import SparkSession

from covey.errors import SchemaError
from covey.space import Space
from covey.spark.fitting import SparkExpressionTypes
from covey.spark.schemas import build_space
from covey.spark.session_settings import describe_setting_changes, read_session_settings
from covey.spark.validity import with_validity
from covey.store import IdKind, Manifest, Store, TieredMergePolicy
from covey.store.manifest import list_versions, now_ms
from covey.store.storage import open_storage
from covey.stream.batches.decision_log import DecisionLog
from covey.stream.config import StreamConfig
from covey.stream.control.change_translator import ChangeTranslator
from covey.stream.control.dead_letters import DeadLetterProducer
from covey.stream.control.purged_subscriptions import find_purged_subscriptions
from covey.stream.control.reader import ControlTopicReader
from covey.stream.control.rebuild import rebuild_store
from covey.stream.control.subscriptions import LiveSubscriptions, format_label, parse_position
from covey.stream.driver_lease import StateFolder
from covey.stream.events.decoder import EventDecoder
from covey.stream.kafka_cluster import KafkaCluster, read_offset_bounds
from covey.stream.maintenance import CONTROL_POSITION_FILE
from covey.stream.zones import StreamZoneLoader, read_requested_zones

__all__ = ["locate_store", "open_subscriptions"]

_log = logging.getLogger(__name__)

_STORE_FOLDER = "store"
_MAX_DERIVED_ATTRIBUTES = 32  # Spark computes each of them for every event
_MERGE_POLICY = TieredMergePolicy(
    min_level_regions=2048
)  # limits the size of the segment that every batch rewrites and every worker opens


def open_subscriptions(
    spark: SparkSession,
    config: StreamConfig,
    cluster: KafkaCluster,
    decoder: EventDecoder,
    state: StateFolder,
) -> LiveSubscriptions:
    """Open the stream's store; if necessary, create it, rebuild it, or divide it into zones again.

    Returns:
        The subscriptions, ready to read the control topic from the position of the store.

    Raises:
        InvalidArgumentError: the messages of the control topic have timestamps of producers.
        SchemaError: the schema of events, session settings or limits differ from those of the
            store.
        StreamError: Kafka cannot be reached, or the control topic does not exist.
    """
    topic = config.subscriptions.topic
    cluster.check_append_time(topic)
    location, space = locate_store(config), _build_space(spark, config, decoder)
    if not list_versions(open_storage(location)):
        with Store.create(location, space, id_kind=IdKind.TEXT, merge_policy=_MERGE_POLICY):
            pass
    dead_letters = DeadLetterProducer(cluster, config.dead_letters.topic)
    store = Store(state.open(_STORE_FOLDER), None, _MERGE_POLICY)
    _check_space(store.space, space, location)
    types = SparkExpressionTypes(
        spark, decoder.schema, store.space.derived, max_attributes=_MAX_DERIVED_ATTRIBUTES
    )
    first, ends = read_offset_bounds(cluster, topic)
    position, read_ms = _load_control_position(config, store)
    zones = config.subscriptions.zones
    publish: Callable[..., Manifest] = store.overwrite
    if zones > 1:
        publish = StreamZoneLoader(spark, config, cluster, decoder, store, location).publish
    must_rezone = zones != read_requested_zones(store)
    reason = _find_rebuild_reason(position, first)
    if reason is not None:
        _log.info("rebuilding the store from the control topic", extra={"reason": reason})
        read_ms = now_ms()
        rebuild_store(
            spark, cluster, topic, ends, store, location, config.subscriptions.clock_skew_ms, types,
            partial(publish, label=format_label(ends, zones if must_rezone else None)),
            dead_letters.send_changes,
        )  # fmt: skip
        position = ends
    elif must_rezone:
        _log.info("dividing the subscriptions into zones again", extra={"zones": zones})
        stored_position = parse_position(store.snapshot().manifest) or {}
        publish(store.restage_all(), label=format_label(stored_position, zones))
    subscriptions = LiveSubscriptions(
        store,
        ControlTopicReader(cluster, topic, position),
        DecisionLog(state.open()),
        ChangeTranslator(config.subscriptions.clock_skew_ms, types, space.settings.named_zones),
        dead_letters.send_changes,
        read_ms / 1000,
    )
    retention_ms = int(cluster.read_topic_config(topic)["delete.retention.ms"])
    if time.time() * 1000 - read_ms > 0.9 * retention_ms:
        rows = find_purged_subscriptions(spark, cluster, topic, ends, location, store.snapshot())
        _log.info(
            "cancellations may have been removed from the control topic",
            extra={"cancelled": len(rows)},
        )
        subscriptions.cancel(rows, read_ms)
    return subscriptions


def locate_store(config: StreamConfig) -> str:
    """Return the location of a stream's store."""
    return f"{config.state.path}/{_STORE_FOLDER}"


def _load_control_position(config: StreamConfig, store: Store) -> tuple[Mapping[int, int], int]:
    """Return the position in the control topic up to which the store is synced, and its time.

    Returns:
        The next offset of each partition, and a time in milliseconds since 1970. Both are from the
        position file if it is newer than the newest version of the store. Otherwise they are from
        that version: the position is from its label, and empty without a label; the time is when
        the version was written.
    """
    manifest = store.snapshot().manifest
    saved = _read_position_file(config)
    if saved is not None and saved["read_ms"] > manifest.written_ms:
        position = {int(p): offset for p, offset in saved["position"].items()}
        return position, saved["read_ms"]
    return parse_position(manifest) or {}, manifest.written_ms


def _find_rebuild_reason(
    position: Mapping[int, int], first_offsets: Mapping[int, int]
) -> str | None:
    """Return the reason why the store must be rebuilt, or None if the stream can resume."""
    if not position:
        return "the store has no position in the control topic"
    if set(first_offsets) != set(position):
        return "the partitions of the control topic have changed"
    if any(position[p] < first_offsets[p] for p in first_offsets):
        return "messages were deleted from the control topic before they were read"
    return None


def _read_position_file(config: StreamConfig) -> dict[str, Any] | None:
    try:
        saved: dict[str, Any] = json.loads(
            open_storage(config.state.path).read(CONTROL_POSITION_FILE)
        )
        return saved
    except (FileNotFoundError, ValueError):
        return None


def _build_space(spark: SparkSession, config: StreamConfig, decoder: EventDecoder) -> Space:
    space = build_space(decoder.schema, read_session_settings(spark), config.events.vectors)
    return with_validity(replace(space, limits=config.limits))


def _check_space(stored_space: Space, configured_space: Space, location: str) -> None:
    stored, configured = stored_space.settings, configured_space.settings
    if stored_space.columns != configured_space.columns or not stored.agrees_with(configured):
        changes = [
            *_describe_column_changes(stored_space, configured_space),
            *describe_setting_changes(stored, configured),
        ] or [f"Java has other rules for the time zone {stored.time_zone}"]
        raise SchemaError(
            "[events] schema, [events] vectors or a Spark setting differs from that of the store "
            f"at {location}, so stored predicates would change their meaning: "
            f"{'; '.join(changes)}. Restore it, or start with a new state folder ([state] path)"
        )
    if stored_space.limits != configured_space.limits:
        raise SchemaError(
            f"[limits] differs from the store at {location}, which has {stored_space.limits}: "
            "restore these values, or start with a new state folder ([state] path)"
        )


def _describe_column_changes(stored_space: Space, configured_space: Space) -> list[str]:
    """Return a text for each column that is new, is missing or has another type.

    If only their order differs, one text contains the stored order.
    """
    stored = {column.name: column.type for column in stored_space.columns}
    configured = {column.name: column.type for column in configured_space.columns}
    if stored == configured and list(stored) != list(configured):
        return [f"the order of the columns was {', '.join(stored)}"]
    return [
        f"column {name} was {stored.get(name, 'absent')} and is {configured.get(name, 'absent')}"
        for name in stored | configured
        if stored.get(name) != configured.get(name)
    ]
