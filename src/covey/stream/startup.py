"""The start of a stream: its subscriptions from the store and the rest of the control topic, or,
where there is no store or the rest is not all, from the whole topic.
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
from covey.spark.session_settings import read_session_settings
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
from covey.stream.events.decoder import EventDecoder
from covey.stream.kafka_cluster import KafkaCluster, read_offset_bounds
from covey.stream.maintenance import CONTROL_POSITION_FILE
from covey.stream.zones import StreamZoneLoader, read_requested_zones

__all__ = ["locate_store", "open_subscriptions"]

_log = logging.getLogger(__name__)

_MERGE_POLICY = TieredMergePolicy(
    min_level_regions=2048
)  # rewritten by every batch, and opened by every worker


def open_subscriptions(
    spark: SparkSession, config: StreamConfig, cluster: KafkaCluster, decoder: EventDecoder
) -> LiveSubscriptions:
    """The subscriptions as the control topic has them now."""
    topic = config.subscriptions.topic
    cluster.check_append_time(topic)
    place, space = locate_store(config), _build_space(spark, config, decoder)
    if not list_versions(open_storage(place)):
        with Store.create(place, space, id_kind=IdKind.TEXT, merge_policy=_MERGE_POLICY):
            pass
    letters = DeadLetterProducer(cluster, config.dead_letters.topic)
    store = Store.open(place, merge_policy=_MERGE_POLICY)
    _check_space(store.space, space, place)
    types = SparkExpressionTypes(
        spark, decoder.schema, store.space.derived, store.space.max_derived
    )
    first, ends = read_offset_bounds(cluster, topic)
    position, read_ms = _load_control_position(config, store)
    zones = config.subscriptions.zones
    publish: Callable[..., Manifest] = store.overwrite
    if zones > 1:
        publish = StreamZoneLoader(spark, config, cluster, decoder, store, place).publish
    is_other = zones != read_requested_zones(store)
    why = _find_rebuild_reason(position, first)
    if why is not None:
        _log.info("subscriptions are read anew", extra={"why": why})
        read_ms = now_ms()
        rebuild_store(
            spark, cluster, topic, ends, store, place, config.subscriptions.clock_skew_ms, types,
            partial(publish, label=format_label(ends, zones if is_other else None)),
            letters.send_changes,
        )  # fmt: skip
        position = ends
    elif is_other:
        _log.info("subscriptions are spread anew", extra={"zones": zones})
        at = parse_position(store.snapshot().manifest) or {}
        publish(store.restage_all(), label=format_label(at, zones))
    subscriptions = LiveSubscriptions(
        store,
        ControlTopicReader(cluster, topic, position),
        DecisionLog(open_storage(config.state.path)),
        ChangeTranslator(config.subscriptions.clock_skew_ms, types, space.settings.named_zones),
        letters.send_changes,
        read_ms / 1000,
    )
    kept_ms = int(cluster.read_topic_config(topic)["delete.retention.ms"])
    if time.time() * 1000 - read_ms > 0.9 * kept_ms:
        rows = find_purged_subscriptions(spark, cluster, topic, ends, place, store.snapshot())
        _log.info("cancellations may be gone from the control topic", extra={"gone": len(rows)})
        subscriptions.cancel(rows, read_ms)
    return subscriptions


def locate_store(config: StreamConfig) -> str:
    """Where the store of a stream is."""
    return f"{config.state.path}/store"


def _load_control_position(config: StreamConfig, store: Store) -> tuple[Mapping[int, int], int]:
    """Up to where the control topic is in the store, and when it was last read to its end."""
    version = store.snapshot().manifest
    followed = _read_position_file(config)
    if followed is not None and followed["read_ms"] > version.written_ms:
        position = {int(p): offset for p, offset in followed["position"].items()}
        return position, followed["read_ms"]
    return parse_position(version) or {}, version.written_ms


def _find_rebuild_reason(
    position: Mapping[int, int], first_offsets: Mapping[int, int]
) -> str | None:
    """Why the store and the rest of the topic are not enough; None if they are."""
    if not position:
        return "there is nothing yet"
    if set(first_offsets) != set(position):
        return "the control topic has other partitions than before"
    if any(position[p] < first_offsets[p] for p in first_offsets):
        return "messages that were not read are gone from the control topic"
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
    most = config.subscriptions.max_derived
    return with_validity(replace(space, max_derived=most, limits=config.limits))


def _check_space(stored_space: Space, configured_space: Space, location: str) -> None:
    if stored_space.columns != configured_space.columns or not (
        stored_space.settings.agrees_with(configured_space.settings)
    ):
        raise SchemaError(
            "the schema of events, or a setting of Spark's, is another one than that of "
            f"{location}: predicates would mean something else. Set it as it was, "
            "or begin with a new state folder"
        )
    if (stored_space.limits, stored_space.max_derived) != (
        configured_space.limits,
        configured_space.max_derived,
    ):
        raise SchemaError(
            f"[limits] or max_derived are others than those of {location}: {stored_space.limits}, "
            f"max_derived={stored_space.max_derived}. Set them as they were, or begin with a new "
            "state folder"
        )
