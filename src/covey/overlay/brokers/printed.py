"""A broker that decides covering for all links at once, as printed, to count what that loses.

Whatever is stored covers, wherever it came from: so a cover that came from a neighbour holds back
what that neighbour was never told. (papers: projection)

Not for use: `covey.overlay.brokers.broker` is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

from covey.overlay.brokers.broker import Broker, MakeLink
from covey.overlay.brokers.link import RegionLink, changed
from covey.overlay.brokers.messages import Told
from covey.overlay.simulator import Name
from covey.space import Space
from covey.table import Steps, Table

__all__ = ["PrintedBroker"]


class PrintedBroker(Broker):
    """One broker, with one table."""

    def __init__(self, space: Space, make_link: MakeLink, announcing: bool = False) -> None:
        super().__init__(space, lambda peer: RegionLink(peer, space, "exact"))
        self._table = Table(space)
        self._sources: list[Name] = []  # of regions, by number
        self._told: defaultdict[Name, set[int]] = defaultdict(set)

    def _pass_on(self, source: Name, change: Any) -> Iterator[tuple[Name, Told]]:
        self._sources += [source] * len(change.regions)
        steps = changed(self._table, change)
        for peer in self.links:
            told = np.array([self._sources[n] != peer for n in steps.advertised.tolist()], np.bool_)
            new = steps.advertised[told]
            gone = np.array(
                [n for n in steps.withdrawn.tolist() if n in self._told[peer]], np.int64
            )
            self._told[peer].update(new.tolist())
            mine = Steps(steps.regions.take(np.flatnonzero(told)), new, gone)
            if mine:
                yield peer, Told(mine)

    def _connect(self, peer: Name) -> Iterator[tuple[Name, Any]]:
        self.links[peer] = self._make_link(peer)
        yield from ()
