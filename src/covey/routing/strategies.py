"""Routing strategies: the protocol, and the strategies that there are, by name.

A strategy is made over the log of all regions of a table. Three advertise regions, each with an
index of its own to ask for covers; "hilbert" advertises cells.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from covey.errors import InvalidArgumentError
from covey.geometry import Regions
from covey.index import HilbertIndex, RandomProjectionIndex, SegmentIndex
from covey.index.projection.projection_mapping import ProjectionMapping
from covey.index.segment.build.shared_codebooks import SharedCodebooks
from covey.routing.cell_strategy import HilbertCellStrategy
from covey.routing.covering_strategy import DEFAULT_MAX_UNINDEXED, CoveringStrategy
from covey.routing.region_log import RegionLog
from covey.space import Events
from covey.space.ragged_array import RaggedArray

__all__ = [
    "STRATEGIES",
    "RoutingStrategy",
    "StrategyChoice",
    "build_exact_strategy",
    "build_hilbert_strategy",
    "build_hybrid_strategy",
    "build_projection_strategy",
    "make_strategy",
]

Numbers = NDArray[np.int64]


class RoutingStrategy(Protocol):
    """Regions by number, and what is advertised for them on one link.

    Whoever applies all updates in their order has advertised, at every moment, a superset of the
    regions that were added and not removed.
    """

    @property
    def advertised_set(self) -> Any:
        """What is advertised now: numbers of regions, or ranges of cells."""
        ...

    @property
    def is_fully_withdrawn(self) -> bool:
        """Whether nothing is advertised any more for what was removed."""
        ...

    def add(self, numbers: Numbers, regions: Regions) -> Any:
        """Adds regions under numbers that are new."""
        ...

    def remove(self, numbers: Numbers) -> Any:
        """Removes regions; what was under them gets other absorbers, some of it at once."""
        ...

    def reassign_orphans(self, max_regions: int | None = None) -> Any:
        """Finds other absorbers for regions, at most so many, that are under what was removed."""
        ...

    def prune(self) -> Any:
        """Reassigns all orphans, and withdraws all that is not needed."""
        ...

    def build_sync_update(self, known: Any) -> Any:
        """What brings a link that knows something else up to date: see `advertised_set`."""
        ...

    def find_absorbers(self, numbers: Numbers) -> RaggedArray:
        """For each region those that are advertised for it; it is among them itself if it is."""
        ...

    def admits(self, events: Events) -> NDArray[np.bool_]:
        """Whether what is advertised contains each event."""
        ...


StrategyChoice = str | Callable[[RegionLog], RoutingStrategy]


def build_exact_strategy(
    region_log: RegionLog, max_unindexed: int = DEFAULT_MAX_UNINDEXED
) -> RoutingStrategy:
    """The index of the core. All indexes of the table share their codes."""
    return CoveringStrategy(
        region_log, partial(SegmentIndex.build, shared_codebooks=SharedCodebooks()), max_unindexed
    )


def build_projection_strategy(
    region_log: RegionLog, max_unindexed: int = DEFAULT_MAX_UNINDEXED
) -> RoutingStrategy:
    """Random projections. All indexes share their directions: a query is projected once."""
    drawn: list[ProjectionMapping] = []

    def build(regions: Regions) -> RandomProjectionIndex:
        known = drawn[0] if drawn and drawn[0].can_project(regions) else None
        made = RandomProjectionIndex.build(regions, mapping=known)
        drawn[:] = [made.mapping]
        return made

    return CoveringStrategy(region_log, build, max_unindexed)


def build_hybrid_strategy(
    region_log: RegionLog, max_unindexed: int = DEFAULT_MAX_UNINDEXED
) -> RoutingStrategy:
    """The most selective attributes indexed, the others verified."""
    return CoveringStrategy(region_log, HilbertIndex.build, max_unindexed)


def build_hilbert_strategy(region_log: RegionLog) -> RoutingStrategy:
    """Ranges of cells."""
    return HilbertCellStrategy()


STRATEGIES: dict[str, Callable[[RegionLog], RoutingStrategy]] = {
    "exact": build_exact_strategy,
    "projection": build_projection_strategy,
    "hybrid": build_hybrid_strategy,
    "hilbert": build_hilbert_strategy,
}
"""How each is built, over the log of a table's regions."""


def make_strategy(choice: StrategyChoice, region_log: RegionLog) -> RoutingStrategy:
    """A strategy by its name, or what a function makes."""
    if not isinstance(choice, str):
        return choice(region_log)
    if choice not in STRATEGIES:
        raise InvalidArgumentError(f"no strategy {choice!r}: there are {', '.join(STRATEGIES)}")
    return STRATEGIES[choice](region_log)
