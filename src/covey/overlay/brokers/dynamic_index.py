"""Regions by key that can be added and removed, with an index that is built on demand."""

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
_MAX_UNINDEXED = 64  # up to this number, regions are compared one by one, without an index


@dataclass(frozen=True, slots=True)
class RegionDelta:
    """A change of a set of regions by key: added and removed keys, with their regions.

    Region r of `regions` belongs to key `ids[id_rows[r]]`; `id_rows` is ascending. A link applies
    additions before removals. A key that is both added and removed is replaced.
    """

    ids: list[Hashable]
    regions: Regions
    id_rows: Numbers
    removed_ids: list[Hashable]
    removed_regions: Regions

    def __bool__(self) -> bool:
        """Return whether a key is added or removed."""
        return bool(self.ids or self.removed_ids)


class DynamicRegionIndex:
    """Regions by key, which can be matched with events and compared with regions.

    Cost: the first query after a change builds an index of all regions if there are more than 64.
    """

    def __init__(self, space: Space) -> None:
        self.space = space
        self._region_log = RegionLog(space)
        self._id_spans = IdSpans()
        self._cached_index: (
            tuple[list[Hashable], Numbers, BruteForceIndex | SegmentIndex] | None
        ) = None

    def __len__(self) -> int:
        """Return the number of keys."""
        return len(self._id_spans)

    def __contains__(self, key: Hashable) -> bool:
        """Return whether a key is in the index."""
        return key in self._id_spans

    def apply_changes(
        self,
        ids: Sequence[Hashable],
        regions: Regions,
        id_rows: Numbers,
        removed_ids: Iterable[Hashable],
    ) -> RegionDelta:
        """Remove keys, then add keys, and return the change.

        Args:
            ids: keys to add.
            regions: regions of the added keys.
            id_rows: for each region the position of its key in `ids`, in any order.
            removed_ids: keys to remove; unknown keys are ignored.
        """
        self._cached_index = None
        removed_keys = [key for key in removed_ids if key in self._id_spans]
        removed_regions = self._region_log.take(self._id_spans.pop(removed_keys))
        order = np.argsort(id_rows, kind="stable")
        regions, id_rows = regions.take(order), id_rows[order]
        first_number = self._region_log.next_number
        self._region_log.append(regions)
        self._id_spans.insert(ids, first_number, id_rows)
        return RegionDelta(list(ids), regions, id_rows, removed_keys, removed_regions)

    def select(self, keys: Iterable[Hashable]) -> RegionDelta:
        """Return a change that adds the given keys, with their regions in this index."""
        ids = list(keys)
        numbers, id_rows = self._id_spans.find_numbers(ids)
        return RegionDelta(
            ids, self._region_log.take(numbers), id_rows, [], Regions(self.space, 0, {})
        )

    def as_additions(self) -> RegionDelta:
        """Return a change that adds all keys, with their regions."""
        return self.select(self._id_spans)

    def as_removals(self) -> RegionDelta:
        """Return a change that removes all keys, with their regions."""
        additions, no_regions = self.as_additions(), Regions(self.space, 0, {})
        return RegionDelta([], no_regions, np.empty(0, np.int64), additions.ids, additions.regions)

    def match(self, events: Events) -> tuple[Numbers, list[Hashable]]:
        """Return pairs of an event and a key with a region that contains the event.

        A pair occurs once, even if several regions of the key contain the event.

        Returns:
            The row of the event of each pair, ascending; and the key of each pair.
        """
        keys, key_rows, index = self._ensure_index()
        region_pairs = index.match(events).possible_pairs
        pairs = np.unique(
            np.stack(
                [region_pairs.query_rows.astype(np.int64), key_rows[region_pairs.stored_rows]],
                axis=1,
            ),
            axis=0,
        )
        return pairs[:, 0], [keys[row] for row in pairs[:, 1]]

    def find_overlapping(self, regions: Regions) -> list[Hashable]:
        """Return the keys that have a region which overlaps one of the given regions."""
        keys, key_rows, index = self._ensure_index()
        pairs = index.find_overlapping(regions)
        return [keys[row] for row in np.unique(key_rows[pairs.stored_rows])]

    def overlaps(self, regions: Regions) -> NDArray[np.bool_]:
        """Return for each given region whether it overlaps a region of the index."""
        answer = np.zeros(len(regions), np.bool_)
        if len(self._id_spans) and len(regions):
            answer[self._ensure_index()[2].find_overlapping(regions).query_rows] = True
        return answer

    def admits(self, events: Events) -> NDArray[np.bool_]:
        """Return for each event whether a region of the index contains it."""
        answer = np.zeros(len(events), np.bool_)
        if len(self._id_spans):
            answer[self._ensure_index()[2].match(events).possible_pairs.query_rows] = True
        return answer

    def _ensure_index(self) -> tuple[list[Hashable], Numbers, BruteForceIndex | SegmentIndex]:
        """Return all keys, for each region the position of its key, and an index of the regions."""
        if self._cached_index is None:
            additions = self.as_additions()
            build = (
                BruteForceIndex if len(additions.regions) <= _MAX_UNINDEXED else SegmentIndex.build
            )
            self._cached_index = additions.ids, additions.id_rows, build(additions.regions)
        return self._cached_index
