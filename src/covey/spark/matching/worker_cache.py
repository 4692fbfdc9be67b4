"""Cache of the snapshots that are open in a Python worker; Spark runs many tasks in one worker.

The workers of a machine map the same files and share the mapped memory.
"""

from __future__ import annotations

import gc
from contextlib import suppress
from functools import lru_cache
from itertools import count

from covey.errors import StoreError
from covey.spark.workers import open_shared_store
from covey.store import Snapshot, Store

__all__ = [
    "freeze_gc",
    "open_live_snapshot",
    "open_live_zone_snapshot",
    "open_snapshot",
    "open_zone_snapshot",
    "preopen_latest",
]

_MAX_OPEN_VERSIONS = 4  # a mapped file that is not used needs address space only
_FREEZE_AFTER_TASKS = frozenset({1, 2, 4, 8, 16, 32})  # later tasks load hardly any new objects
_task_numbers = count(1)
_zone_snapshots: dict[tuple[str, int, int, bool], Snapshot] = {}


@lru_cache(_MAX_OPEN_VERSIONS)
def open_snapshot(location: str, version: int, label: str | None) -> Snapshot:
    """Return the snapshot of a version, which a worker opens once.

    Args:
        location: location of the store.
        version: number of the version.
        label: expected label of the version. It shows whether the store was replaced by another
            store that has a version of the same number.

    Raises:
        StoreError: there is no such version, or it has another label.
    """
    return _check_label(_open_store(location).snapshot(version), location, label)


def _check_label(snapshot: Snapshot, location: str, label: str | None) -> Snapshot:
    if snapshot.manifest.label != label:
        raise StoreError(
            f"version {snapshot.manifest.version} in {location} is not the version that the model "
            "was made with: the store was deleted and created again; load the model again"
        )
    return snapshot


def open_zone_snapshot(
    location: str, version: int, label: str | None, zone: int, *, is_home: bool = False
) -> Snapshot:
    """Return the snapshot of one zone of a version, which a worker opens once.

    The memory of a worker is meant for one zone only, so the snapshot of another zone is closed
    first.

    Args:
        location: location of the store.
        version: number of the version.
        label: expected label of the version.
        zone: number of the zone.
        is_home: whether to open only the subscriptions that events forwarded from other zones can
            match.
    """
    key = location, version, zone, is_home
    if key not in _zone_snapshots:
        _zone_snapshots.clear()
        _zone_snapshots[key] = _check_label(
            _open_store(location).zone_snapshot(version, zone, is_home=is_home), location, label
        )
    return _zone_snapshots[key]


@lru_cache(_MAX_OPEN_VERSIONS)
def open_live_snapshot(location: str, version: int) -> Snapshot:
    """Return the snapshot of a version in a live store, which a worker opens once.

    Use this function for the store of a running stream. Such a store is not replaced while a worker
    runs, so the number of a version is sufficient to identify the version.
    """
    return _open_store(location).snapshot(version)


@lru_cache(_MAX_OPEN_VERSIONS)
def open_live_zone_snapshot(location: str, version: int, zone: int, zone_map_id: str) -> Snapshot:
    """Return the snapshot of one zone of a version in a live store, which a worker opens once.

    Args:
        location: location of the store.
        version: number of the version.
        zone: number of the zone.
        zone_map_id: name of the file of the zone map to which `zone` refers. If the version has
            another zone map, the snapshot of the whole version is returned.
    """
    store = _open_store(location)
    if store.manifest(version).zone_map_file != zone_map_id:
        return open_live_snapshot(location, version)
    return store.zone_snapshot(version, zone)


def preopen_latest(location: str) -> None:
    """Open the newest version of a store, if it has one, so that later snapshots open faster."""
    with suppress(StoreError):
        open_live_snapshot(location, _open_store(location).versions[-1])


@lru_cache(_MAX_OPEN_VERSIONS)
def _open_store(location: str) -> Store:
    """Return the store; a worker opens it once, so that snapshots share their common segments."""
    return open_shared_store(location)


def freeze_gc() -> None:
    """Exclude the objects that the first tasks of a worker loaded from garbage collection.

    Call it at the end of a task. Spark collects garbage after every task, and compiled kernels
    consist of a hundred thousand objects. Traversing these takes longer than matching a small
    batch. Only some of the first 32 calls in a worker have an effect.
    """
    if next(_task_numbers) in _FREEZE_AFTER_TASKS:
        gc.collect()
        gc.freeze()
