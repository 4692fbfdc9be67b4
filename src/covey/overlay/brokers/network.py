"""A simulated tree of brokers, with clients at its brokers and a record of all deliveries."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from covey.errors import InvalidArgumentError
from covey.geometry import Regions
from covey.index.hilbert import HilbertGrid
from covey.overlay.brokers.broker import Broker, MakeLink
from covey.overlay.brokers.link import CellLink, RegionLink
from covey.overlay.brokers.messages import (
    Announce,
    Connect,
    Delivery,
    Disconnect,
    Publish,
    Subscribe,
    Unsubscribe,
)
from covey.overlay.faults import Faults
from covey.overlay.simulator import NodeName, Simulator
from covey.routing.strategies import RegionStrategyChoice
from covey.space import Events, Space

__all__ = ["BrokerNetwork", "cell_links", "region_links"]


def region_links(space: Space, strategy: RegionStrategyChoice = "exact") -> MakeLink:
    """Return a function that makes links on which regions are advertised.

    Args:
        space: attributes of regions and events.
        strategy: the routing strategy that decides which regions are redundant.
    """
    return lambda peer: RegionLink(peer, space, strategy)


def cell_links(grid: HilbertGrid, gap: int = 0) -> MakeLink:
    """Return a function that makes links on which cells are advertised.

    Args:
        grid: the grid of cells, which all brokers share.
        gap: largest gap between two ranges, in cells, that is filled when ranges are advertised.
    """
    return lambda _: CellLink(grid, gap)


class BrokerNetwork:
    """A simulated tree of brokers, which are named 0, 1, … in the order in which they join.

    Args:
        space: attributes of events and regions.
        make_link: function that makes links, from `region_links` or `cell_links`.
        requires_announcements: whether events must be announced before they are published.
        seed: seed of the simulator.
        faults: probabilities of faults; None for a network without faults.
        coalesce: whether routing updates in flight are joined; this excludes `faults`.
        broker_class: class of the brokers.
    """

    def __init__(
        self,
        space: Space,
        make_link: MakeLink,
        *,
        requires_announcements: bool = False,
        seed: int = 0,
        faults: Faults | None = None,
        coalesce: bool = False,
        broker_class: Callable[..., Broker] = Broker,
    ) -> None:
        self.space = space
        self.simulator = Simulator(seed, faults, coalesce=coalesce)
        self.simulator.on_output = self._record_output
        self.peers: dict[NodeName, list[NodeName]] = {}
        self.deliveries: list[tuple[int, Hashable]] = []
        self._make_broker: Callable[[], Broker] = partial(
            broker_class, space, make_link, requires_announcements=requires_announcements
        )
        self._next_name = 0

    @classmethod
    def build_tree(
        cls, broker_count: int, space: Space, make_link: MakeLink, **options: object
    ) -> BrokerNetwork:
        """Return a network whose brokers form a binary tree with root 0.

        Args:
            broker_count: number of brokers.
            space: attributes of events and regions.
            make_link: function that makes links.
            options: further arguments of `BrokerNetwork`.
        """
        network = cls(space, make_link, **options)  # type: ignore[arg-type]
        for name in range(broker_count):
            network.join((name - 1) // 2 if name else None)
        return network

    def join(self, peer: NodeName | None = None) -> NodeName:
        """Add a broker and, unless `peer` is None, a link to the broker `peer`; return its name."""
        name = self._next_name
        self._next_name += 1
        self.simulator.add(name, self._make_broker())
        self.peers[name] = []
        if peer is not None:
            self.connect(name, peer)
        return name

    def connect(self, name: NodeName, peer: NodeName) -> None:
        """Add a link between two brokers.

        Raises:
            InvalidArgumentError: the brokers are connected already, so a link would make a cycle.
        """
        if peer in self._find_reachable(name):
            raise InvalidArgumentError(
                f"brokers {name!r} and {peer!r} are connected already: links must form a tree"
            )
        self.peers[name].append(peer)
        self.peers[peer].append(name)
        self.simulator.inject(name, Connect(peer))
        self.simulator.inject(peer, Connect(name))

    def leave(self, name: NodeName) -> None:
        """Remove a broker, and link the first of its neighbours to each of the others."""
        peers = self.peers.pop(name)
        for peer in peers:
            self.peers[peer].remove(name)
            self.simulator.inject(peer, Disconnect(name))
            self.simulator.inject(name, Disconnect(peer))
        for peer in peers[1:]:
            self.connect(peers[0], peer)

    def subscribe(
        self,
        name: NodeName,
        ids: Sequence[Hashable],
        regions: Regions,
        subscription_rows: NDArray[np.int64],
    ) -> None:
        """Add subscriptions of clients of a broker.

        Args:
            name: the broker.
            ids: ids of the subscriptions.
            regions: regions of the subscriptions.
            subscription_rows: for each region the position of its subscription in `ids`.
        """
        self.simulator.inject(name, Subscribe(tuple(ids), regions, subscription_rows))

    def unsubscribe(self, name: NodeName, ids: Sequence[Hashable]) -> None:
        """Cancel subscriptions of clients of a broker."""
        self.simulator.inject(name, Unsubscribe(tuple(ids)))

    def announce(
        self, name: NodeName, ids: Sequence[Hashable], regions: Regions,
        *, withdrawn_ids: Sequence[Hashable] = (),
    ) -> None:  # fmt: skip
        """Announce regions of later events at a broker, and withdraw announcements.

        Args:
            name: the broker of the publisher.
            ids: ids of the announcements, one per region.
            regions: regions that contain the events that will be published.
            withdrawn_ids: announcements to withdraw.
        """
        self.simulator.inject(name, Announce(tuple(ids), regions, tuple(withdrawn_ids)))

    def publish(self, name: NodeName, event_numbers: NDArray[np.int64], events: Events) -> None:
        """Publish events, with their numbers, at a broker."""
        self.simulator.inject(name, Publish(event_numbers, events))

    @property
    def brokers(self) -> dict[NodeName, Broker]:
        """All brokers by name, including brokers that left."""
        return self.simulator.nodes  # type: ignore[return-value]

    def _find_reachable(self, name: NodeName) -> set[NodeName]:
        """Return the names of a broker and of all brokers that a path connects with it."""
        reachable, stack = {name}, [name]
        while stack:
            for peer in self.peers[stack.pop()]:
                if peer not in reachable:
                    reachable.add(peer)
                    stack.append(peer)
        return reachable

    def _record_output(self, name: NodeName, message: object) -> None:
        """Record the deliveries in a message to clients; other messages are ignored."""
        if isinstance(message, Delivery):
            self.deliveries += zip(
                message.event_numbers.tolist(), message.subscription_ids, strict=True
            )
