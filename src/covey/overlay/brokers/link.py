"""The state of one link at a broker: the interests of the neighbour, and its routing table.

Interests are the regions or cells that the neighbour advertised. Covering is decided link by link:
a subscription that came from a neighbour is not advertised to this neighbour, so it must not make
other subscriptions redundant there. Therefore each link has its own routing table, with the
subscriptions from clients and from all other links.
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
    """Protocol of one link of a broker.

    A delta is a change of subscriptions; an update is the message about a change on a link. The
    classes of both depend on whether regions or cells are advertised.
    """

    def advertise(self, delta: DeltaT) -> UpdateT:
        """Apply a change from clients or another link, and return the update for the neighbour.

        If nothing must be sent to the neighbour, the update is empty, and false as a Boolean.
        """
        ...

    def receive_update(self, update: UpdateT) -> DeltaT:
        """Apply an update from the neighbour, and return it as a change for all other links."""
        ...

    def as_additions(self) -> DeltaT:
        """Return all interests of the neighbour as a change that adds them."""
        ...

    def as_removals(self) -> DeltaT:
        """Return all interests of the neighbour as a change that removes them."""
        ...

    def admits(self, events: Events) -> NDArray[np.bool_]:
        """Return for each event whether the neighbour's interests contain it."""
        ...

    @property
    def entry_count(self) -> int:
        """Number of regions, or ranges of cells, that the neighbour advertised."""
        ...


class RegionLink:
    """A link on which regions are advertised.

    Args:
        peer: the neighbour.
        space: attributes of regions and events.
        strategy: the routing strategy that decides which regions are advertised.
    """

    def __init__(self, peer: NodeName, space: Space, strategy: RegionStrategyChoice) -> None:
        self.peer = peer
        if isinstance(strategy, str):
            strategy = find_strategy(strategy, REGION_STRATEGIES)
        self.routing_table: RegionRoutingTable = RoutingTable(space, strategy)
        self.interests = DynamicRegionIndex(space)

    def advertise(self, delta: RegionDelta) -> RegionUpdate:
        """Apply a change to the routing table, and return the update for the neighbour."""
        return apply_delta(self.routing_table, delta)

    def receive_update(self, update: RegionUpdate) -> RegionDelta:
        """Apply an update from the neighbour, and return it as a change for all other links."""
        ids = [(self.peer, number) for number in update.advertised.tolist()]
        withdrawn_ids = [(self.peer, number) for number in update.withdrawn.tolist()]
        return self.interests.apply_changes(ids, update.regions, np.arange(len(ids)), withdrawn_ids)

    def as_additions(self) -> RegionDelta:
        """Return all interests of the neighbour as a change that adds them."""
        return self.interests.as_additions()

    def as_removals(self) -> RegionDelta:
        """Return all interests of the neighbour as a change that removes them."""
        return self.interests.as_removals()

    def admits(self, events: Events) -> NDArray[np.bool_]:
        """Return for each event whether the neighbour advertised a region that contains it."""
        return self.interests.admits(events)

    @property
    def entry_count(self) -> int:
        """Number of regions that the neighbour advertised."""
        return len(self.interests)


def apply_delta(routing_table: RegionRoutingTable, delta: RegionDelta) -> RegionUpdate:
    """Apply a change to a routing table, and return the required updates as one update.

    A key that is both removed and added is replaced, and not cancelled.
    """
    addition = routing_table.add(delta.ids, delta.regions, delta.id_rows)
    added_ids = set(delta.ids)
    removal = routing_table.cancel(key for key in delta.removed_ids if key not in added_ids)
    return RegionUpdate.concat([addition, removal, routing_table.reassign_orphans()])


class CellLink:
    """A link on which cells are advertised, as ranges of positions on Hilbert's curve.

    All brokers share the grid. The broker of a client converts the client's regions to cells; other
    brokers know only cells. Sets of cells are united, which replaces covering, subsumption and
    merging of regions. (papers: mics)

    Args:
        grid: the grid of cells.
        gap: largest gap between two ranges, in cells, that is filled when ranges are advertised.
        max_ranges: largest number of ranges for one region.
    """

    def __init__(self, grid: HilbertGrid, gap: int = 0, *, max_ranges: int = 256) -> None:
        self._grid, self._max_ranges = grid, max_ranges
        self._counted_ranges = CountedRanges(gap)
        self._interests = RangeSet.empty()

    def advertise(self, delta: RegionDelta | CellUpdate) -> CellUpdate:
        """Apply a change to the counts per cell, and return the update for the neighbour."""
        added, removed = self._delta_to_ranges(delta)
        advertised = self._counted_ranges.add(*added).ranges
        return CellUpdate.concat(
            [
                CellUpdate(advertised, RangeSet.empty()),
                CellUpdate(RangeSet.empty(), self._counted_ranges.remove(*removed).ranges),
            ]
        )

    def receive_update(self, update: CellUpdate) -> CellUpdate:
        """Apply an update from the neighbour, and return it as the change for all other links."""
        self._interests = (self._interests | update.advertised) - update.withdrawn
        return update

    def as_additions(self) -> CellUpdate:
        """Return all interests of the neighbour as a change that adds them."""
        return CellUpdate(self._interests, RangeSet.empty())

    def as_removals(self) -> CellUpdate:
        """Return all interests of the neighbour as a change that removes them."""
        return CellUpdate(RangeSet.empty(), self._interests)

    def admits(self, events: Events) -> NDArray[np.bool_]:
        """Return for each event whether the neighbour advertised the event's cell."""
        return self._interests.contains(self._grid.find_positions(events))

    @property
    def entry_count(self) -> int:
        """Number of ranges of cells that the neighbour advertised."""
        return len(self._interests)

    def _delta_to_ranges(self, delta: RegionDelta | CellUpdate) -> tuple[RangeEnds, RangeEnds]:
        """Return the first and last positions of the added ranges, and of the removed ranges."""
        if isinstance(delta, CellUpdate):
            added, removed = delta.advertised, delta.withdrawn
            return (added.first, added.last), (removed.first, removed.last)
        return self._regions_to_ranges(delta.regions), self._regions_to_ranges(
            delta.removed_regions
        )

    def _regions_to_ranges(self, regions: Regions) -> RangeEnds:
        """Return the first and last positions of the ranges of cells that regions meet."""
        if not len(regions):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        rows = self._grid.find_ranges(regions, max_ranges=self._max_ranges)
        return rows.first, rows.last
