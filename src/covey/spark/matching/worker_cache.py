"""Versions that are open in this Python worker; Spark uses a worker for many tasks.

Workers of one machine map the same files and share their pages.
"""

from __future__ import annotations

import gc
from contextlib import suppress
from functools import lru_cache
from itertools import count

from covey.errors import StoreError
from covey.store import Snapshot, Store

__all__ = [
    "freeze_gc",
    "open_live_snapshot",
    "open_live_zone_snapshot",
    "open_snapshot",
    "open_zone_snapshot",
    "preopen_latest",
]

_MAX_OPEN_VERSIONS = 4  # versions; a map that is not looked at costs addresses only
_FREEZE_AFTER_TASKS = frozenset(
    {1, 2, 4, 8, 16, 32}
)  # tasks, after which a worker has met all that it uses
_task_numbers = count(1)
_zone_snapshots: dict[tuple[str, int, int, bool], Snapshot] = {}


@lru_cache(_MAX_OPEN_VERSIONS)
def open_snapshot(location: str, version: int, label: str | None) -> Snapshot:
    """The version of a store, opened once.

    The label tells it from one of the same number in a store that was put in its place.
    """
    return _check_label(_open_store(location).snapshot(version), location, label)


def _check_label(snapshot: Snapshot, location: str, label: str | None) -> Snapshot:
    if snapshot.manifest.label != label:
        raise StoreError(
            f"version {snapshot.manifest.version} in {location} is another one than the model was "
            "made with: the store was deleted and made anew; load the model again"
        )
    return snapshot


def open_zone_snapshot(
    location: str, version: int, label: str | None, zone: int, *, is_home: bool = False
) -> Snapshot:
    """What events of one zone can match, or what they are sent there for.

    The zone before is let go first, for want of room.
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
    """A version of a store that is only added to as long as this worker lives, opened once."""
    return _open_store(location).snapshot(version)


@lru_cache(_MAX_OPEN_VERSIONS)
def open_live_zone_snapshot(location: str, version: int, zone: int, zone_map_id: str) -> Snapshot:
    """The same for events of one zone of a zoning; all of it, if that is not the version's."""
    store = _open_store(location)
    if store.manifest(version).zone_map_file != zone_map_id:
        return open_live_snapshot(location, version)
    return store.zone_snapshot(version, zone)


def preopen_latest(location: str) -> None:
    """Opens the last version of a store, if there is one, for whoever will need most of it soon."""
    with suppress(StoreError):
        open_live_snapshot(location, _open_store(location).versions[-1])


@lru_cache(_MAX_OPEN_VERSIONS)
def _open_store(location: str) -> Store:
    """A store, whose versions share the segments that they have in common."""
    return Store.open(location)


def freeze_gc() -> None:
    """Keep what the first tasks of a worker have loaded out of garbage collection.

    Called at the end of a task. Spark collects garbage after every task, and compiled loops come
    with a hundred thousand objects: to look at them takes longer than a small batch.
    """
    if next(_task_numbers) in _FREEZE_AFTER_TASKS:
        gc.collect()
        gc.freeze()
