"""A simulated network of brokers: a tree, clients at its brokers, and what reached whom."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from covey.errors import ValueRefused
from covey.geometry import Regions
from covey.index.grid import Grid
from covey.overlay.brokers.broker import Broker, MakeLink
from covey.overlay.brokers.link import CellLink, RegionLink
from covey.overlay.brokers.messages import (
    Announce,
    Connect,
    Delivered,
    Disconnect,
    Publish,
    Subscribe,
    Unsubscribe,
)
from covey.overlay.faults import Faults
from covey.overlay.simulator import Name, Simulator
from covey.space import Events, Space
from covey.table.strategies import Choice

__all__ = ["BrokerNetwork", "by_cells", "by_regions"]


def by_regions(space: Space, strategy: Choice = "exact") -> MakeLink:
    """Links that advertise regions, held back by a strategy of `covey.table`."""
    return lambda peer: RegionLink(peer, space, strategy)


def by_cells(grid: Grid, gap: int = 0) -> MakeLink:
    """Links that advertise cells of a grid that all brokers share."""
    return lambda _: CellLink(grid, gap)


class BrokerNetwork:
    """Brokers 0, 1, … in a tree: `connect` links them, and `leave` keeps it one."""

    def __init__(
        self, space: Space, make_link: MakeLink, *, announcing: bool = False, seed: int = 0,
        faults: Faults | None = None, joining: bool = False,
        broker: Callable[..., Broker] = Broker,
    ) -> None:  # fmt: skip
        self.space = space
        self.simulator = Simulator(seed, faults, joining)
        self.simulator.on_told = self._told
        self.peers: dict[Name, list[Name]] = {}
        self.delivered: list[tuple[int, Hashable]] = []
        self._new: Callable[[], Broker] = partial(broker, space, make_link, announcing)
        self._next = 0

    @classmethod
    def tree(
        cls, count: int, space: Space, make_link: MakeLink, **options: object
    ) -> BrokerNetwork:
        """A binary tree of so many brokers."""
        network = cls(space, make_link, **options)  # type: ignore[arg-type]
        for name in range(count):
            network.join((name - 1) // 2 if name else None)
        return network

    def join(self, peer: Name | None = None) -> Name:
        """A broker more, linked to one that is there."""
        name = self._next
        self._next += 1
        self.simulator.add(name, self._new())
        self.peers[name] = []
        if peer is not None:
            self.connect(name, peer)
        return name

    def connect(self, one: Name, other: Name) -> None:
        """A link between two brokers that no path connects."""
        if other in self._reached(one):
            raise ValueRefused(f"brokers {one!r} and {other!r} are connected already")
        self.peers[one].append(other)
        self.peers[other].append(one)
        self.simulator.tell(one, Connect(other))
        self.simulator.tell(other, Connect(one))

    def leave(self, name: Name) -> None:
        """A broker less: its neighbours are linked to the first of them."""
        peers = self.peers.pop(name)
        for peer in peers:
            self.peers[peer].remove(name)
            self.simulator.tell(peer, Disconnect(name))
            self.simulator.tell(name, Disconnect(peer))
        for peer in peers[1:]:
            self.connect(peers[0], peer)

    def subscribe(
        self, name: Name, ids: Sequence[Hashable], regions: Regions, of: NDArray[np.int64]
    ) -> None:
        """Clients of a broker subscribe."""
        self.simulator.tell(name, Subscribe(tuple(ids), regions, of))

    def unsubscribe(self, name: Name, ids: Sequence[Hashable]) -> None:
        """Clients of a broker cancel."""
        self.simulator.tell(name, Unsubscribe(tuple(ids)))

    def announce(
        self, name: Name, ids: Sequence[Hashable], regions: Regions,
        ended: Sequence[Hashable] = (),
    ) -> None:  # fmt: skip
        """A publisher at a broker says what it will publish, and what no more."""
        self.simulator.tell(name, Announce(tuple(ids), regions, tuple(ended)))

    def publish(self, name: Name, numbers: NDArray[np.int64], events: Events) -> None:
        """A client of a broker publishes events."""
        self.simulator.tell(name, Publish(numbers, events))

    @property
    def brokers(self) -> dict[Name, Broker]:
        """All brokers, those that left included."""
        return self.simulator.nodes  # type: ignore[return-value]

    def _reached(self, name: Name) -> set[Name]:
        found, todo = {name}, [name]
        while todo:
            for peer in self.peers[todo.pop()]:
                if peer not in found:
                    found.add(peer)
                    todo.append(peer)
        return found

    def _told(self, name: Name, message: object) -> None:
        if isinstance(message, Delivered):
            self.delivered += zip(message.events.tolist(), message.ids, strict=True)
