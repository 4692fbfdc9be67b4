"""Routing strategies: their protocol, and all strategies by name.

A strategy is built from the log of all regions of a routing table. Three strategies advertise
regions; each finds covers with another index. "hilbert" advertises cells.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from covey.errors import InvalidArgumentError
from covey.geometry import Regions
from covey.geometry.range_sets import RangeSet
from covey.index import HilbertIndex, RandomProjectionIndex, SegmentIndex
from covey.index.projection import ProjectionMapping
from covey.index.segment import SharedCodebooks
from covey.routing.cell_strategy import HilbertCellStrategy
from covey.routing.covering_strategy import DEFAULT_MAX_UNINDEXED, CoveringStrategy
from covey.routing.region_log import RegionLog
from covey.routing.updates import CellUpdate, RegionUpdate, RoutingUpdate
from covey.space import Events
from covey.space.ragged_array import RaggedArray

__all__ = [
    "REGION_STRATEGIES",
    "STRATEGIES",
    "CellStrategy",
    "RegionStrategy",
    "RegionStrategyChoice",
    "RegionStrategyName",
    "RoutingStrategy",
    "StrategyBuilder",
    "build_exact_strategy",
    "build_hilbert_strategy",
    "build_hybrid_strategy",
    "build_projection_strategy",
    "find_strategy",
]

Numbers = NDArray[np.int64]


AdvertisedT = TypeVar("AdvertisedT")
UpdateT_co = TypeVar("UpdateT_co", bound=RoutingUpdate, covariant=True)


class RoutingStrategy(Protocol[AdvertisedT, UpdateT_co]):
    """Protocol of routing strategies: regions by number, and what one link must advertise for them.

    A region is live if it was added and not removed. If a link applies all updates in their order,
    the advertised regions or cells contain all live regions at every moment.
    """

    @property
    def advertised_set(self) -> AdvertisedT:
        """What is advertised now: numbers of regions, ascending, or ranges of cells."""
        ...

    @property
    def is_fully_withdrawn(self) -> bool:
        """True if nothing is advertised any more for removed regions."""
        ...

    def add(self, numbers: Numbers, regions: Regions) -> UpdateT_co:
        """Add regions under new numbers; return the update for the link."""
        ...

    def remove(self, numbers: Numbers) -> UpdateT_co:
        """Remove regions; return the update for the link.

        Regions whose absorber is removed get other absorbers. If there are many such regions, this
        call reassigns only a limited number of them; see `reassign_orphans`.
        """
        ...

    def reassign_orphans(self, max_regions: int | None = None) -> UpdateT_co:
        """Find other absorbers for orphans: live regions whose absorber was removed.

        At most `max_regions` orphans are reassigned; None means all. Return the update for the
        link.
        """
        ...

    def prune(self) -> UpdateT_co:
        """Reassign all orphans, and withdraw redundant regions; return the update for the link."""
        ...

    def build_sync_update(self, known: AdvertisedT) -> UpdateT_co:
        """Return the update after which exactly `advertised_set` is advertised on the link.

        `known` is what is advertised on the link before the update, in the form of
        `advertised_set`.
        """
        ...

    def find_absorbers(self, numbers: Numbers) -> RaggedArray:
        """Return for each region the numbers of its absorbers, which are advertised instead of it.

        A region that must be advertised itself is its own absorber.
        """
        ...

    def admits(self, events: Events) -> NDArray[np.bool_]:
        """Return for each event whether `advertised_set` contains it."""
        ...


RegionStrategy = RoutingStrategy[Numbers, RegionUpdate]
CellStrategy = RoutingStrategy[RangeSet, CellUpdate]
StrategyBuilder = Callable[[RegionLog], RoutingStrategy[AdvertisedT, UpdateT_co]]
RegionStrategyName = Literal["exact", "projection", "hybrid"]
RegionStrategyChoice = str | Callable[[RegionLog], RegionStrategy]


def build_exact_strategy(
    region_log: RegionLog, *, max_unindexed: int = DEFAULT_MAX_UNINDEXED
) -> RegionStrategy:
    """Return the strategy "exact", whose segment indexes find covers and share codebooks."""
    return CoveringStrategy(
        region_log,
        partial(SegmentIndex.build, shared_codebooks=SharedCodebooks()),
        max_unindexed=max_unindexed,
    )


def build_projection_strategy(
    region_log: RegionLog, *, max_unindexed: int = DEFAULT_MAX_UNINDEXED
) -> RegionStrategy:
    """Return the strategy "projection", whose random projection indexes find covers.

    The indexes share their directions, so that a query is projected only once. New directions are
    drawn when regions constrain an attribute that the present directions do not include.
    """
    shared_mapping: list[ProjectionMapping] = []

    def build(regions: Regions) -> RandomProjectionIndex:
        mapping = (
            shared_mapping[0] if shared_mapping and shared_mapping[0].can_project(regions) else None
        )
        index = RandomProjectionIndex.build(regions, mapping=mapping)
        shared_mapping[:] = [index.mapping]
        return index

    return CoveringStrategy(region_log, build, max_unindexed=max_unindexed)


def build_hybrid_strategy(
    region_log: RegionLog, *, max_unindexed: int = DEFAULT_MAX_UNINDEXED
) -> RegionStrategy:
    """Return the strategy "hybrid", whose Hilbert indexes find covers.

    The grid of such an index has only the most selective attributes; the other attributes are
    verified on candidates.
    """
    return CoveringStrategy(region_log, HilbertIndex.build, max_unindexed=max_unindexed)


def build_hilbert_strategy(region_log: RegionLog) -> CellStrategy:
    """Return the strategy "hilbert", which advertises ranges of cells; it does not use the log."""
    return HilbertCellStrategy()


REGION_STRATEGIES: dict[str, Callable[[RegionLog], RegionStrategy]] = {
    "exact": build_exact_strategy,
    "projection": build_projection_strategy,
    "hybrid": build_hybrid_strategy,
}
"""Builders of the strategies that advertise regions, by name."""

STRATEGIES: dict[str, Callable[[RegionLog], RegionStrategy | CellStrategy]] = {
    **REGION_STRATEGIES,
    "hilbert": build_hilbert_strategy,
}
"""Builders of all strategies, by name."""

BuilderT = TypeVar("BuilderT")


def find_strategy(name: str, strategies: Mapping[str, BuilderT]) -> BuilderT:
    """Return the builder of the strategy with this name.

    Raises:
        InvalidArgumentError: if there is no such strategy.
    """
    if name not in strategies:
        raise InvalidArgumentError(
            f"there is no routing strategy {name!r}: choose one of {', '.join(strategies)}"
        )
    return strategies[name]
