"""Versioned store of subscriptions: immutable segments, tombstones and manifests.

A store is a folder on a local path or on any file system that pyarrow can open.

Each batch of changes makes a new version. A version is described by its manifest: a list of
immutable segment files, the tombstones of their rows, and the zone map if the store has zones. A
version becomes visible in one step. One process writes at a time; any number of processes read,
without locks.

Modules, in the order in which a batch of changes passes through them:

- `ids`: ids of subscriptions: numbers or text, looked up by a 64-bit key.
- `changes`: `Changes`, one batch of added, replaced and removed subscriptions, and its validation.
- `store`: `Store`, the public interface: apply, stage and commit, merge, lease, vacuum.
- `writer`: `Writer`, which applies changes to live segments and publishes the next manifest.
- `segments`: subscriptions encoded as a segment file; tombstones, live segments, expiry.
- `storage`: content-addressed files on local and remote file systems, and their local cache.
- `manifest`: the manifest file, leases, vacuum, and copies between stores.
- `snapshot`: `Snapshot`, an open version, which is queried with events or regions.
- `merge`: the merge policy, and merges by background processes.
- `zones`: segments of zones: placement, SMART replication, rebuild after a rebalance.
"""

from covey.store.changes import Changes
from covey.store.ids import IdKind
from covey.store.manifest.leases import Lease
from covey.store.manifest.manifest import Manifest
from covey.store.manifest.vacuum import VacuumResult
from covey.store.manifest.version_copy import copy_version
from covey.store.merge.background import BackgroundMerger
from covey.store.merge.policy import TieredMergePolicy
from covey.store.snapshot import IdMatches, Snapshot, SubscriptionMatches, UndecidedPairs
from covey.store.storage.cache import Cache
from covey.store.store import StagedSegment, Store

__all__ = [
    "BackgroundMerger",
    "Cache",
    "Changes",
    "IdKind",
    "IdMatches",
    "Lease",
    "Manifest",
    "Snapshot",
    "StagedSegment",
    "Store",
    "SubscriptionMatches",
    "TieredMergePolicy",
    "UndecidedPairs",
    "VacuumResult",
    "copy_version",
]  # fmt: skip
