"""A broker that decides covering for all links at once, as printed, to count what that loses.

Whatever is stored covers, wherever it came from: so a cover that came from a neighbour holds back
what that neighbour was never told. (papers: projection)

Not for use: `covey.overlay.brokers.broker` is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from covey.overlay.brokers.broker import Broker, MakeLink
from covey.overlay.brokers.changing import Change, Changing
from covey.overlay.brokers.messages import Told
from covey.overlay.simulator import Name
from covey.space import Events, Space
from covey.table import Steps, Table

__all__ = ["PrintedBroker"]


class _Wanted:
    """A link without a table: what the neighbour wants, and what it was told."""

    def __init__(self, peer: Name, space: Space) -> None:
        self.peer, self.wanted = peer, Changing(space)
        self.told: set[int] = set()

    def hear(self, steps: Steps) -> Change:
        ids = [(self.peer, number) for number in steps.advertised.tolist()]
        gone = [(self.peer, number) for number in steps.withdrawn.tolist()]
        return self.wanted.apply(ids, steps.regions, np.arange(len(ids)), gone)

    def admits(self, events: Events) -> Any:
        return self.wanted.admits(events)


class PrintedBroker(Broker):
    """One broker, with one table."""

    def __init__(self, space: Space, make_link: MakeLink, announcing: bool = False) -> None:
        super().__init__(space, lambda peer: _Wanted(peer, space))  # type: ignore[arg-type,return-value]
        self._table = Table(space)
        self._sources: list[Name] = []  # of regions, by number

    def _pass_on(self, source: Name, change: Any) -> Iterator[tuple[Name, Told]]:
        self._sources += [source] * len(change.regions)
        steps: Steps = Steps.concat(
            [
                self._table.add(change.ids, change.regions, change.of),
                self._table.cancel(change.gone),
                self._table.settle(),
            ]
        )
        for peer, link in self.links.items():
            told = np.array([self._sources[n] != peer for n in steps.advertised.tolist()], np.bool_)
            new = steps.advertised[told]
            gone = np.array([n for n in steps.withdrawn.tolist() if n in link.told], np.int64)  # type: ignore[attr-defined]
            link.told.update(new.tolist())  # type: ignore[attr-defined]
            mine = Steps(steps.regions.take(np.flatnonzero(told)), new, gone)
            if mine:
                yield peer, Told(mine)

    def _connect(self, peer: Name) -> Iterator[tuple[Name, Any]]:
        self.links[peer] = self._make_link(peer)
        yield from ()
