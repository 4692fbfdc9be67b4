"""A simulated CAN, with clients at its nodes and a record of all deliveries."""

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
    """The balls of subscriptions and the points of events of a simulated CAN.

    Centres and events are points of [0, 1]^d. `centres` and `radii` have a row for each ball,
    `events` has a row for each event.
    """

    centres: Floats
    radii: Floats
    events: Floats

    @classmethod
    def build_random(
        cls, ball_count: int, event_count: int, dimensions: int, max_radius: float, seed: int
    ) -> BallWorkload:
        """Return random balls and events; coordinates and radii are uniformly distributed.

        Args:
            ball_count: number of balls.
            event_count: number of events.
            dimensions: number of coordinates of centres and events, d.
            max_radius: upper end of the distribution of radii.
            seed: seed of the random numbers.
        """
        random_ = np.random.default_rng(seed)
        radii = random_.random(ball_count) * max_radius
        return cls(
            random_.random((ball_count, dimensions)),
            radii,
            random_.random((event_count, dimensions)),
        )

    def match_rows(self, event_number: int, rows: Sequence[int]) -> list[bool]:
        """Return for each of the given balls whether it contains an event."""
        differences = self.centres[list(rows)] - self.events[event_number]
        is_inside: list[bool] = (
            np.linalg.norm(differences, axis=1) <= self.radii[list(rows)]
        ).tolist()
        return is_inside


class CanNetwork:
    """A simulated CAN. Nodes are named 0, 1, … in the order in which they join.

    The id of a subscription is the row of its ball.

    Args:
        workload: balls of subscriptions, and events.
        projection: the map of balls and events into the cube.
        smart: whether replication is SMART; otherwise it is PURE.
        make_seats: function that builds the seats of a node, such as the class `Seats`.
        seed: seed of the simulator.
        faults: probabilities of faults; None for a network without faults.
    """

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
        """Return a network with one node per zone, in which all neighbours know each other.

        Use it for large networks, because adding nodes one by one would take long. The zones must
        divide the whole cube.
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
        """Return the point of an event in the cube."""
        return tuple(self._event_points[event_number])

    def join(self, contact: NodeName, random_: random.Random) -> NodeName:
        """Add a node, which receives half of the zone at a random point; return its name.

        Args:
            contact: node to which the new node sends its request.
            random_: source of the point's coordinates.
        """
        name = self._add_node([])
        point = tuple(random_.random() for _ in range(self._dimensions))
        self.simulator.inject(name, Join(contact, point))
        return name

    def leave(self, name: NodeName) -> None:
        """Let a node leave."""
        self.members.remove(name)
        self.simulator.inject(name, Leave())

    def subscribe(self, name: NodeName, id_: int) -> None:
        """Add a subscription of a client of a node.

        Args:
            name: the node.
            id_: row of the ball, which is the id of the subscription; use each id only once.
        """
        box = (tuple(self._box_lows[id_]), tuple(self._box_highs[id_]))
        subscription = CanSubscription(id_, id_, box, tuple(self._box_centres[id_]), name)
        self.simulator.inject(name, CanSubscribe(subscription))

    def unsubscribe(self, name: NodeName, id_: int) -> None:
        """Cancel a subscription, at the node where the client subscribed."""
        self.simulator.inject(name, CanUnsubscribe(id_))

    def publish(self, name: NodeName, event_number: int) -> None:
        """Publish an event at a node."""
        self.simulator.inject(name, CanPublish(event_number, self.locate_event(event_number)))

    @property
    def nodes(self) -> dict[NodeName, CanNode]:
        """All nodes by name, including nodes that left."""
        return self.simulator.nodes  # type: ignore[return-value]

    def _add_node(self, zones: list[CanZone]) -> NodeName:
        """Add a node with these zones to the simulator, and return its name."""
        name = self.next_name
        self.next_name += 1
        self.simulator.add(name, self._make_node(name, zones))
        self.members.append(name)
        return name

    def _make_node(self, name: NodeName, zones: list[CanZone]) -> CanNode:
        """Return a node that uses the workload and the rules of this network."""
        return CanNode(
            name,
            self.workload.match_rows,
            zones=zones,
            smart=self.smart,
            make_seats=self.make_seats,
        )

    def _record_output(self, name: NodeName, message: object) -> None:
        """Record a delivery, or the acknowledgement of a subscription or cancellation."""
        if isinstance(message, CanDelivery):
            self.deliveries.append((message.event_number, message.subscription_id))
        elif isinstance(message, SubscriptionAck):
            (self.acknowledged_ids if message.is_live else self.cancelled_ids).add(message.id)
