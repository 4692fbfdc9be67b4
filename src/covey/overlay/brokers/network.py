"""A simulated network of brokers: a tree, clients at its brokers, and what reached whom."""

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
    """Links that advertise regions, held back by a strategy of `covey.routing`."""
    return lambda peer: RegionLink(peer, space, strategy)


def cell_links(grid: HilbertGrid, gap: int = 0) -> MakeLink:
    """Links that advertise cells of a grid that all brokers share."""
    return lambda _: CellLink(grid, gap)


class BrokerNetwork:
    """Brokers 0, 1, … in a tree: `connect` links them, and `leave` keeps it one."""

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
        """A binary tree of so many brokers."""
        network = cls(space, make_link, **options)  # type: ignore[arg-type]
        for name in range(broker_count):
            network.join((name - 1) // 2 if name else None)
        return network

    def join(self, peer: NodeName | None = None) -> NodeName:
        """A broker more, linked to one that is there."""
        name = self._next_name
        self._next_name += 1
        self.simulator.add(name, self._make_broker())
        self.peers[name] = []
        if peer is not None:
            self.connect(name, peer)
        return name

    def connect(self, one: NodeName, other: NodeName) -> None:
        """A link between two brokers that no path connects."""
        if other in self._find_reachable(one):
            raise InvalidArgumentError(f"brokers {one!r} and {other!r} are connected already")
        self.peers[one].append(other)
        self.peers[other].append(one)
        self.simulator.inject(one, Connect(other))
        self.simulator.inject(other, Connect(one))

    def leave(self, name: NodeName) -> None:
        """A broker less: its neighbours are linked to the first of them."""
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
        """Clients of a broker subscribe."""
        self.simulator.inject(name, Subscribe(tuple(ids), regions, subscription_rows))

    def unsubscribe(self, name: NodeName, ids: Sequence[Hashable]) -> None:
        """Clients of a broker cancel."""
        self.simulator.inject(name, Unsubscribe(tuple(ids)))

    def announce(
        self, name: NodeName, ids: Sequence[Hashable], regions: Regions,
        *, withdrawn_ids: Sequence[Hashable] = (),
    ) -> None:  # fmt: skip
        """A publisher at a broker says what it will publish, and what no more."""
        self.simulator.inject(name, Announce(tuple(ids), regions, tuple(withdrawn_ids)))

    def publish(self, name: NodeName, event_numbers: NDArray[np.int64], events: Events) -> None:
        """A client of a broker publishes events."""
        self.simulator.inject(name, Publish(event_numbers, events))

    @property
    def brokers(self) -> dict[NodeName, Broker]:
        """All brokers, those that left included."""
        return self.simulator.nodes  # type: ignore[return-value]

    def _find_reachable(self, name: NodeName) -> set[NodeName]:
        found, todo = {name}, [name]
        while todo:
            for peer in self.peers[todo.pop()]:
                if peer not in found:
                    found.add(peer)
                    todo.append(peer)
        return found

    def _record_output(self, name: NodeName, message: object) -> None:
        if isinstance(message, Delivery):
            self.deliveries += zip(
                message.event_numbers.tolist(), message.subscription_ids, strict=True
            )
