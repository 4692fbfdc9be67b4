"""What a broker knows of a link: what the neighbour wants, and what it was told.

Covering is decided link by link: what came from a neighbour is not told to it, and suppresses
nothing that is. So each link has a table of its own, of all that came from elsewhere.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.geometry.range_sets import RangeSet
from covey.index.hilbert import HilbertGrid
from covey.overlay.brokers.dynamic_index import DynamicRegionIndex, RegionDelta
from covey.overlay.simulator import NodeName
from covey.routing import CellUpdate, RegionRoutingTable, RegionUpdate, RoutingTable
from covey.routing.counted_ranges import CountedRanges
from covey.routing.strategies import REGION_STRATEGIES, RegionStrategyChoice, find_strategy
from covey.space import Events, Space

__all__ = ["CellLink", "Link", "RegionLink", "apply_delta"]


DeltaT = TypeVar("DeltaT")
UpdateT = TypeVar("UpdateT")
RangeEnds = tuple[NDArray[np.int64], NDArray[np.int64]]


class Link(Protocol[DeltaT, UpdateT]):
    """One link of a broker."""

    def advertise(self, delta: DeltaT) -> UpdateT:
        """What to tell the neighbour of a change elsewhere; nothing, often."""
        ...

    def receive_update(self, update: UpdateT) -> DeltaT:
        """The neighbour tells: the change that it is for all other links."""
        ...

    def as_additions(self) -> DeltaT:
        """All that the neighbour wants, as if it were told now."""
        ...

    def as_removals(self) -> DeltaT:
        """The same, as if it were withdrawn now."""
        ...

    def admits(self, events: Events) -> NDArray[np.bool_]:
        """Whether the neighbour wants each event."""
        ...

    @property
    def entry_count(self) -> int:
        """How many regions, or ranges of cells, the neighbour wants."""
        ...


class RegionLink:
    """A link on which regions are advertised."""

    def __init__(self, peer: NodeName, space: Space, strategy: RegionStrategyChoice) -> None:
        self.peer = peer
        if isinstance(strategy, str):
            strategy = find_strategy(strategy, REGION_STRATEGIES)
        self.routing_table: RegionRoutingTable = RoutingTable(space, strategy)
        self.interests = DynamicRegionIndex(space)

    def advertise(self, delta: RegionDelta) -> RegionUpdate:
        return apply_delta(self.routing_table, delta)

    def receive_update(self, update: RegionUpdate) -> RegionDelta:
        ids = [(self.peer, number) for number in update.advertised.tolist()]
        gone = [(self.peer, number) for number in update.withdrawn.tolist()]
        return self.interests.apply_changes(ids, update.regions, np.arange(len(ids)), gone)

    def as_additions(self) -> RegionDelta:
        return self.interests.as_additions()

    def as_removals(self) -> RegionDelta:
        return self.interests.as_removals()

    def admits(self, events: Events) -> NDArray[np.bool_]:
        return self.interests.admits(events)

    @property
    def entry_count(self) -> int:
        return len(self.interests)


def apply_delta(routing_table: RegionRoutingTable, delta: RegionDelta) -> RegionUpdate:
    """What a table says to a change, all of it at once. A key that also comes is replaced."""
    added = routing_table.add(delta.ids, delta.regions, delta.id_rows)
    coming = set(delta.ids)
    gone = routing_table.cancel(key for key in delta.removed_ids if key not in coming)
    return RegionUpdate.concat([added, gone, routing_table.reassign_orphans()])


class CellLink:
    """A link on which cells are advertised: ranges of a curve that all brokers share.

    What clients subscribe to becomes cells at their broker; from there on cells are all that is
    told, so covering, subsumption and merging are one. (papers: mics)
    """

    def __init__(self, grid: HilbertGrid, gap: int = 0, *, max_ranges: int = 256) -> None:
        self._grid, self._max_ranges = grid, max_ranges
        self._counted_ranges = CountedRanges(gap)
        self._interests = RangeSet.empty()

    def advertise(self, delta: RegionDelta | CellUpdate) -> CellUpdate:
        added, gone = self._delta_to_ranges(delta)
        told = self._counted_ranges.add(*added).ranges
        return CellUpdate.concat(
            [
                CellUpdate(told, RangeSet.empty()),
                CellUpdate(RangeSet.empty(), self._counted_ranges.remove(*gone).ranges),
            ]
        )

    def receive_update(self, update: CellUpdate) -> CellUpdate:
        self._interests = (self._interests | update.advertised) - update.withdrawn
        return update

    def as_additions(self) -> CellUpdate:
        return CellUpdate(self._interests, RangeSet.empty())

    def as_removals(self) -> CellUpdate:
        return CellUpdate(RangeSet.empty(), self._interests)

    def admits(self, events: Events) -> NDArray[np.bool_]:
        return self._interests.contains(self._grid.find_positions(events))

    @property
    def entry_count(self) -> int:
        return len(self._interests)

    def _delta_to_ranges(self, delta: RegionDelta | CellUpdate) -> tuple[RangeEnds, RangeEnds]:
        if isinstance(delta, CellUpdate):
            added, gone = delta.advertised, delta.withdrawn
            return (added.first, added.last), (gone.first, gone.last)
        return self._regions_to_ranges(delta.regions), self._regions_to_ranges(
            delta.removed_regions
        )

    def _regions_to_ranges(self, regions: Regions) -> RangeEnds:
        if not len(regions):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        rows = self._grid.find_ranges(regions, max_ranges=self._max_ranges)
        return rows.first, rows.last
