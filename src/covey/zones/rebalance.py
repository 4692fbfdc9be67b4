"""Zones that have drifted out of balance, put right by splitting a few and joining others.

What events cost where is looked at anew. Zones with too much are split, and as many pairs of
neighbours that have little become one: so most zones, and their files, stay as they are. A zone
that no split divides gets more partitions, and that moves nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from covey.zones.build_tree import ZoneSample, find_best_split
from covey.zones.zone_map import ZoneMap
from covey.zones.zone_tree import ZoneTree

__all__ = ["RebalanceResult", "rebalance_zones"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RebalanceResult:
    """A zone map, and for each of its zones the ones before it that have all that it meets.

    A zone with itself alone is as it was.
    """

    zone_map: ZoneMap
    source_zones: tuple[tuple[int, ...], ...]

    @property
    def changed_zones(self) -> list[int]:
        """The zones that have to be built anew."""
        before = [zone for sources in self.source_zones for zone in sources]
        return [
            zone
            for zone, sources in enumerate(self.source_zones)
            if len(sources) > 1 or before.count(sources[0]) > 1
        ]


def rebalance_zones(
    zone_map: ZoneMap,
    zone_work: Floats,
    sample_zone: Callable[[int], ZoneSample],
    *,
    excluded_attributes: frozenset[str] = frozenset(),
    max_load_ratio: float = 1.5,
) -> RebalanceResult:
    """Zones of which none has more than about `max_load_ratio` times the mean work, if splits can.

    `zone_work` is the share of each zone now, `sample_zone` gives events and regions of a zone.
    Nothing is split by `excluded_attributes`.
    """
    tree = zone_map.tree
    sources: list[tuple[int, ...]] = [(zone,) for zone in range(len(zone_map))]
    shares, fixed = zone_work.tolist(), set[int]()
    for _ in range(len(zone_work)):
        left = [zone for zone in range(len(tree)) if zone not in fixed]
        hot = max(left, key=shares.__getitem__, default=-1)
        if hot < 0 or shares[hot] * len(zone_work) <= max_load_ratio:
            break
        if len(sources[hot]) > 1 or sources.count(sources[hot]) > 1:
            fixed.add(hot)  # it was changed already: what a sample says of it is used up
            continue
        sample = sample_zone(sources[hot][0])
        found = find_best_split(sample, frozenset(sample.regions.constraints) - excluded_attributes)
        if found is None:
            fixed.add(hot)
            continue
        total = max(sum(found.side_work), 1e-9)
        shares.append(shares[hot] * found.side_work[1] / total)
        shares[hot] *= found.side_work[0] / total
        sources.append(sources[hot])
        tree = tree.with_split(hot, found.split)
        tree = _join_coldest_zones(tree, shares, sources, len(zone_work))
    fresh = np.array(shares)
    return RebalanceResult(replace(zone_map, tree=tree, zone_work=fresh), tuple(sources))


def _join_coldest_zones(
    tree: ZoneTree, shares: list[float], sources: list[tuple[int, ...]], zone_count: int
) -> ZoneTree:
    """The tree with two neighbours made one, if there are any that have little; tells the lists."""

    def together(cut: int) -> float:
        return sum(shares[~child] for child in tree.children[cut])

    joinable = [
        cut
        for cut, pair in enumerate(tree.children)
        if all(child < 0 for child in pair)
        and all(sources.count(sources[~child]) == 1 for child in pair)
        and together(cut) * zone_count <= 1
    ]
    if not joinable:
        return tree
    cut = min(joinable, key=together)
    low, high = (~child for child in tree.children[cut])
    kept, gone, last = min(low, high), max(low, high), len(tree) - 1
    shares[kept], sources[kept] = together(cut), (*sources[kept], *sources[gone])
    joined = tree.without_split(cut)
    shares[gone], sources[gone] = shares[last], sources[last]  # the last takes the place
    del shares[last], sources[last]
    return joined
