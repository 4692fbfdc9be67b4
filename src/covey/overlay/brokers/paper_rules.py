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
from covey.overlay.brokers.link import RegionLink, apply_delta
from covey.overlay.brokers.messages import RoutingUpdateMessage
from covey.overlay.simulator import NodeName
from covey.routing import RegionUpdate, RoutingTable
from covey.space import Space

__all__ = ["PaperBroker"]


class PaperBroker(Broker):
    """One broker, with one table."""

    def __init__(
        self, space: Space, make_link: MakeLink, *, requires_announcements: bool = False
    ) -> None:
        super().__init__(space, lambda peer: RegionLink(peer, space, "exact"))
        self._routing_table = RoutingTable(space)
        self._sources: list[NodeName] = []  # of regions, by number
        self._advertised_by_peer: defaultdict[NodeName, set[int]] = defaultdict(set)

    def _advertise_to_links(
        self, source: NodeName, delta: Any
    ) -> Iterator[tuple[NodeName, RoutingUpdateMessage]]:
        self._sources += [source] * len(delta.regions)
        steps = apply_delta(self._routing_table, delta)
        for peer in self.links:
            told = np.array([self._sources[n] != peer for n in steps.advertised.tolist()], np.bool_)
            new = steps.advertised[told]
            gone = np.array(
                [n for n in steps.withdrawn.tolist() if n in self._advertised_by_peer[peer]],
                np.int64,
            )
            self._advertised_by_peer[peer].update(new.tolist())
            mine = RegionUpdate(steps.regions.take(np.flatnonzero(told)), new, gone)
            if mine:
                yield peer, RoutingUpdateMessage(mine)

    def _connect(self, peer: NodeName) -> Iterator[tuple[NodeName, Any]]:
        self.links[peer] = self._make_link(peer)
        yield from ()
