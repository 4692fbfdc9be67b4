"""A broker with one routing table for all links, as in the paper, to count the events it loses.

With one routing table, a region that came from a neighbour may make regions from other sources
redundant. Those regions are then not advertised to the neighbour, so the neighbour does not forward
the events in them.
(papers: projection)

For comparison only; otherwise use `covey.overlay.brokers.broker`.
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
    """Broker with one routing table for all of its links, which loses events."""

    def __init__(
        self, space: Space, make_link: MakeLink, *, requires_announcements: bool = False
    ) -> None:
        super().__init__(space, lambda peer: RegionLink(peer, space, "exact"))
        self._routing_table = RoutingTable(space)
        self._sources: list[NodeName] = []  # where each region came from, by its number
        self._advertised_by_peer: defaultdict[NodeName, set[int]] = defaultdict(set)

    def _advertise_to_links(
        self, source: NodeName, delta: Any
    ) -> Iterator[tuple[NodeName, RoutingUpdateMessage]]:
        """Yield routing updates for a change; no region is sent on the link that it came from."""
        self._sources += [source] * len(delta.regions)
        update = apply_delta(self._routing_table, delta)
        for peer in self.links:
            is_foreign = np.array(
                [self._sources[n] != peer for n in update.advertised.tolist()], np.bool_
            )
            advertised = update.advertised[is_foreign]
            withdrawn = np.array(
                [n for n in update.withdrawn.tolist() if n in self._advertised_by_peer[peer]],
                np.int64,
            )
            self._advertised_by_peer[peer].update(advertised.tolist())
            peer_update = RegionUpdate(
                update.regions.take(np.flatnonzero(is_foreign)), advertised, withdrawn
            )
            if peer_update:
                yield peer, RoutingUpdateMessage(peer_update)

    def _connect(self, peer: NodeName) -> Iterator[tuple[NodeName, Any]]:
        """Add a link; nothing is advertised on it until the next change."""
        self.links[peer] = self._make_link(peer)
        yield from ()
