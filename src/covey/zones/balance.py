"""Zones that have drifted out of balance, put right by cutting a few and joining others.

What events cost where is looked at anew. Zones with too much are cut in two, and as many pairs of
neighbours that have little become one: so most zones, and their files, stay as they are. A zone
that no cut can part gets more owners, and that moves nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from covey.zones.cutting import Sample, best_cut
from covey.zones.tree import ZoneTree
from covey.zones.zoning import Zoning

__all__ = ["Rebalanced", "rebalanced"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Rebalanced:
    """A zoning, and for each of its zones the ones before it that have all that it meets.

    A zone with itself alone is as it was.
    """

    zoning: Zoning
    sources: tuple[tuple[int, ...], ...]

    @property
    def changed(self) -> list[int]:
        """The zones that have to be built anew."""
        before = [zone for sources in self.sources for zone in sources]
        return [
            zone
            for zone, sources in enumerate(self.sources)
            if len(sources) > 1 or before.count(sources[0]) > 1
        ]


def rebalanced(
    zoning: Zoning,
    work: Floats,
    of_zone: Callable[[int], Sample],
    spared: frozenset[str] = frozenset(),
    most: float = 1.5,
) -> Rebalanced:
    """Zones of which none has more than about `most` times the mean work, if cuts can do that.

    `work` is the share of each zone now, `of_zone` gives events of a zone, and regions. Attributes
    that are spared are not cut by.
    """
    tree = zoning.tree
    sources: list[tuple[int, ...]] = [(zone,) for zone in range(len(zoning))]
    shares, fixed = work.tolist(), set[int]()
    for _ in range(len(work)):
        left = [zone for zone in range(len(tree)) if zone not in fixed]
        hot = max(left, key=shares.__getitem__, default=-1)
        if hot < 0 or shares[hot] * len(work) <= most:
            break
        if len(sources[hot]) > 1 or sources.count(sources[hot]) > 1:
            fixed.add(hot)  # it was changed already: what a sample says of it is used up
            continue
        sample = of_zone(sources[hot][0])
        found = best_cut(sample, frozenset(sample.regions.constraints) - spared)
        if found is None:
            fixed.add(hot)
            continue
        total = max(sum(found.work), 1e-9)
        shares.append(shares[hot] * found.work[1] / total)
        shares[hot] *= found.work[0] / total
        sources.append(sources[hot])
        tree = tree.parted(hot, found.cut)
        tree = _with_coldest_joined(tree, shares, sources, len(work))
    fresh = np.array(shares)
    return Rebalanced(replace(zoning, tree=tree, work=fresh), tuple(sources))


def _with_coldest_joined(
    tree: ZoneTree, shares: list[float], sources: list[tuple[int, ...]], zones: int
) -> ZoneTree:
    """The tree with two neighbours made one, if there are any that have little; tells the lists."""

    def together(cut: int) -> float:
        return sum(shares[~child] for child in tree.children[cut])

    joinable = [
        cut
        for cut, pair in enumerate(tree.children)
        if all(child < 0 for child in pair)
        and all(sources.count(sources[~child]) == 1 for child in pair)
        and together(cut) * zones <= 1
    ]
    if not joinable:
        return tree
    cut = min(joinable, key=together)
    low, high = (~child for child in tree.children[cut])
    kept, gone, last = min(low, high), max(low, high), len(tree) - 1
    shares[kept], sources[kept] = together(cut), (*sources[kept], *sources[gone])
    joined = tree.joined(cut)
    shares[gone], sources[gone] = shares[last], sources[last]  # the last takes the place
    del shares[last], sources[last]
    return joined
