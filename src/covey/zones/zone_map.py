"""Zone map: the zones of a set of subscriptions, which a store saves together with the set.

A subscription is in every zone that one of its regions meets (*can*: PURE). A subscription that
meets too many zones is in `EVERYWHERE` instead, and is matched with the events of every zone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey._argument_checks import check_arguments, check_range, check_rows
from covey._types import JsonObject, JsonValue
from covey.errors import InvalidArgumentError
from covey.geometry import Regions
from covey.geometry.distances import Metric
from covey.index import Pairs
from covey.space import Space
from covey.zones.direction_split import DirectionSplit
from covey.zones.splits import KeySplit, NullSplit, Split
from covey.zones.zone_tree import ZoneTree

__all__ = ["EVERYWHERE", "ZoneMap", "ZoneMembers"]

EVERYWHERE = -1
"""Zone number of subscriptions that meet too many zones; they are matched with every event."""

_MAX_LOAD_RATIO = 1.2  # largest work of a partition, in multiples of the mean
_MAX_MEAN_EXTRA_PARTITIONS = 4  # largest mean number of additional partitions per zone
# No region is broadcast if broad regions have at most this many copies per region of the sample.
_MAX_COPIED_SHARE = 0.1
_UNLIMITED_ZONES = 1 << 30  # max_zones so large that no subscription is in EVERYWHERE

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ZoneMembers:
    """Subscriptions of one zone, or of `EVERYWHERE`.

    Args:
        zone: number of the zone.
        rows: rows of the subscriptions, ascending.
        first_zones: home zone of each subscription: the zone with the lowest number that it is in.
        is_replicated: for each subscription whether it is in several zones.
    """

    zone: int
    rows: Rows
    first_zones: Rows
    is_replicated: Bools

    @property
    def is_copy(self) -> Bools:
        """For each subscription whether it is a replica: this zone is not its home zone."""
        copies: Bools = self.first_zones != self.zone
        return copies


@dataclass(frozen=True, slots=True)
class ZoneMap:
    """Zone tree, with the expected work of each zone and the limit for broadcasting.

    Args:
        tree: the zones.
        zone_work: expected share of each zone in the work of all zones.
        max_zones: a subscription that meets more zones than this is in `EVERYWHERE`.
        requested_zones: number of zones that was requested when the tree was built; the tree has
            fewer zones if no zone could be split further.
    """

    tree: ZoneTree
    zone_work: Floats
    max_zones: int
    requested_zones: int

    @classmethod
    @check_arguments
    def build(
        cls,
        tree: ZoneTree,
        zone_work: Floats,
        *,
        requested_zones: int | None = None,
        regions: Regions | None = None,
    ) -> ZoneMap:
        """Return a zone map that broadcasts subscriptions that meet many zones.

        A subscription is broadcast if it meets more than half of the zones, and more than two. If
        only few regions of a sample are so broad, no subscription is broadcast: then their replicas
        cost less than a broadcast segment, which is matched with the events of every zone. There
        are few such regions if the numbers of zones that they meet add up to at most a tenth of the
        number of regions in the sample.

        Args:
            tree: the zones.
            zone_work: expected share of each zone in the work of all zones.
            requested_zones: number of zones that was requested; None for the number in `tree`.
            regions: a sample of the regions; None to broadcast broad subscriptions in any case.
        """
        max_zones = max(2, len(tree) // 2)
        if regions is not None:
            zones = np.bincount(tree.find_region_zones(regions).query_rows, minlength=len(regions))
            if zones[zones > max_zones].sum() <= _MAX_COPIED_SHARE * len(regions):
                max_zones = _UNLIMITED_ZONES
        return cls(
            tree, zone_work, max_zones, len(tree) if requested_zones is None else requested_zones
        )

    def __len__(self) -> int:
        """Return the number of zones."""
        return len(self.tree)

    @property
    def partitions_per_zone(self) -> Rows:
        """Number of partitions of each zone, chosen so that partitions have about equal work.

        No partition has more than 1.2 times the mean work, unless this would need more than five
        partitions per zone on average.

        >>> ZoneMap.build(ZoneTree(), np.array([0.1, 0.7, 0.1, 0.1])).partitions_per_zone.tolist()
        [1, 5, 1, 1]
        """
        partitions = np.ones(len(self.zone_work), np.int64)
        for _ in range(_MAX_MEAN_EXTRA_PARTITIONS * len(partitions)):
            partition_work = self.zone_work / partitions
            if partition_work.max() * partitions.sum() <= _MAX_LOAD_RATIO * self.zone_work.sum():
                break
            partitions[partition_work.argmax()] += 1
        return partitions

    @check_arguments
    def assign(self, regions: Regions, subscription_rows: Rows, subscription_count: int) -> Pairs:
        """Return pairs of a subscription and a zone in which the subscription must be stored.

        A subscription without a region is in zone 0, so that every subscription is stored.

        Args:
            regions: regions of all subscriptions.
            subscription_rows: for each region the row of its subscription.
            subscription_count: number of subscriptions.

        Returns:
            Pairs of a subscription row, as query row, and a zone number or `EVERYWHERE`, as stored
            row, sorted by subscription and then by zone.

        Raises:
            InvalidArgumentError: if there is not exactly one valid subscription row for each
                region.
        """
        check_range("subscription_count", subscription_count, 0, 1 << 40)
        if len(subscription_rows) != len(regions):
            raise InvalidArgumentError(
                f"subscription_rows must have one row number for each of {len(regions)} regions, "
                f"got {len(subscription_rows)} row numbers"
            )
        check_rows("subscription_rows", subscription_rows, subscription_count)
        met_zones = self.tree.find_region_zones(regions)
        pairs = Pairs.from_unsorted(
            subscription_rows[met_zones.query_rows], met_zones.stored_rows
        ).drop_duplicates()
        zones = np.bincount(pairs.query_rows, minlength=subscription_count)
        is_limited = zones[pairs.query_rows] <= self.max_zones
        broadcast, unplaced = np.flatnonzero(zones > self.max_zones), np.flatnonzero(zones == 0)
        query_rows = np.concatenate([pairs.query_rows[is_limited], broadcast, unplaced])
        zone_rows = np.concatenate(
            [
                pairs.stored_rows[is_limited],
                np.full(len(broadcast), EVERYWHERE),
                np.zeros(len(unplaced), np.int64),
            ]
        )
        order = np.lexsort((zone_rows, query_rows))
        return Pairs(query_rows[order], zone_rows[order])

    def iterate_members(
        self, regions: Regions, subscription_rows: Rows, subscription_count: int
    ) -> Iterator[ZoneMembers]:
        """Yield the members of each zone that has any, sorted by zone; `EVERYWHERE` is first.

        The arguments are those of `assign`.
        """
        assigned = self.assign(regions, subscription_rows, subscription_count)
        subscriptions, zone_of_pair = (
            assigned.query_rows.astype(np.int64),
            assigned.stored_rows.astype(np.int64),
        )
        starts = np.searchsorted(subscriptions, np.arange(subscription_count + 1))
        first = zone_of_pair[starts[:-1]]
        order = np.argsort(zone_of_pair, kind="stable")
        zones, zone_starts = np.unique(zone_of_pair[order], return_index=True)
        for zone, zone_pairs in zip(zones.tolist(), np.split(order, zone_starts[1:]), strict=False):
            rows = subscriptions[zone_pairs]
            yield ZoneMembers(zone, rows, first[rows], np.diff(starts)[rows] > 1)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the map; `from_arrays` also needs the result of `to_metadata`."""
        directions = [
            split.direction for split in self.tree.splits if isinstance(split, DirectionSplit)
        ]
        return {
            "children": np.array(self.tree.children, np.int32).reshape(-1, 2),
            "work": self.zone_work,
            **{f"direction{i}": direction for i, direction in enumerate(directions)},
        }

    def to_metadata(self) -> JsonObject:
        """Return the part of the map that `to_arrays` does not return, as values for JSON."""
        splits = [_split_to_json(split) for split in self.tree.splits]
        return {
            "max_zones": self.max_zones,
            "requested_zones": self.requested_zones,
            "splits": splits,
        }

    @classmethod
    @check_arguments
    def from_arrays(
        cls, space: Space, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, JsonValue]
    ) -> ZoneMap:
        """Return the zone map with these arrays and metadata.

        Args:
            space: the space of the events.
            arrays: result of `to_arrays`.
            metadata: result of `to_metadata`.

        Raises:
            InvalidArgumentError: if an array or a field of the metadata is missing.
        """
        fields: Mapping[str, Any] = metadata
        try:
            directions = iter(range(len(arrays)))
            splits = []
            for saved in fields["splits"]:
                vector = arrays[f"direction{next(directions)}"] if "threshold" in saved else None
                splits.append(_split_from_json(space, saved, vector))
            children = tuple((int(low), int(high)) for low, high in arrays["children"])
            tree = ZoneTree(tuple(splits), children)
            return cls(tree, arrays["work"], fields["max_zones"], fields["requested_zones"])
        except KeyError as missing:
            raise InvalidArgumentError(
                f"{missing} is missing: arrays must be the result of to_arrays, and metadata the "
                "result of to_metadata"
            ) from None


def _split_to_json(split: Split) -> dict[str, Any]:
    """Return a split as values for JSON, without the direction of a `DirectionSplit`."""
    saved: dict[str, Any] = {"attribute": split.attribute}
    if isinstance(split, KeySplit):
        saved["first_high_key"] = split.first_high_key
    if isinstance(split, DirectionSplit):
        saved |= {"metric": int(split.metric), "threshold": split.threshold}
    return saved


def _split_from_json(
    space: Space, saved: Mapping[str, Any], direction: NDArray[np.float32] | None
) -> Split:
    """Return the split that `_split_to_json` encoded.

    `direction` is the direction of a `DirectionSplit`, and None for other splits.
    """
    name = saved["attribute"]
    if direction is not None:
        return DirectionSplit(name, Metric(saved["metric"]), direction, saved["threshold"])
    return (
        KeySplit(name, space[name].type, saved["first_high_key"])
        if "first_high_key" in saved
        else NullSplit(name)
    )
