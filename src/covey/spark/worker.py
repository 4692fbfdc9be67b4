"""Versions that are open in this Python worker; Spark uses a worker for many tasks.

Workers of one machine map the same files and share their pages.
"""

from __future__ import annotations

from functools import lru_cache

from covey.store import Snapshot, Store

__all__ = ["snapshot"]

_KEPT = 4  # versions; a map that is not looked at costs addresses only


@lru_cache(_KEPT)
def snapshot(place: str, version: int) -> Snapshot:
    """The version of a store, opened once."""
    return Store.open(place).snapshot(version)
