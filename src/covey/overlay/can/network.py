"""A simulated CAN: nodes, subscribers and publishers, and what reached whom."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey.overlay.can.messages import (
    CanDelivery,
    CanPublish,
    CanSubscribe,
    CanSubscription,
    CanUnsubscribe,
    Join,
    Leave,
    SubscriptionAck,
)
from covey.overlay.can.node import CanNode
from covey.overlay.can.projection import CubeProjection
from covey.overlay.can.seats import MakeSeats, Seats
from covey.overlay.can.zones import CanZone, Point
from covey.overlay.faults import Faults
from covey.overlay.simulator import NodeName, Simulator

__all__ = ["BallWorkload", "CanNetwork"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class BallWorkload:
    """Balls and events in [0, 1]^d: what subscriptions of a simulated CAN mean."""

    centres: Floats
    radii: Floats
    events: Floats

    @classmethod
    def build_random(
        cls, ball_count: int, event_count: int, dimensions: int, max_radius: float, seed: int
    ) -> BallWorkload:
        """Uniform ones."""
        random_ = np.random.default_rng(seed)
        radii = random_.random(ball_count) * max_radius
        return cls(
            random_.random((ball_count, dimensions)),
            radii,
            random_.random((event_count, dimensions)),
        )

    def match_rows(self, event_number: int, rows: Sequence[int]) -> list[bool]:
        """Whether balls contain an event."""
        gaps = self.centres[list(rows)] - self.events[event_number]
        found: list[bool] = (np.linalg.norm(gaps, axis=1) <= self.radii[list(rows)]).tolist()
        return found


class CanNetwork:
    """Nodes 0, 1, … of a CAN. A subscription's id is the row of its ball."""

    def __init__(
        self,
        workload: BallWorkload,
        projection: CubeProjection,
        *,
        smart: bool = True,
        make_seats: MakeSeats = Seats,
        seed: int = 0,
        faults: Faults | None = None,
    ) -> None:
        self.workload, self.smart, self.make_seats = workload, smart, make_seats
        self.simulator = Simulator(seed, faults)
        self.simulator.on_output = self._record_output
        self.members: list[NodeName] = []
        self.next_name = 0
        self.acknowledged_ids: set[int] = set()
        self.cancelled_ids: set[int] = set()
        self.deliveries: list[tuple[int, int]] = []
        low, high = projection.project_balls(workload.centres, workload.radii)
        self._box_lows, self._box_highs = low.tolist(), high.tolist()
        self._box_centres = projection.project_points(workload.centres).tolist()
        self._event_points = projection.project_points(workload.events).tolist()
        self._dimensions = len(projection.directions)
        self._add_node([CanZone.whole_cube(self._dimensions)])

    @classmethod
    def from_zones(
        cls,
        workload: BallWorkload,
        projection: CubeProjection,
        zones: Sequence[CanZone],
        *,
        smart: bool = True,
        seed: int = 0,
    ) -> CanNetwork:
        """A network whose nodes have joined already: one for each zone, and all know each other's.

        For large ones, which would take long to join one by one.
        """
        network = cls(workload, projection, smart=smart, seed=seed)
        network.nodes[0].zones = (zones[0],)
        for zone in zones[1:]:
            network._add_node([zone])
        claims = {name: node.claim for name, node in network.nodes.items()}
        for name, node in network.nodes.items():
            node.neighbour_view.known_claims = {
                other: claim for other, claim in claims.items() if other != name
            }
            node.neighbour_view.recompute_neighbours(node.zones)
            node.neighbour_view.known_claims = dict(node.neighbour_view.neighbour_claims)
        return network

    def locate_event(self, event_number: int) -> Point:
        """Where an event is."""
        return tuple(self._event_points[event_number])

    def join(self, contact: NodeName, random_: random.Random) -> NodeName:
        """A node more, at a random point."""
        name = self._add_node([])
        point = tuple(random_.random() for _ in range(self._dimensions))
        self.simulator.inject(name, Join(contact, point))
        return name

    def leave(self, name: NodeName) -> None:
        """A node less."""
        self.members.remove(name)
        self.simulator.inject(name, Leave())

    def subscribe(self, name: NodeName, id_: int) -> None:
        """A client of a node subscribes to a ball."""
        box = (tuple(self._box_lows[id_]), tuple(self._box_highs[id_]))
        one = CanSubscription(id_, id_, box, tuple(self._box_centres[id_]), name)
        self.simulator.inject(name, CanSubscribe(one))

    def unsubscribe(self, name: NodeName, id_: int) -> None:
        """It cancels, at the node where it subscribed."""
        self.simulator.inject(name, CanUnsubscribe(id_))

    def publish(self, name: NodeName, event_number: int) -> None:
        """A client of a node publishes an event."""
        self.simulator.inject(name, CanPublish(event_number, self.locate_event(event_number)))

    @property
    def nodes(self) -> dict[NodeName, CanNode]:
        """All nodes, those that left included."""
        return self.simulator.nodes  # type: ignore[return-value]

    def _add_node(self, zones: list[CanZone]) -> NodeName:
        name = self.next_name
        self.next_name += 1
        self.simulator.add(name, self._make_node(name, zones))
        self.members.append(name)
        return name

    def _make_node(self, name: NodeName, zones: list[CanZone]) -> CanNode:
        return CanNode(
            name,
            self.workload.match_rows,
            zones=zones,
            smart=self.smart,
            make_seats=self.make_seats,
        )

    def _record_output(self, name: NodeName, message: object) -> None:
        if isinstance(message, CanDelivery):
            self.deliveries.append((message.event_number, message.subscription_id))
        elif isinstance(message, SubscriptionAck):
            (self.acknowledged_ids if message.is_live else self.cancelled_ids).add(message.id)
