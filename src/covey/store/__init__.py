"""Subscriptions that are kept: versions, made of immutable segments, on any file system."""

from covey.store.cache import Cache
from covey.store.changes import Changes
from covey.store.copy import copy_version
from covey.store.ids import IdKind
from covey.store.leases import Lease
from covey.store.merger import Merger
from covey.store.retention import Collected
from covey.store.snapshot import Snapshot
from covey.store.store import Prepared, Store
from covey.store.tiers import Tiers
from covey.store.versions import Version

__all__ = [
    "Cache", "Changes", "Collected", "IdKind", "Lease", "Merger", "Prepared", "Snapshot", "Store",
    "Tiers", "Version", "copy_version",
]  # fmt: skip
