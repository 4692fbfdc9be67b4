"""Zone tree: a binary tree with splits as inner nodes and zones as leaves.

An event is in one zone; a region is in every zone that it meets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey._argument_checks import check_arguments
from covey.geometry import Regions
from covey.index import Pairs
from covey.space import Events
from covey.zones.splits import Split

__all__ = ["ZoneTree"]

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ZoneTree:
    """Binary tree of splits; its leaves are the zones, numbered from 0.

    `children[i]` has the low and the high child of split i. A child is the number of a later split,
    or `~zone`, which is negative. Split 0 is the root. Without splits there is one zone, 0.

    Cost: one comparison for each event and each split on its path from the root; the length of a
    path is about log2 of the number of zones.

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
        """Return the number of zones."""
        return len(self.splits) + 1

    @property
    def attributes(self) -> list[str]:
        """Attributes of the splits, each once, in the order of the splits."""
        return list(dict.fromkeys(split.attribute for split in self.splits))

    @check_arguments
    def find_event_zones(self, events: Events) -> Rows:
        """Return the zone of each event."""
        zones = np.zeros(len(events), np.int64)
        for node, rows in self._walk_leaves(np.arange(len(events)), _make_event_divider(events)):
            zones[rows] = ~node
        return zones

    @check_arguments
    def find_region_zones(self, regions: Regions) -> Pairs:
        """Return pairs of a region and a zone in which the region may contain an event.

        Regions are query rows, zones are stored rows; pairs are sorted by region.
        """
        leaves = list(self._walk_leaves(np.arange(len(regions)), _make_region_divider(regions)))
        region_rows = np.concatenate([np.empty(0, np.int64), *(rows for _, rows in leaves)])
        zones = [np.full(len(rows), ~node) for node, rows in leaves]
        return Pairs.from_unsorted(region_rows, np.concatenate([np.empty(0, np.int64), *zones]))

    def to_expression(self, column: Callable[[str], str]) -> str:
        """Return a SQL expression that computes the zone of an event.

        Args:
            column: function that returns a SQL expression for an attribute, given its name.
        """

        def text(node: int) -> str:
            """Return the expression for the zones below a node."""
            if node < 0:
                return str(~node)
            low, high = self.children[node]
            is_high = self.splits[node].to_predicate(column(self.splits[node].attribute))
            return f"CASE WHEN {is_high} THEN {text(high)} ELSE {text(low)} END"

        return text(0 if self.splits else ~0)

    def with_split(self, zone: int, split: Split) -> ZoneTree:
        """Return the tree with one zone split.

        The low side keeps the number of the zone; the high side gets the number `len(self)`.
        """
        children = [
            tuple(len(self.splits) if child == ~zone else child for child in pair)
            for pair in self.children
        ]
        return ZoneTree((*self.splits, split), (*children, (~zone, ~len(self))))  # type: ignore[arg-type]

    def without_split(self, split_index: int) -> ZoneTree:
        """Return the tree without a split; both children of the split must be zones.

        The two zones are joined. The joined zone has the lower of their two numbers, and the last
        zone of the tree gets the higher of them, so that zones are numbered without a gap.
        """
        low, high = (~child for child in self.children[split_index])
        joint, removed, last = min(low, high), max(low, high), len(self) - 1
        zones = {~last: ~removed, split_index: ~joint}

        def renumbered(child: int) -> int:
            """Return the number in the new tree of a child in the old tree."""
            child = zones.get(child, child)
            return child - 1 if child > split_index else child

        return ZoneTree(
            (*self.splits[:split_index], *self.splits[split_index + 1 :]),
            tuple(
                (renumbered(low_child), renumbered(high_child))
                for number, (low_child, high_child) in enumerate(self.children)
                if number != split_index
            ),
        )

    def _walk_leaves(
        self, rows: Rows, divide: Callable[[Split, Rows], tuple[Rows, Rows]]
    ) -> Iterator[tuple[int, Rows]]:
        """Yield leaves, as `~zone`, with the rows that reach them.

        A leaf that no row reaches may be left out. `divide` returns the rows on the low and on the
        high side of a split.
        """
        stack = [(0 if self.splits else ~0, rows)]
        while stack:
            node, node_rows = stack.pop()
            if node < 0 or not len(node_rows):
                if node < 0:
                    yield node, node_rows
                continue
            sides = divide(self.splits[node], node_rows)
            stack += zip(self.children[node], sides, strict=True)


def _make_event_divider(events: Events) -> Callable[[Split, Rows], tuple[Rows, Rows]]:
    """Return a function that divides rows of events by a split; each event is on one side."""

    def divide(split: Split, rows: Rows) -> tuple[Rows, Rows]:
        """Return the rows of events on the low side, and those on the high side."""
        high = split.is_high(events, rows)
        return rows[~high], rows[high]

    return divide


def _make_region_divider(regions: Regions) -> Callable[[Split, Rows], tuple[Rows, Rows]]:
    """Return a function that divides rows of regions by a split; a region may be on both sides."""

    def divide(split: Split, rows: Rows) -> tuple[Rows, Rows]:
        """Return the rows of regions on the low side, and those on the high side."""
        low, high = split.find_sides(regions, rows)
        return rows[low], rows[high]

    return divide
