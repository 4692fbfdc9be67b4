"""A tree of splits with zones as leaves: an event is in one, a region in all that it meets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.index import Pairs
from covey.space import Events
from covey.zones.splits import Split

__all__ = ["ZoneTree"]

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ZoneTree:
    """Zones from 0 on. Split i leads to `children[i]`, low and high: a later split, or ~zone.

    Cost: a comparison per split on the way, of which there are about log2 of the number of zones.

    >>> import pyarrow as pa
    >>> from covey import Space, parse
    >>> from covey.space.types import INT
    >>> from covey.zones.splits import KeySplit
    >>> space = Space.from_types({"price": pa.int32()})
    >>> tree = ZoneTree((KeySplit("price", INT, 10),), ((~0, ~1),))
    >>> list(tree.find_region_zones(parse(space, ["price < 5", "price > 7"]).regions))
    [(0, 0), (1, 0), (1, 1)]
    >>> tree.to_expression(lambda attribute: attribute)
    'CASE WHEN price >= 10 THEN 1 ELSE 0 END'
    """

    splits: tuple[Split, ...] = ()
    children: tuple[tuple[int, int], ...] = ()

    def __len__(self) -> int:
        """How many zones there are."""
        return len(self.splits) + 1

    @property
    def attributes(self) -> list[str]:
        """The attributes that it looks at."""
        return list(dict.fromkeys(cut.attribute for cut in self.splits))

    def find_event_zones(self, events: Events) -> Rows:
        """The zone of each event."""
        owners = np.zeros(len(events), np.int64)
        for node, rows in self._walk_leaves(np.arange(len(events)), _make_event_divider(events)):
            owners[rows] = ~node
        return owners

    def find_region_zones(self, regions: Regions) -> Pairs:
        """Each region with every zone in which it may contain an event."""
        found = list(self._walk_leaves(np.arange(len(regions)), _make_region_divider(regions)))
        met = np.concatenate([np.empty(0, np.int64), *(rows for _, rows in found)])
        zones = [np.full(len(rows), ~node) for node, rows in found]
        return Pairs.from_unsorted(met, np.concatenate([np.empty(0, np.int64), *zones]))

    def to_expression(self, column: Callable[[str], str]) -> str:
        """The zone of an event, for Spark to compute; `column` names that of an attribute."""

        def text(node: int) -> str:
            if node < 0:
                return str(~node)
            low, high = self.children[node]
            is_high = self.splits[node].to_predicate(column(self.splits[node].attribute))
            return f"CASE WHEN {is_high} THEN {text(high)} ELSE {text(low)} END"

        return text(0 if self.splits else ~0)

    def with_split(self, zone: int, split: Split) -> ZoneTree:
        """The tree with one zone split: its low side keeps the number, the high one is new."""
        children = [
            tuple(len(self.splits) if child == ~zone else child for child in pair)
            for pair in self.children
        ]
        return ZoneTree((*self.splits, split), (*children, (~zone, ~len(self))))  # type: ignore[arg-type]

    def without_split(self, split_index: int) -> ZoneTree:
        """The tree without a split that has a zone on either side.

        The two are the one with the lower number then, and the last zone has the other number.
        """
        low, high = (~child for child in self.children[split_index])
        kept, gone, last = min(low, high), max(low, high), len(self) - 1
        zones = {~last: ~gone, split_index: ~kept}

        def renumbered(child: int) -> int:
            child = zones.get(child, child)
            return child - 1 if child > split_index else child

        return ZoneTree(
            (*self.splits[:split_index], *self.splits[split_index + 1 :]),
            tuple(
                (renumbered(one), renumbered(other))
                for number, (one, other) in enumerate(self.children)
                if number != split_index
            ),
        )

    def _walk_leaves(
        self, rows: Rows, divide: Callable[[Split, Rows], tuple[Rows, Rows]]
    ) -> Iterator[tuple[int, Rows]]:
        """Leaves, each with the rows that come to it."""
        waiting = [(0 if self.splits else ~0, rows)]
        while waiting:
            node, some = waiting.pop()
            if node < 0 or not len(some):
                if node < 0:
                    yield node, some
                continue
            sides = divide(self.splits[node], some)
            waiting += zip(self.children[node], sides, strict=True)


def _make_event_divider(events: Events) -> Callable[[Split, Rows], tuple[Rows, Rows]]:
    def part(cut: Split, rows: Rows) -> tuple[Rows, Rows]:
        high = cut.is_high(events, rows)
        return rows[~high], rows[high]

    return part


def _make_region_divider(regions: Regions) -> Callable[[Split, Rows], tuple[Rows, Rows]]:
    def part(cut: Split, rows: Rows) -> tuple[Rows, Rows]:
        low, high = cut.find_sides(regions, rows)
        return rows[low], rows[high]

    return part
