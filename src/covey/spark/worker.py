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

__all__ = ["newest", "newest_of_zone", "of_zone", "open_last", "settle", "snapshot"]

_KEPT = 4  # versions; a map that is not looked at costs addresses only
_SETTLING = frozenset({1, 2, 4, 8, 16, 32})  # tasks, after which a worker has met all that it uses
_tasks = count(1)
_zones: dict[tuple[str, int, int, bool], Snapshot] = {}


@lru_cache(_KEPT)
def snapshot(place: str, version: int, label: str | None) -> Snapshot:
    """The version of a store, opened once.

    The label tells it from one of the same number in a store that was put in its place.
    """
    return _checked(_store(place).snapshot(version), place, label)


def _checked(found: Snapshot, place: str, label: str | None) -> Snapshot:
    if found.version.label != label:
        raise StoreError(
            f"version {found.version.number} in {place} is another one than the model was made "
            "with: the store was deleted and made anew; load the model again"
        )
    return found


def of_zone(
    place: str, version: int, label: str | None, zone: int, is_home: bool = False
) -> Snapshot:
    """What events of one zone can match, or what they are sent there for.

    The zone before is let go first, for want of room.
    """
    key = place, version, zone, is_home
    if key not in _zones:
        _zones.clear()
        _zones[key] = _checked(_store(place).zone_snapshot(version, zone, is_home), place, label)
    return _zones[key]


@lru_cache(_KEPT)
def newest(place: str, version: int) -> Snapshot:
    """A version of a store that is only added to as long as this worker lives, opened once."""
    return _store(place).snapshot(version)


@lru_cache(_KEPT)
def newest_of_zone(place: str, version: int, zone: int, zoning: str) -> Snapshot:
    """The same for events of one zone of a zoning; all of it, if that is not the version's."""
    store = _store(place)
    if store.version(version).zoning != zoning:
        return newest(place, version)
    return store.zone_snapshot(version, zone)


def open_last(place: str) -> None:
    """Opens the last version of a store, if there is one, for whoever will need most of it soon."""
    with suppress(StoreError):
        newest(place, _store(place).versions[-1])


@lru_cache(_KEPT)
def _store(place: str) -> Store:
    """A store, whose versions share the segments that they have in common."""
    return Store.open(place)


def settle() -> None:
    """Keep what the first tasks of a worker have loaded out of garbage collection.

    Called at the end of a task. Spark collects garbage after every task, and compiled loops come
    with a hundred thousand objects: to look at them takes longer than a small batch.
    """
    if next(_tasks) in _SETTLING:
        gc.collect()
        gc.freeze()
