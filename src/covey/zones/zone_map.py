"""How a set of subscriptions is spread over zones, as it is stored with the set.

A subscription is in every zone that one of its regions meets (PURE; papers: can). One that meets
too many is `EVERYWHERE` instead, which every partition of a zone has as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey._types import JsonObject, JsonValue
from covey.geometry import Regions
from covey.geometry.distances import Metric
from covey.index import Pairs
from covey.space import Space
from covey.zones.direction_split import DirectionSplit
from covey.zones.splits import KeySplit, NullSplit, Split
from covey.zones.zone_tree import ZoneTree

__all__ = ["EVERYWHERE", "ZoneMap", "ZoneMembers"]

EVERYWHERE = -1
"""The zone of what is in all of them."""

_MAX_LOAD_RATIO = 1.2  # times the mean work that a partition may have
_MAX_MEAN_PARTITIONS = 4  # for each zone, in the mean
_MAX_COPIED_SHARE = 0.1  # copies, by subscription, that broad ones may have in all zones
_UNLIMITED_ZONES = 1 << 30  # zones that nothing meets

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ZoneMembers:
    """Some subscriptions of one zone: their rows, ascending, and the first zone that each is in.

    Those that are not in their first zone are copies; `is_replicated` are the ones in several.
    """

    zone: int
    rows: Rows
    first_zones: Rows
    is_replicated: Bools

    @property
    def is_copy(self) -> Bools:
        """Which of them are copies."""
        copies: Bools = self.first_zones != self.zone
        return copies


@dataclass(frozen=True, slots=True)
class ZoneMap:
    """A tree of zones, the share of work that each was expected to have, and how many are too many.

    A subscription that meets more than `max_zones` zones is everywhere. The tree was to have
    `requested_zones`, and has fewer where nothing more could be split.
    """

    tree: ZoneTree
    zone_work: Floats
    max_zones: int
    requested_zones: int

    @classmethod
    def build(
        cls,
        tree: ZoneTree,
        zone_work: Floats,
        *,
        requested_zones: int | None = None,
        regions: Regions | None = None,
    ) -> ZoneMap:
        """What meets more than half of the zones is everywhere, if there are several.

        If that is little of some typical regions, nothing is: regions that every event is matched
        with cost more then than copies in all zones.
        """
        most = max(2, len(tree) // 2)
        if regions is not None:
            zones = np.bincount(tree.find_region_zones(regions).query_rows, minlength=len(regions))
            if zones[zones > most].sum() <= _MAX_COPIED_SHARE * len(regions):
                most = _UNLIMITED_ZONES
        return cls(tree, zone_work, most, len(tree) if requested_zones is None else requested_zones)

    def __len__(self) -> int:
        return len(self.tree)

    @property
    def partitions_per_zone(self) -> Rows:
        """How many share the events of each zone, so that none has much more than the mean work.

        >>> ZoneMap.build(ZoneTree(), np.array([0.1, 0.7, 0.1, 0.1])).partitions_per_zone.tolist()
        [1, 5, 1, 1]
        """
        owners = np.ones(len(self.zone_work), np.int64)
        for _ in range(_MAX_MEAN_PARTITIONS * len(owners)):
            each = self.zone_work / owners
            if each.max() * owners.sum() <= _MAX_LOAD_RATIO * self.zone_work.sum():
                break
            owners[each.argmax()] += 1
        return owners

    def assign(self, regions: Regions, subscription_rows: Rows, subscription_count: int) -> Pairs:
        """Each subscription with its zones; region r is of subscription `subscription_rows[r]`.

        One without a region is in zone 0, so that it is somewhere.
        """
        met = self.tree.find_region_zones(regions)
        pairs = Pairs.from_unsorted(
            subscription_rows[met.query_rows], met.stored_rows
        ).drop_duplicates()
        zones = np.bincount(pairs.query_rows, minlength=subscription_count)
        kept = zones[pairs.query_rows] <= self.max_zones
        broad, nowhere = np.flatnonzero(zones > self.max_zones), np.flatnonzero(zones == 0)
        asked = np.concatenate([pairs.query_rows[kept], broad, nowhere])
        placed = np.concatenate(
            [
                pairs.stored_rows[kept],
                np.full(len(broad), EVERYWHERE),
                np.zeros(len(nowhere), np.int64),
            ]
        )
        order = np.lexsort((placed, asked))
        return Pairs(asked[order], placed[order])

    def iterate_members(
        self, regions: Regions, subscription_rows: Rows, subscription_count: int
    ) -> Iterator[ZoneMembers]:
        """Each zone that has some of the subscriptions, which are given as to `assign`."""
        placed = self.assign(regions, subscription_rows, subscription_count)
        asked, stored = placed.query_rows.astype(np.int64), placed.stored_rows.astype(np.int64)
        starts = np.searchsorted(asked, np.arange(subscription_count + 1))
        first = stored[starts[:-1]]
        order = np.argsort(stored, kind="stable")
        zones, places = np.unique(stored[order], return_index=True)
        for zone, some in zip(zones.tolist(), np.split(order, places[1:]), strict=False):
            rows = asked[some]
            yield ZoneMembers(zone, rows, first[rows], np.diff(starts)[rows] > 1)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Plain arrays to be stored, with `to_metadata`."""
        directions = [cut.direction for cut in self.tree.splits if isinstance(cut, DirectionSplit)]
        return {
            "children": np.array(self.tree.children, np.int32).reshape(-1, 2),
            "work": self.zone_work,
            **{f"direction{i}": direction for i, direction in enumerate(directions)},
        }

    def to_metadata(self) -> JsonObject:
        """What JSON is to hold of it, beside the arrays."""
        cuts = [_split_to_json(cut) for cut in self.tree.splits]
        return {"most": self.max_zones, "asked": self.requested_zones, "cuts": cuts}

    @classmethod
    def from_arrays(
        cls, space: Space, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, JsonValue]
    ) -> ZoneMap:
        """The one that gave these, in the space of its events."""
        fields: Mapping[str, Any] = metadata
        directions = iter(range(len(arrays)))
        cuts = []
        for saved in fields["cuts"]:
            vector = arrays[f"direction{next(directions)}"] if "least" in saved else None
            cuts.append(_split_from_json(space, saved, vector))
        children = tuple((int(low), int(high)) for low, high in arrays["children"])
        tree = ZoneTree(tuple(cuts), children)
        return cls(tree, arrays["work"], fields["most"], fields["asked"])


def _split_to_json(split: Split) -> dict[str, Any]:
    saved: dict[str, Any] = {"attribute": split.attribute}
    if isinstance(split, KeySplit):
        saved["first"] = split.first_high_key
    if isinstance(split, DirectionSplit):
        saved |= {"metric": int(split.metric), "least": split.threshold}
    return saved


def _split_from_json(
    space: Space, saved: Mapping[str, Any], direction: NDArray[np.float32] | None
) -> Split:
    name = saved["attribute"]
    if direction is not None:
        return DirectionSplit(name, Metric(saved["metric"]), direction, saved["least"])
    return KeySplit(name, space[name].type, saved["first"]) if "first" in saved else NullSplit(name)
