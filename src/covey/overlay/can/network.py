"""A simulated CAN: nodes, subscribers and publishers, and what reached whom."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.overlay.can.cube import Cube
from covey.overlay.can.messages import (
    Acknowledged,
    Delivered,
    Join,
    Leave,
    Publish,
    Subscribe,
    Subscription,
    Unsubscribe,
)
from covey.overlay.can.node import CanNode
from covey.overlay.can.zones import Point, Zone
from covey.overlay.faults import Faults
from covey.overlay.simulator import Name, Simulator

__all__ = ["Balls", "CanNetwork"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Balls:
    """Balls and events in [0, 1]^d: what subscriptions of a simulated CAN mean."""

    centres: Floats
    radii: Floats
    events: Floats

    @classmethod
    def drawn(cls, count: int, events: int, d: int, r_max: float, seed: int) -> Balls:
        """Uniform ones."""
        random_ = np.random.default_rng(seed)
        radii = random_.random(count) * r_max
        return cls(random_.random((count, d)), radii, random_.random((events, d)))

    def matches(self, event: int, rows: Sequence[int]) -> list[bool]:
        """Whether balls contain an event."""
        gaps = self.centres[list(rows)] - self.events[event]
        found: list[bool] = (np.linalg.norm(gaps, axis=1) <= self.radii[list(rows)]).tolist()
        return found


class CanNetwork:
    """Nodes 0, 1, … of a CAN. A subscription's id is the row of its ball."""

    def __init__(
        self, balls: Balls, cube: Cube, *, smart: bool = True, printed: bool = False,
        seed: int = 0, faults: Faults | None = None,
    ) -> None:  # fmt: skip
        self.balls, self.smart, self.printed = balls, smart, printed
        self.simulator = Simulator(seed, faults)
        self.simulator.on_told = self._told
        self.members: list[Name] = []
        self.joined = 0
        self.settled: set[int] = set()
        self.ended: set[int] = set()
        self.delivered: list[tuple[int, int]] = []
        low, high = cube.boxes(balls.centres, balls.radii)
        self._low, self._high = low.tolist(), high.tolist()
        self._middles = cube.points(balls.centres).tolist()
        self._points = cube.points(balls.events).tolist()
        self._k = len(cube.directions)
        self._add([Zone.whole(self._k)])

    @classmethod
    def of_zones(
        cls, balls: Balls, cube: Cube, zones: Sequence[Zone], **options: Any
    ) -> CanNetwork:
        """A network whose nodes have joined already: one for each zone, and all know each other's.

        For large ones, which would take long to join one by one.
        """
        network = cls(balls, cube, **options)
        network.nodes[0].zones = (zones[0],)
        for zone in zones[1:]:
            network._add([zone])
        claims = {name: node.claim for name, node in network.nodes.items()}
        for name, node in network.nodes.items():
            node.beliefs.known = {other: claim for other, claim in claims.items() if other != name}
            node.beliefs.seen_from(node.zones)
            node.beliefs.known = dict(node.beliefs.neighbours)
        return network

    def point(self, event: int) -> Point:
        """Where an event is."""
        return tuple(self._points[event])

    def join(self, contact: Name, random_: random.Random) -> Name:
        """A node more, at a random point."""
        name = self._add([])
        point = tuple(random_.random() for _ in range(self._k))
        self.simulator.tell(name, Join(contact, point))
        return name

    def leave(self, name: Name) -> None:
        """A node less."""
        self.members.remove(name)
        self.simulator.tell(name, Leave())

    def subscribe(self, name: Name, id_: int) -> None:
        """A client of a node subscribes to a ball."""
        box = (tuple(self._low[id_]), tuple(self._high[id_]))
        one = Subscription(id_, id_, box, tuple(self._middles[id_]), name)
        self.simulator.tell(name, Subscribe(one))

    def unsubscribe(self, name: Name, id_: int) -> None:
        """It cancels, at the node where it subscribed."""
        self.simulator.tell(name, Unsubscribe(id_))

    def publish(self, name: Name, event: int) -> None:
        """A client of a node publishes an event."""
        self.simulator.tell(name, Publish(event, self.point(event)))

    @property
    def nodes(self) -> dict[Name, CanNode]:
        """All nodes, those that left included."""
        return self.simulator.nodes  # type: ignore[return-value]

    def _add(self, zones: list[Zone]) -> Name:
        name = self.joined
        self.joined += 1
        self.simulator.add(name, self._node(name, zones))
        self.members.append(name)
        return name

    def _node(self, name: Name, zones: list[Zone]) -> CanNode:
        return CanNode(name, self.balls.matches, zones, self.smart, self.printed)

    def _told(self, name: Name, message: object) -> None:
        if isinstance(message, Delivered):
            self.delivered.append((message.event, message.subscription))
        elif isinstance(message, Acknowledged):
            (self.settled if message.lives else self.ended).add(message.id)
