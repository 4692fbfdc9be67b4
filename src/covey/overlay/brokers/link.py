"""What a broker knows of a link: what the neighbour wants, and what it was told.

Covering is decided link by link: what came from a neighbour is not told to it, and suppresses
nothing that is. So each link has a table of its own, of all that came from elsewhere.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.geometry.ranges import Ranges
from covey.index.grid import Grid
from covey.overlay.brokers.changing import Change, Changing
from covey.overlay.simulator import Name
from covey.space import Events, Space
from covey.table import CellSteps, Steps, Table
from covey.table.coverage import Coverage
from covey.table.strategies import Choice

__all__ = ["CellLink", "Link", "RegionLink", "changed"]


class Link(Protocol):
    """One link of a broker."""

    def pass_on(self, change: Any) -> Any:
        """What to tell the neighbour of a change elsewhere; nothing, often."""
        ...

    def hear(self, steps: Any) -> Any:
        """The neighbour tells: the change that it is for all other links."""
        ...

    def heard(self) -> Any:
        """All that the neighbour wants, as if it were told now."""
        ...

    def forgotten(self) -> Any:
        """The same, as if it were withdrawn now."""
        ...

    def admits(self, events: Events) -> NDArray[np.bool_]:
        """Whether the neighbour wants each event."""
        ...

    @property
    def size(self) -> int:
        """How many regions, or ranges of cells, the neighbour wants."""
        ...


class RegionLink:
    """A link on which regions are advertised."""

    def __init__(self, peer: Name, space: Space, strategy: Choice) -> None:
        self.peer = peer
        self.table = Table(space, strategy)
        self.wanted = Changing(space)

    def pass_on(self, change: Change) -> Steps:
        return changed(self.table, change)

    def hear(self, steps: Steps) -> Change:
        ids = [(self.peer, number) for number in steps.advertised.tolist()]
        gone = [(self.peer, number) for number in steps.withdrawn.tolist()]
        return self.wanted.apply(ids, steps.regions, np.arange(len(ids)), gone)

    def heard(self) -> Change:
        return self.wanted.all()

    def forgotten(self) -> Change:
        return self.wanted.without()

    def admits(self, events: Events) -> NDArray[np.bool_]:
        return self.wanted.admits(events)

    @property
    def size(self) -> int:
        return len(self.wanted)


def changed(table: Table, change: Change) -> Steps:
    """What a table says to a change, all of it at once. A key that also comes is replaced."""
    added = table.add(change.ids, change.regions, change.of)
    coming = set(change.ids)
    gone = table.cancel(key for key in change.gone if key not in coming)
    return Steps.concat([added, gone, table.settle()])


class CellLink:
    """A link on which cells are advertised: ranges of a curve that all brokers share.

    What clients subscribe to becomes cells at their broker; from there on cells are all that is
    told, so covering, subsumption and merging are one. (papers: mics)
    """

    def __init__(self, grid: Grid, gap: int = 0, most: int = 256) -> None:
        self._grid, self._most = grid, most
        self._coverage = Coverage(gap)
        self._wanted = Ranges.empty()

    def pass_on(self, change: Change | CellSteps) -> CellSteps:
        added, gone = self._cells(change)
        told = self._coverage.add(*added).ranges
        return CellSteps.concat(
            [
                CellSteps(told, Ranges.empty()),
                CellSteps(Ranges.empty(), self._coverage.remove(*gone).ranges),
            ]
        )

    def hear(self, steps: CellSteps) -> CellSteps:
        self._wanted = (self._wanted | steps.advertised) - steps.withdrawn
        return steps

    def heard(self) -> CellSteps:
        return CellSteps(self._wanted, Ranges.empty())

    def forgotten(self) -> CellSteps:
        return CellSteps(Ranges.empty(), self._wanted)

    def admits(self, events: Events) -> NDArray[np.bool_]:
        return self._wanted.contains(self._grid.positions(events))

    @property
    def size(self) -> int:
        return len(self._wanted)

    def _cells(self, change: Change | CellSteps) -> tuple[Any, Any]:
        if isinstance(change, CellSteps):
            added, gone = change.advertised, change.withdrawn
            return (added.first, added.last), (gone.first, gone.last)
        return self._of(change.regions), self._of(change.gone_regions)

    def _of(self, regions: Regions) -> Any:
        if not len(regions):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        rows = self._grid.ranges(regions, self._most)
        return rows.first, rows.last
