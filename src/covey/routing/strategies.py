"""Routing strategies: the protocol, and the strategies that there are, by name.

A strategy is made over the log of all regions of a table. Three advertise regions, each with an
index of its own to ask for covers; "hilbert" advertises cells.
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
    """Regions by number, and what is advertised for them on one link.

    Whoever applies all updates in their order has advertised, at every moment, a superset of the
    regions that were added and not removed.
    """

    @property
    def advertised_set(self) -> AdvertisedT:
        """What is advertised now: numbers of regions, or ranges of cells."""
        ...

    @property
    def is_fully_withdrawn(self) -> bool:
        """Whether nothing is advertised any more for what was removed."""
        ...

    def add(self, numbers: Numbers, regions: Regions) -> UpdateT_co:
        """Adds regions under numbers that are new."""
        ...

    def remove(self, numbers: Numbers) -> UpdateT_co:
        """Removes regions; what was under them gets other absorbers, some of it at once."""
        ...

    def reassign_orphans(self, max_regions: int | None = None) -> UpdateT_co:
        """Finds other absorbers for regions, at most so many, that are under what was removed."""
        ...

    def prune(self) -> UpdateT_co:
        """Reassigns all orphans, and withdraws all that is not needed."""
        ...

    def build_sync_update(self, known: AdvertisedT) -> UpdateT_co:
        """What brings a link that knows something else up to date: see `advertised_set`."""
        ...

    def find_absorbers(self, numbers: Numbers) -> RaggedArray:
        """For each region those that are advertised for it; it is among them itself if it is."""
        ...

    def admits(self, events: Events) -> NDArray[np.bool_]:
        """Whether what is advertised contains each event."""
        ...


RegionStrategy = RoutingStrategy[Numbers, RegionUpdate]
CellStrategy = RoutingStrategy[RangeSet, CellUpdate]
StrategyBuilder = Callable[[RegionLog], RoutingStrategy[AdvertisedT, UpdateT_co]]
RegionStrategyName = Literal["exact", "projection", "hybrid"]
RegionStrategyChoice = str | Callable[[RegionLog], RegionStrategy]


def build_exact_strategy(
    region_log: RegionLog, *, max_unindexed: int = DEFAULT_MAX_UNINDEXED
) -> RegionStrategy:
    """The index of the core. All indexes of the table share their codes."""
    return CoveringStrategy(
        region_log,
        partial(SegmentIndex.build, shared_codebooks=SharedCodebooks()),
        max_unindexed=max_unindexed,
    )


def build_projection_strategy(
    region_log: RegionLog, *, max_unindexed: int = DEFAULT_MAX_UNINDEXED
) -> RegionStrategy:
    """Random projections. All indexes share their directions: a query is projected once."""
    drawn: list[ProjectionMapping] = []

    def build(regions: Regions) -> RandomProjectionIndex:
        known = drawn[0] if drawn and drawn[0].can_project(regions) else None
        made = RandomProjectionIndex.build(regions, mapping=known)
        drawn[:] = [made.mapping]
        return made

    return CoveringStrategy(region_log, build, max_unindexed=max_unindexed)


def build_hybrid_strategy(
    region_log: RegionLog, *, max_unindexed: int = DEFAULT_MAX_UNINDEXED
) -> RegionStrategy:
    """The most selective attributes indexed, the others verified."""
    return CoveringStrategy(region_log, HilbertIndex.build, max_unindexed=max_unindexed)


def build_hilbert_strategy(region_log: RegionLog) -> CellStrategy:
    """Ranges of cells."""
    return HilbertCellStrategy()


REGION_STRATEGIES: dict[str, Callable[[RegionLog], RegionStrategy]] = {
    "exact": build_exact_strategy,
    "projection": build_projection_strategy,
    "hybrid": build_hybrid_strategy,
}
"""How each strategy that advertises regions is built, over the log of a table's regions."""

STRATEGIES: dict[str, Callable[[RegionLog], RegionStrategy | CellStrategy]] = {
    **REGION_STRATEGIES,
    "hilbert": build_hilbert_strategy,
}
"""How each is built."""

BuilderT = TypeVar("BuilderT")


def find_strategy(name: str, strategies: Mapping[str, BuilderT]) -> BuilderT:
    """Return what builds the strategy of a name."""
    if name not in strategies:
        raise InvalidArgumentError(f"no strategy {name!r}: there are {', '.join(strategies)}")
    return strategies[name]
