"""A tree of cuts, whose leaves are zones: every event is in one, a region in all that it meets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.index import Pairs
from covey.space import Events
from covey.zones.cuts import Cut

__all__ = ["ZoneTree"]

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ZoneTree:
    """Zones from 0 on. Cut i leads to `children[i]`, low and high: a later cut, or ~zone.

    Cost: a comparison per cut on the way, of which there are about log2 of the number of zones.

    >>> import pyarrow as pa
    >>> from covey import Space, parse
    >>> from covey.space.types import INT
    >>> from covey.zones.cuts import ByKey
    >>> space = Space.of({"price": pa.int32()})
    >>> tree = ZoneTree((ByKey("price", INT, 10),), ((~0, ~1),))
    >>> list(tree.meeting(parse(space, ["price < 5", "price > 7"]).regions))
    [(0, 0), (1, 0), (1, 1)]
    >>> tree.expression(lambda attribute: attribute)
    'CASE WHEN price >= 10 THEN 1 ELSE 0 END'
    """

    cuts: tuple[Cut, ...] = ()
    children: tuple[tuple[int, int], ...] = ()

    def __len__(self) -> int:
        """How many zones there are."""
        return len(self.cuts) + 1

    @property
    def attributes(self) -> list[str]:
        """The attributes that it looks at."""
        return list(dict.fromkeys(cut.attribute for cut in self.cuts))

    def owners(self, events: Events) -> Rows:
        """The zone of each event."""
        owners = np.zeros(len(events), np.int64)
        for node, rows in self._walk(np.arange(len(events)), _events_by(events)):
            owners[rows] = ~node
        return owners

    def meeting(self, regions: Regions) -> Pairs:
        """Each region with every zone in which it may contain an event."""
        found = list(self._walk(np.arange(len(regions)), _regions_by(regions)))
        met = np.concatenate([np.empty(0, np.int64), *(rows for _, rows in found)])
        zones = [np.full(len(rows), ~node) for node, rows in found]
        return Pairs.of(met, np.concatenate([np.empty(0, np.int64), *zones]))

    def expression(self, column: Callable[[str], str]) -> str:
        """The zone of an event, for Spark to compute; `column` names that of an attribute."""

        def text(node: int) -> str:
            if node < 0:
                return str(~node)
            low, high = self.children[node]
            is_high = self.cuts[node].predicate(column(self.cuts[node].attribute))
            return f"CASE WHEN {is_high} THEN {text(high)} ELSE {text(low)} END"

        return text(0 if self.cuts else ~0)

    def parted(self, zone: int, cut: Cut) -> ZoneTree:
        """The tree with one zone cut in two: its low side keeps the number, the high one is new."""
        children = [
            tuple(len(self.cuts) if child == ~zone else child for child in pair)
            for pair in self.children
        ]
        return ZoneTree((*self.cuts, cut), (*children, (~zone, ~len(self))))  # type: ignore[arg-type]

    def joined(self, cut: int) -> ZoneTree:
        """The tree without a cut that has a zone on either side.

        The two are the one with the lower number then, and the last zone has the other number.
        """
        low, high = (~child for child in self.children[cut])
        kept, gone, last = min(low, high), max(low, high), len(self) - 1
        zones = {~last: ~gone, cut: ~kept}

        def renumbered(child: int) -> int:
            child = zones.get(child, child)
            return child - 1 if child > cut else child

        return ZoneTree(
            (*self.cuts[:cut], *self.cuts[cut + 1 :]),
            tuple(
                (renumbered(one), renumbered(other))
                for number, (one, other) in enumerate(self.children)
                if number != cut
            ),
        )

    def _walk(
        self, rows: Rows, part: Callable[[Cut, Rows], tuple[Rows, Rows]]
    ) -> Iterator[tuple[int, Rows]]:
        """Leaves, each with the rows that come to it."""
        waiting = [(0 if self.cuts else ~0, rows)]
        while waiting:
            node, some = waiting.pop()
            if node < 0 or not len(some):
                if node < 0:
                    yield node, some
                continue
            sides = part(self.cuts[node], some)
            waiting += zip(self.children[node], sides, strict=True)


def _events_by(events: Events) -> Callable[[Cut, Rows], tuple[Rows, Rows]]:
    def part(cut: Cut, rows: Rows) -> tuple[Rows, Rows]:
        high = cut.is_high(events, rows)
        return rows[~high], rows[high]

    return part


def _regions_by(regions: Regions) -> Callable[[Cut, Rows], tuple[Rows, Rows]]:
    def part(cut: Cut, rows: Rows) -> tuple[Rows, Rows]:
        low, high = cut.sides(regions, rows)
        return rows[low], rows[high]

    return part
