"""How a set of subscriptions is spread over zones, as it is kept with the set.

A subscription is in every zone that one of its regions meets (PURE; papers: can). One that meets
too many is `EVERYWHERE` instead, in a part that every owner of a zone has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.geometry.distances import Metric
from covey.index import Pairs
from covey.space import Space
from covey.zones.cuts import ByKey, ByNull, Cut
from covey.zones.directions import ByDirection
from covey.zones.tree import ZoneTree

__all__ = ["EVERYWHERE", "InZone", "Zoning"]

EVERYWHERE = -1
"""The zone of what is in all of them."""

_EVEN = 1.2  # times the mean work that an owner may have
_MOST_OWNERS = 4  # for each zone, in the mean
_FEW = 0.1  # copies, by subscription, that broad ones may have in all zones
_NEVER = 1 << 30  # zones that nothing meets

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class InZone:
    """Some subscriptions of one zone: their rows, ascending, and the first zone that each is in.

    Those that are not in their first zone are copies; `is_elsewhere` are the ones in several.
    """

    zone: int
    rows: Rows
    first: Rows
    is_elsewhere: Bools

    @property
    def copies(self) -> Bools:
        """Which of them are copies."""
        copies: Bools = self.first != self.zone
        return copies


@dataclass(frozen=True, slots=True)
class Zoning:
    """A tree of zones, the share of all work that each was expected to have, and what is too many.

    A subscription that meets more than `most` zones is everywhere. So many zones were `asked` for,
    which there are not where nothing more could be parted.
    """

    tree: ZoneTree
    work: Floats
    most: int
    asked: int

    @classmethod
    def of(
        cls, tree: ZoneTree, work: Floats, asked: int | None = None, regions: Regions | None = None
    ) -> Zoning:
        """What meets more than half of the zones is everywhere, if there are several.

        If that is little of some typical regions, nothing is: a part that every event is matched
        with costs more then than copies in all zones.
        """
        most = max(2, len(tree) // 2)
        if regions is not None:
            zones = np.bincount(tree.meeting(regions).asked, minlength=len(regions))
            if zones[zones > most].sum() <= _FEW * len(regions):
                most = _NEVER
        return cls(tree, work, most, len(tree) if asked is None else asked)

    def __len__(self) -> int:
        return len(self.tree)

    @property
    def owners(self) -> Rows:
        """How many share the events of each zone, so that none has much more than the mean work.

        >>> Zoning.of(ZoneTree(), np.array([0.1, 0.7, 0.1, 0.1])).owners.tolist()
        [1, 5, 1, 1]
        """
        owners = np.ones(len(self.work), np.int64)
        for _ in range(_MOST_OWNERS * len(owners)):
            each = self.work / owners
            if each.max() * owners.sum() <= _EVEN * self.work.sum():
                break
            owners[each.argmax()] += 1
        return owners

    def placed(self, regions: Regions, of: Rows, count: int) -> Pairs:
        """Each of `count` subscriptions with its zones; region r is of subscription `of[r]`.

        One without a region is in zone 0, so that it is somewhere.
        """
        met = self.tree.meeting(regions)
        pairs = Pairs.of(of[met.asked], met.stored).once()
        zones = np.bincount(pairs.asked, minlength=count)
        kept = zones[pairs.asked] <= self.most
        broad, nowhere = np.flatnonzero(zones > self.most), np.flatnonzero(zones == 0)
        asked = np.concatenate([pairs.asked[kept], broad, nowhere])
        placed = np.concatenate(
            [pairs.stored[kept], np.full(len(broad), EVERYWHERE), np.zeros(len(nowhere), np.int64)]
        )
        order = np.lexsort((placed, asked))
        return Pairs(asked[order], placed[order])

    def spread(self, regions: Regions, of: Rows, count: int) -> Iterator[InZone]:
        """Each zone that has some of `count` subscriptions; region r is of subscription `of[r]`."""
        placed = self.placed(regions, of, count)
        asked, stored = placed.asked.astype(np.int64), placed.stored.astype(np.int64)
        starts = np.searchsorted(asked, np.arange(count + 1))
        first = stored[starts[:-1]]
        order = np.argsort(stored, kind="stable")
        zones, places = np.unique(stored[order], return_index=True)
        for zone, some in zip(zones.tolist(), np.split(order, places[1:]), strict=False):
            rows = asked[some]
            yield InZone(zone, rows, first[rows], np.diff(starts)[rows] > 1)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Plain arrays to be stored, with `meta`."""
        directions = [cut.direction for cut in self.tree.cuts if isinstance(cut, ByDirection)]
        return {
            "children": np.array(self.tree.children, np.int32).reshape(-1, 2),
            "work": self.work,
            **{f"direction{i}": direction for i, direction in enumerate(directions)},
        }

    def meta(self) -> dict[str, Any]:
        """What JSON is to hold of it, beside the arrays."""
        cuts = [_to_json(cut) for cut in self.tree.cuts]
        return {"most": self.most, "asked": self.asked, "cuts": cuts}

    @classmethod
    def from_arrays(
        cls, space: Space, arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]
    ) -> Zoning:
        """The one that gave these, in the space of its events."""
        directions = iter(range(len(arrays)))
        cuts = []
        for saved in meta["cuts"]:
            vector = arrays[f"direction{next(directions)}"] if "least" in saved else None
            cuts.append(_from_json(space, saved, vector))
        children = tuple((int(low), int(high)) for low, high in arrays["children"])
        tree = ZoneTree(tuple(cuts), children)
        return cls(tree, arrays["work"], meta["most"], meta["asked"])


def _to_json(cut: Cut) -> dict[str, Any]:
    saved: dict[str, Any] = {"attribute": cut.attribute}
    if isinstance(cut, ByKey):
        saved["first"] = cut.first
    if isinstance(cut, ByDirection):
        saved |= {"metric": int(cut.metric), "least": cut.least}
    return saved


def _from_json(
    space: Space, saved: Mapping[str, Any], direction: NDArray[np.float32] | None
) -> Cut:
    name = saved["attribute"]
    if direction is not None:
        return ByDirection(name, Metric(saved["metric"]), direction, saved["least"])
    return ByKey(name, space[name].type, saved["first"]) if "first" in saved else ByNull(name)
