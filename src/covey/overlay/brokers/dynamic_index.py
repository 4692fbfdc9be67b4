"""Regions by key that come and go, and an index of those that are there."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.index import BruteForceIndex, SegmentIndex
from covey.routing.id_spans import IdSpans
from covey.routing.region_log import RegionLog
from covey.space import Events, Space

__all__ = ["DynamicRegionIndex", "RegionDelta"]

Numbers = NDArray[np.int64]
_MAX_UNINDEXED = 64  # regions that are tried one by one


@dataclass(frozen=True, slots=True)
class RegionDelta:
    """Keys that come, with their regions, and keys that go, with theirs.

    Region r of `regions` belongs to `ids[of[r]]`, and `of` ascends. What comes is there before what
    goes is gone; a key may do both.
    """

    ids: list[Hashable]
    regions: Regions
    id_rows: Numbers
    removed_ids: list[Hashable]
    removed_regions: Regions

    def __bool__(self) -> bool:
        return bool(self.ids or self.removed_ids)


class DynamicRegionIndex:
    """Regions by key. Cost: an index is built when it is asked for after a change."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self._region_log = RegionLog(space)
        self._id_spans = IdSpans()
        self._cached_index: (
            tuple[list[Hashable], Numbers, BruteForceIndex | SegmentIndex] | None
        ) = None

    def __len__(self) -> int:
        return len(self._id_spans)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._id_spans

    def apply_changes(
        self,
        ids: Sequence[Hashable],
        regions: Regions,
        id_rows: Numbers,
        removed_ids: Iterable[Hashable],
    ) -> RegionDelta:
        """Adds and removes; a key that is not there goes without a word."""
        self._cached_index = None
        going = [key for key in removed_ids if key in self._id_spans]
        removed = self._region_log.take(self._id_spans.pop(going))
        order = np.argsort(id_rows, kind="stable")
        regions, id_rows = regions.take(order), id_rows[order]
        first = self._region_log.next_number
        self._region_log.append(regions)
        self._id_spans.insert(ids, first, id_rows)
        return RegionDelta(list(ids), regions, id_rows, going, removed)

    def select(self, keys: Iterable[Hashable]) -> RegionDelta:
        """Some keys, as if they came now."""
        ids = list(keys)
        numbers, of = self._id_spans.find_numbers(ids)
        return RegionDelta(ids, self._region_log.take(numbers), of, [], Regions(self.space, 0, {}))

    def as_additions(self) -> RegionDelta:
        """Everything, as if it came now."""
        return self.select(self._id_spans)

    def as_removals(self) -> RegionDelta:
        """Everything, as if it went now."""
        here, nothing = self.as_additions(), Regions(self.space, 0, {})
        return RegionDelta([], nothing, np.empty(0, np.int64), here.ids, here.regions)

    def match(self, events: Events) -> tuple[Numbers, list[Hashable]]:
        """Rows of events and keys whose regions contain them, each pair once."""
        keys, owners, index = self._ensure_index()
        found = index.match(events)
        pairs = np.unique(
            np.stack([found.query_rows.astype(np.int64), owners[found.stored_rows]], axis=1), axis=0
        )
        return pairs[:, 0], [keys[owner] for owner in pairs[:, 1]]

    def find_overlapping(self, regions: Regions) -> list[Hashable]:
        """Keys with a region that has an event in common with one of these."""
        keys, owners, index = self._ensure_index()
        found = index.find_overlapping(regions)
        return [keys[owner] for owner in np.unique(owners[found.stored_rows])]

    def overlaps(self, regions: Regions) -> NDArray[np.bool_]:
        """Whether each of these has an event in common with some region here."""
        answer = np.zeros(len(regions), np.bool_)
        if len(self._id_spans) and len(regions):
            answer[self._ensure_index()[2].find_overlapping(regions).query_rows] = True
        return answer

    def admits(self, events: Events) -> NDArray[np.bool_]:
        """Whether some region contains each event."""
        answer = np.zeros(len(events), np.bool_)
        if len(self._id_spans):
            answer[self._ensure_index()[2].match(events).query_rows] = True
        return answer

    def _ensure_index(self) -> tuple[list[Hashable], Numbers, BruteForceIndex | SegmentIndex]:
        if self._cached_index is None:
            here = self.as_additions()
            build = BruteForceIndex if len(here.regions) <= _MAX_UNINDEXED else SegmentIndex.build
            self._cached_index = here.ids, here.id_rows, build(here.regions)
        return self._cached_index
