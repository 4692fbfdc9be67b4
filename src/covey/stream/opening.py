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

from covey.errors import SpaceError
from covey.space import Space
from covey.spark.analysis import SparkTypes
from covey.spark.lifetimes import with_lifetime
from covey.spark.schemas import space_of
from covey.spark.settings import settings_of
from covey.store import IdKind, Store, Tiers, Version
from covey.store.places import directory_at
from covey.store.versions import listed_versions
from covey.store.writer import now_ms
from covey.stream.absent import absent
from covey.stream.anew import load_anew
from covey.stream.cluster import Cluster, first_and_end
from covey.stream.config import Config
from covey.stream.control import ControlTopic
from covey.stream.events import Decoding
from covey.stream.history import Historian
from covey.stream.letters import Letters
from covey.stream.records import Records
from covey.stream.subscriptions import LiveSubscriptions, label_of, position_of
from covey.stream.upkeep import FOLLOWED
from covey.stream.zoned import LiveZones, zones_asked

__all__ = ["open_subscriptions", "store_place_of"]

_log = logging.getLogger(__name__)

_TIERS = Tiers(smallest=2048)  # rewritten by every batch, and opened by every worker


def open_subscriptions(
    spark: SparkSession, config: Config, cluster: Cluster, decoding: Decoding
) -> LiveSubscriptions:
    """The subscriptions as the control topic has them now."""
    topic = config.subscriptions.topic
    cluster.check_append_time(topic)
    place, space = store_place_of(config), _space(spark, config, decoding)
    if not listed_versions(directory_at(place)):
        with Store.create(place, space, ids=IdKind.TEXT, tiers=_TIERS):
            pass
    letters = Letters(cluster, config.dead_letters.topic)
    store = Store.open(place, tiers=_TIERS)
    _check_space(store.space, space, place)
    types = SparkTypes(spark, decoding.schema, store.space.derived, store.space.max_derived)
    first, ends = first_and_end(cluster, topic)
    position, read_ms = _resumed(config, store)
    zones = config.subscriptions.zones
    publish: Callable[..., Version] = store.replace
    if zones > 1:
        publish = LiveZones(spark, config, cluster, decoding, store, place).publish
    is_other = zones != zones_asked(store)
    why = _why_anew(position, first)
    if why is not None:
        _log.info("subscriptions are read anew", extra={"why": why})
        read_ms = now_ms()
        load_anew(
            spark, cluster, topic, ends, store, place, config.subscriptions.allowance_ms, types,
            partial(publish, label=label_of(ends, zones if is_other else None)),
            letters.of_changes,
        )  # fmt: skip
        position = ends
    elif is_other:
        _log.info("subscriptions are spread anew", extra={"zones": zones})
        at = position_of(store.snapshot().version) or {}
        publish(store.prepare_all(), label=label_of(at, zones))
    subscriptions = LiveSubscriptions(
        store,
        ControlTopic(cluster, topic, position),
        Records(directory_at(config.state.path)),
        Historian(config.subscriptions.allowance_ms, types),
        letters.of_changes,
        read_ms / 1000,
    )
    kept_ms = int(cluster.settings(topic)["delete.retention.ms"])
    if time.time() * 1000 - read_ms > 0.9 * kept_ms:
        rows = absent(spark, cluster, topic, ends, place, store.snapshot())
        _log.info("cancellations may be gone from the control topic", extra={"gone": len(rows)})
        subscriptions.cancel(rows, read_ms)
    return subscriptions


def store_place_of(config: Config) -> str:
    """Where the store of a stream is."""
    return f"{config.state.path}/store"


def _resumed(config: Config, store: Store) -> tuple[Mapping[int, int], int]:
    """Up to where the control topic is in the store, and when it was last read to its end."""
    version = store.snapshot().version
    followed = _followed(config)
    if followed is not None and followed["read_ms"] > version.written_ms:
        position = {int(p): offset for p, offset in followed["position"].items()}
        return position, followed["read_ms"]
    return position_of(version) or {}, version.written_ms


def _why_anew(position: Mapping[int, int], first: Mapping[int, int]) -> str | None:
    """Why the store and the rest of the topic are not enough; None if they are."""
    if not position:
        return "there is nothing yet"
    if set(first) != set(position):
        return "the control topic has other partitions than before"
    if any(position[p] < first[p] for p in first):
        return "messages that were not read are gone from the control topic"
    return None


def _followed(config: Config) -> dict[str, Any] | None:
    try:
        saved: dict[str, Any] = json.loads(directory_at(config.state.path).read(FOLLOWED))
        return saved
    except (FileNotFoundError, ValueError):
        return None


def _space(spark: SparkSession, config: Config, decoding: Decoding) -> Space:
    space = space_of(decoding.schema, settings_of(spark), config.events.vectors)
    most = config.subscriptions.max_derived
    return with_lifetime(replace(space, max_derived=most, limits=config.limits))


def _check_space(stored: Space, given: Space, place: str) -> None:
    if (stored.columns, stored.settings) != (given.columns, given.settings):
        raise SpaceError(
            f"the schema of events, or a setting of Spark's, is another one than that of {place}: "
            "predicates would mean something else. Set it as it was, or begin with a new state "
            "folder"
        )
    if (stored.limits, stored.max_derived) != (given.limits, given.max_derived):
        raise SpaceError(
            f"[limits] or max_derived are others than those of {place}: {stored.limits}, "
            f"max_derived={stored.max_derived}. Set them as they were, or begin with a new state "
            "folder"
        )
