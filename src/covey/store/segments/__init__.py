"""Segments: immutable files of indexed subscriptions, and which of their rows are live.

A segment has the ids of its subscriptions, an index of their regions, and the row of the
subscription that each region belongs to. A later change never rewrites a segment: it marks rows
as removed or replaced by tombstones, which belong to the version.

Modules, in the order in which subscriptions pass through them:

- `segment`: `SubscriptionBatch` (not indexed) and `IndexedSubscriptions` (the file's content).
- `tombstones`: one bit per dead row; one file of them per version.
- `live_segment`: `LiveSegment`, a segment with its tombstones, and `SegmentOpener`.
- `pairs`: concatenate the pairs of several segments, without dead rows, by query row.
- `expiry`: regions that ended before a horizon, which merges drop.

Row numbers mean something within one segment only; `covey.store.snapshot` numbers the rows of all
segments of a version one after another.
"""

from typing import TYPE_CHECKING

from covey._lazy import lazy_exports

if TYPE_CHECKING:
    from covey.store.segments.segment import SubscriptionBatch

__all__ = [
    "SubscriptionBatch",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "SubscriptionBatch": "segment",
    },
)
