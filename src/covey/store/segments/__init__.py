"""Segments: immutable files of indexed subscriptions, and the tombstones of their rows.

A segment contains the ids of its subscriptions, an index of their regions, and for each region the
row of its subscription. A later change never modifies a segment: rows that the change removes or
replaces get tombstones, which belong to the version.

Modules, in the order in which subscriptions pass through them:

- `segment`: `SubscriptionBatch` (not indexed) and `IndexedSubscriptions` (the file's content).
- `tombstones`: one bit per row, set if the row is dead; a version has one file of tombstones.
- `live_segment`: `LiveSegment`, a segment with its tombstones, `SegmentOpener`, and
  `concat_live_pairs`, which joins the pairs of live segments.
- `expiry`: regions that ended before a horizon, which merges drop.

Row numbers are valid within one segment only; `covey.store.snapshot` numbers the rows of all
segments of a version consecutively.
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
