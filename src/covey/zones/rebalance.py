"""Rebalancing: split zones with too much work, and join sibling zones with little work.

The work of each zone is measured again with new events. After a zone is split, two sibling zones
with little work are joined, if there are such zones, so that the number of zones remains about the
same. Most zones, and their files, do not change. A zone with too much work that cannot be split
gets more partitions instead; no subscription is moved for this.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from covey._argument_checks import check_arguments
from covey.errors import InvalidArgumentError
from covey.zones.build_tree import ZoneSample, find_best_split
from covey.zones.zone_map import ZoneMap
from covey.zones.zone_tree import ZoneTree

__all__ = ["RebalanceResult", "rebalance_zones"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RebalanceResult:
    """New zone map, and for each of its zones the old zones from which it is made.

    Args:
        zone_map: the new zone map.
        source_zones: for each new zone, the old zones that together contain every region that meets
            the new zone. A new zone is unchanged if it has a single source zone, and no other new
            zone has this source zone.
    """

    zone_map: ZoneMap
    source_zones: tuple[tuple[int, ...], ...]

    @property
    def changed_zones(self) -> list[int]:
        """Numbers of the new zones that changed, ascending; see `source_zones`."""
        all_sources = [zone for sources in self.source_zones for zone in sources]
        return [
            zone
            for zone, sources in enumerate(self.source_zones)
            if len(sources) > 1 or all_sources.count(sources[0]) > 1
        ]


@check_arguments
def rebalance_zones(
    zone_map: ZoneMap,
    zone_work: Floats,
    sample_zone: Callable[[int], ZoneSample],
    *,
    excluded_attributes: frozenset[str] = frozenset(),
    max_load_ratio: float = 1.5,
) -> RebalanceResult:
    """Return a zone map in which no zone has more than about `max_load_ratio` times the mean work.

    There are two exceptions. A zone that cannot be split keeps its work. A zone is split only once,
    so each side of a zone with very much work may still have too much.

    Args:
        zone_map: the zones to change.
        zone_work: present share of each zone in the work of all zones.
        sample_zone: function that returns a sample of events and regions of a zone of `zone_map`.
        excluded_attributes: attributes by which no zone may be split.
        max_load_ratio: largest work of a zone, in multiples of the mean.

    Raises:
        InvalidArgumentError: if `zone_work` does not have one share for each zone.
    """
    if zone_work.shape != (len(zone_map),):
        raise InvalidArgumentError(
            f"zone_work must be an array with one share for each of {len(zone_map)} zones, "
            f"got shape {zone_work.shape}"
        )
    tree = zone_map.tree
    sources: list[tuple[int, ...]] = [(zone,) for zone in range(len(zone_map))]
    shares, fixed = zone_work.tolist(), set[int]()
    for _ in range(len(zone_work)):
        candidates = [zone for zone in range(len(tree)) if zone not in fixed]
        hot = max(candidates, key=shares.__getitem__, default=-1)
        if hot < 0 or shares[hot] * len(zone_work) <= max_load_ratio:
            break
        if len(sources[hot]) > 1 or sources.count(sources[hot]) > 1:
            fixed.add(hot)  # a zone is changed only once, because samples describe old zones
            continue
        sample = sample_zone(sources[hot][0])
        candidate = find_best_split(
            sample, frozenset(sample.regions.constraints) - excluded_attributes
        )
        if candidate is None:
            fixed.add(hot)
            continue
        total = max(sum(candidate.side_work), 1e-9)
        shares.append(shares[hot] * candidate.side_work[1] / total)
        shares[hot] *= candidate.side_work[0] / total
        sources.append(sources[hot])
        tree = tree.with_split(hot, candidate.split)
        tree = _join_coldest_zones(tree, shares, sources, len(zone_work))
    new_work = np.array(shares)
    return RebalanceResult(replace(zone_map, tree=tree, zone_work=new_work), tuple(sources))


def _join_coldest_zones(
    tree: ZoneTree, shares: list[float], sources: list[tuple[int, ...]], zone_count: int
) -> ZoneTree:
    """Return the tree with two sibling zones joined: the pair with the least work.

    Zones that were made by a split in this rebalance are not joined, and neither are zones that
    together have more than the mean work of a zone. If there is no pair to join, the tree is
    returned unchanged. `shares` and `sources` are updated in place.
    """

    def joint_share(split_index: int) -> float:
        """Return the share of the work that the two zones of a split have together."""
        return sum(shares[~child] for child in tree.children[split_index])

    joinable = [
        split_index
        for split_index, pair in enumerate(tree.children)
        if all(child < 0 for child in pair)
        and all(sources.count(sources[~child]) == 1 for child in pair)
        and joint_share(split_index) * zone_count <= 1
    ]
    if not joinable:
        return tree
    split_index = min(joinable, key=joint_share)
    low, high = (~child for child in tree.children[split_index])
    joint, removed, last = min(low, high), max(low, high), len(tree) - 1
    shares[joint], sources[joint] = joint_share(split_index), (*sources[joint], *sources[removed])
    joined_tree = tree.without_split(split_index)
    # As in `without_split`, the last zone gets the number of the removed one.
    shares[removed], sources[removed] = shares[last], sources[last]
    del shares[last], sources[last]
    return joined_tree
