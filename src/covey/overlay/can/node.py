"""The handler of a node of a CAN: zones, neighbours, routing, joins and leaves.

A joining node receives one message, a `ZoneHandoff`, with half of a zone and the state that belongs
to it. In the same way, a neighbour takes over all zones of a node that leaves. When the old owner
sends this message, it stops being the owner, and forwards messages that arrive later. A node
without a zone stores messages until it has one. Only one node may leave at a time; any number of
nodes may join.

The protocols of subscriptions and events are in `covey.overlay.can.seats` and
`covey.overlay.can.floods`; this module carries out the actions that they require. (papers: can)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from covey.overlay.can.floods import FloodTracker
from covey.overlay.can.messages import (
    CanDelivery,
    CanPublish,
    CanSubscribe,
    CanSubscription,
    CanUnsubscribe,
    Flood,
    FloodDone,
    FloodReply,
    Join,
    JoinRequest,
    Leave,
    NotifyRoots,
    NotifySubscriber,
    RoutedEvent,
    RoutedMessage,
    SubscriptionAck,
    ZoneClaim,
    ZoneClaims,
    ZoneHandoff,
)
from covey.overlay.can.neighbours import NeighbourView, touches_any
from covey.overlay.can.replicas import Replica, Replicas
from covey.overlay.can.seats import MakeSeats, Seat, SeatAction, Seats, SendToOwner, StartFlood
from covey.overlay.can.zones import CanZone, Point, meets_any, merge_zones, nearest_distance
from covey.overlay.simulator import OUTSIDE, NodeName, OutgoingMessages

__all__ = ["CanNode", "MatchRows"]

MatchRows = Callable[[int, Sequence[int]], Sequence[bool]]
"""Function that takes an event number and rows of subscriptions.

It returns for each row whether the subscription matches the event.
"""


@dataclass(frozen=True, slots=True)
class _HandoffState:
    """The state that belongs to zones which change their owner.

    `early_cancellations` and `clients` are those of `Seats` and `CanNode`. `forwarding_pointers`
    are zones that the old owner has given away, with their new owners. `inherited_nodes` are the
    nodes that left and whose zones the old owner had taken over. If the old owner does not leave,
    `forwarding_pointers`, `clients` and `inherited_nodes` are empty.
    """

    replicas: list[Replica]
    seats: list[Seat]
    early_cancellations: dict[int, Point]
    seen_floods: set[tuple[int, int]]
    neighbour_view: NeighbourView
    forwarding_pointers: list[tuple[CanZone, NodeName]]
    clients: dict[int, CanSubscription]
    inherited_nodes: set[NodeName]


class CanNode:
    """The message handler of one node of a CAN.

    Args:
        name: name of the node.
        match_rows: function that returns which subscriptions match an event.
        zones: zones of the node. The first node of a network has the whole cube; other nodes have
            none until they have joined.
        smart: whether replication is SMART; otherwise it is PURE.
        make_seats: function that builds the seats of the node; the rules of the seats decide which
            subscriptions are roots.
    """

    def __init__(
        self,
        name: NodeName,
        match_rows: MatchRows,
        *,
        zones: Sequence[CanZone] = (),
        smart: bool = True,
        make_seats: MakeSeats = Seats,
    ) -> None:
        self.name, self.zones, self.smart = name, tuple(zones), smart
        self.epoch = 1
        self.replicas = Replicas()
        self.neighbour_view = NeighbourView()
        self.seats = make_seats(self.replicas.find_covering if smart else None)
        self.flood_tracker = FloodTracker(name)
        self.clients: dict[int, CanSubscription] = {}
        """The live subscriptions of clients of this node, by id."""
        self.successor: NodeName | None = None
        self._match_rows = match_rows
        self._forwarding_pointers: list[tuple[CanZone, NodeName]] = []
        self._inherited_nodes: set[NodeName] = set()
        self._early_messages: list[tuple[NodeName, object]] = []
        self._outgoing: list[tuple[NodeName, object]] = []
        self._local_queue: deque[tuple[Point, object]] = deque()

    def receive(self, sender: NodeName, message: object) -> OutgoingMessages:
        """Handle a message, and return the messages to send as pairs of receiver and message."""
        self._handle_message(sender, message)
        while self._local_queue:
            self._handle_at_point(*self._local_queue.popleft())
        out, self._outgoing = self._outgoing, []
        return out

    def owns(self, point: Point) -> bool:
        """Return whether a point is in one of the node's zones."""
        return any(zone.contains(point) for zone in self.zones)

    def _handle_message(self, sender: NodeName, message: object) -> None:
        """Handle a message; a node that left forwards it, and a node without a zone stores it.

        A node without a zone handles only `Join` and `ZoneHandoff`.
        """
        if self.successor is not None:
            self._forward_after_leave(sender, message)
        elif isinstance(message, ZoneHandoff):
            self._accept_handoff(sender, message)
        elif isinstance(message, Join):
            self._send(message.contact, RoutedMessage(message.point, JoinRequest(self.name)))
        elif not self.zones:
            self._early_messages.append((sender, message))
        else:
            self._dispatch(sender, message)

    def _dispatch(self, sender: NodeName, message: object) -> None:
        """Handle a message at a node that owns a zone."""
        match message:
            case RoutedMessage():
                self._route(message.point, message.body)
            case Flood():
                self._handle_flood(message)
            case FloodReply():
                self._handle_flood_reply(message)
            case ZoneClaims():
                self._handle_claims(message)
            case NotifyRoots():
                self._notify_roots(message)
            case NotifySubscriber():
                self._deliver_to_client(message)
            case SubscriptionAck():
                self._send(OUTSIDE, message)
            case CanSubscribe():
                subscription = message.subscription
                self.clients[subscription.id] = subscription
                self._route(subscription.centre, message)
            case CanUnsubscribe():
                if (cancelled := self.clients.pop(message.id, None)) is not None:
                    self._route(cancelled.centre, message)
            case CanPublish():
                self._route(message.point, RoutedEvent(message.event_number, message.point))
            case Leave():
                self._hand_over_all()
            case _:
                raise TypeError(f"{message!r} is not a message for nodes: see overlay.can.messages")

    # Routing.

    def _route(self, point: Point, body: Any) -> None:
        """Send a message one step towards the owner of a point; the owner queues it for itself."""
        if self.owns(point):
            self._local_queue.append((point, body))
        else:
            self._send(self._find_next_hop(point), RoutedMessage(point, body))

    def _find_next_hop(self, point: Point) -> NodeName:
        """Return the neighbour or new owner whose zone is nearest to a point.

        New owners have zones that this node gave away. They are included, because the sender of a
        message may not know of the new owner yet.
        """
        new_owners = [(zone.distance_to(point), name) for zone, name in self._forwarding_pointers]
        neighbours = [
            (nearest_distance(claim.zones, point), name)
            for name, claim in self.neighbour_view.neighbour_claims.items()
        ]
        return min([*new_owners, *neighbours], key=itemgetter(0))[1]

    def _handle_at_point(self, point: Point, body: Any) -> None:
        """Handle a message for a point, or route it if the point has another owner by now."""
        if not self.owns(point):
            self._route(point, body)
            return
        match body:
            case JoinRequest():
                self._split_zone(point, body.new_node)
            case RoutedEvent():
                self._handle_event(body)
            case NotifyRoots():
                self._notify_roots(body)
            case _:
                self._perform_actions(self.seats.receive(point, body))

    def _perform_actions(self, actions: Iterable[SeatAction]) -> None:
        """Carry out the actions that seats require."""
        for action in actions:
            match action:
                case RoutedMessage():
                    self._route(action.point, action.body)
                case StartFlood():
                    self._handle_flood(
                        Flood(
                            action.subscription,
                            action.flood_number,
                            action.stores,
                            self.name,
                            None,
                            0,
                        )
                    )
                case SendToOwner():
                    self._send_or_dispatch(action.subscription.owner_node, action.message)

    def _send_or_dispatch(self, name: NodeName, message: object) -> None:
        """Send a message to a node, or handle it if that is this node."""
        if name == self.name:
            self._dispatch(self.name, message)
        else:
            self._send(name, message)

    def _send(self, name: NodeName, message: object) -> None:
        """Add a message to those that `receive` returns."""
        self._outgoing.append((name, message))

    # Floods.

    def _handle_flood(self, flood: Flood) -> None:
        """Store or drop a replica, and forward the flood; reply at once if it was seen before."""
        if not self.flood_tracker.try_register(flood):
            self._send_or_dispatch(flood.reply_to, FloodReply(flood.token, 0))
            return
        subscription, sent_events = flood.subscription, 0
        if not flood.stores:
            sent_events = self.replicas.drop(subscription.id)
        elif meets_any(self.zones, subscription.box):
            self.replicas.store(subscription, flood.home_node)
        targets = self._find_flood_targets(flood)
        forwarded, answer = self.flood_tracker.forward(flood, targets, sent_events)
        self._outgoing += forwarded
        if answer is not None:
            self._send_flood_answer(flood, answer)

    def _find_flood_targets(self, flood: Flood) -> list[NodeName]:
        """Return the neighbours, and new owners, whose zones meet the box of a flood.

        The node that sent the flood is left out.
        """
        box, known = flood.subscription.box, self.neighbour_view.neighbour_claims
        others = [name for name, claim in known.items() if meets_any(claim.zones, box)]
        others += [name for zone, name in self._forwarding_pointers if zone.meets(box)]
        return [n for n in dict.fromkeys(others) if n not in (flood.reply_to, self.name)]

    def _handle_flood_reply(self, reply: FloodReply) -> None:
        """Count a reply; after the last one, answer the flood."""
        if (done := self.flood_tracker.receive_reply(reply)) is not None:
            self._send_flood_answer(*done)

    def _send_flood_answer(self, flood: Flood, answer: FloodReply | FloodDone) -> None:
        """Send a reply to the sender of a flood, or report the end of the flood to the seat."""
        if isinstance(answer, FloodDone):
            self._route(flood.subscription.centre, answer)
        else:
            self._send_or_dispatch(flood.reply_to, answer)

    # Events.

    def _handle_event(self, event: RoutedEvent) -> None:
        """Handle an event at its point: notify clients (PURE), or the seats of roots (SMART)."""
        replicas = list(self.replicas.find_at(event.point))
        if not self.smart:
            subscriptions = [replica.subscription for replica in replicas]
            self._notify_matching(event.event_number, subscriptions)
            return
        homes: dict[NodeName, list[tuple[int, Point]]] = {}
        for replica in replicas:
            replica.sent_events += 1
            root = replica.subscription
            homes.setdefault(replica.home_node, []).append((root.id, root.centre))
        for home, seats in homes.items():
            self._send_or_dispatch(home, NotifyRoots(event.event_number, tuple(seats)))

    def _notify_roots(self, message: NotifyRoots) -> None:
        """Match an event at the seats of a message; route the event to seats at other nodes."""
        for id_, centre in message.root_seats:
            if self.owns(centre):
                members, actions = self.seats.visit(id_)
                self._notify_matching(message.event_number, members)
                self._perform_actions(actions)
            else:
                self._route(centre, NotifyRoots(message.event_number, ((id_, centre),)))

    def _notify_matching(self, event_number: int, candidates: Sequence[CanSubscription]) -> None:
        """Notify the clients of those candidates that match an event, by an exact comparison."""
        if not candidates:
            return
        matches = self._match_rows(event_number, [candidate.row for candidate in candidates])
        for candidate, is_match in zip(candidates, matches, strict=True):
            if is_match:
                message = NotifySubscriber(event_number, candidate.id)
                self._send_or_dispatch(candidate.owner_node, message)

    def _deliver_to_client(self, message: NotifySubscriber) -> None:
        """Deliver an event to the client, unless the client has cancelled the subscription."""
        if message.subscription_id in self.clients:
            self._send(OUTSIDE, CanDelivery(message.event_number, message.subscription_id))

    # Joins and leaves.

    @property
    def claim(self) -> ZoneClaim:
        """The present zones and the epoch of this node, as a claim."""
        return ZoneClaim(self.epoch, self.zones)

    def _split_zone(self, point: Point, new_node: NodeName) -> None:
        """Give half of the zone at a point to a new node, with the state that belongs to it."""
        zone = next(zone for zone in self.zones if zone.contains(point))
        own_half, other_half = zone.split_in_half()
        new_zone = other_half.with_new_owner()
        previous_neighbours = list(self.neighbour_view.neighbour_claims)
        self.zones = tuple(own_half if other == zone else other for other in self.zones)
        self.epoch += 1
        new_claim = ZoneClaim(1, (new_zone,))
        claims = ZoneClaims({self.name: self.claim, new_node: new_claim}, frozenset())
        view = NeighbourView(self.neighbour_view.known_claims | {self.name: self.claim})
        seats, cancelled = self.seats.extract_owned(new_zone.contains)
        replicas = self.replicas.split_off(self.zones, [new_zone])
        state = _HandoffState(
            replicas, seats, cancelled, set(self.flood_tracker.seen_floods), view, [], {}, set()
        )
        self._send(new_node, ZoneHandoff((new_zone,), state))
        self._forwarding_pointers = keep_newest_pointers(
            self.zones, [*self._forwarding_pointers, (new_zone, new_node)]
        )
        self.neighbour_view.merge_claims(claims.claims)
        self.neighbour_view.known_claims.pop(self.name)
        self.neighbour_view.recompute_neighbours(self.zones)
        for name in previous_neighbours:
            self._send(name, claims)

    def _hand_over_all(self) -> None:
        """Hand over all zones and state to the neighbour with the lowest `_takeover_cost`."""
        if not self.neighbour_view.neighbour_claims:
            raise TypeError(f"node {self.name!r} cannot leave: it is the last node of the network")
        self.successor = min(self.neighbour_view.neighbour_claims, key=self._takeover_cost)
        seats, cancelled = self.seats.extract_owned(lambda _: True)
        state = _HandoffState(
            list(self.replicas.by_id.values()),
            seats,
            cancelled,
            self.flood_tracker.seen_floods,
            self.neighbour_view,
            self._forwarding_pointers,
            self.clients,
            self._inherited_nodes,
        )
        self._send(
            self.successor, ZoneHandoff(tuple(zone.with_new_owner() for zone in self.zones), state)
        )
        self.zones, self.replicas, self.clients = (), Replicas(), {}

    def _takeover_cost(self, name: NodeName) -> tuple[int, float]:
        """Return the number of zones that a neighbour would own, and the volume that it owns now.

        The volume decides only if the numbers are equal.
        """
        zones = self.neighbour_view.neighbour_claims[name].zones
        return len(merge_zones([*self.zones, *zones])), sum(zone.volume for zone in zones)

    def _accept_handoff(self, sender: NodeName, handoff: ZoneHandoff) -> None:
        """Take over zones with their state: a first zone, or the zones of a leaving node."""
        state: _HandoffState = handoff.state
        is_first = not self.zones
        self.flood_tracker.seen_floods = (
            state.seen_floods if is_first else self.flood_tracker.seen_floods & state.seen_floods
        )
        previous_neighbours = list(self.neighbour_view.neighbour_claims)
        self.zones = merge_zones([*self.zones, *handoff.zones])
        self.replicas.merge(state.replicas)
        self.seats.insert(state.seats, state.early_cancellations)
        self.clients.update(state.clients)
        if not is_first:
            self._inherited_nodes |= {sender, *state.inherited_nodes}
        self._forwarding_pointers = keep_newest_pointers(
            self.zones, [*self._forwarding_pointers, *state.forwarding_pointers]
        )
        self.neighbour_view.merge_claims(state.neighbour_view.known_claims)
        for name in (self.name, *self._inherited_nodes):
            self.neighbour_view.known_claims.pop(name, None)
        self.neighbour_view.recompute_neighbours(self.zones)
        if not is_first:
            self.epoch += 1
            neighbours = self.neighbour_view.neighbour_claims
            for name in dict.fromkeys([*previous_neighbours, *neighbours]):
                if name not in self._inherited_nodes:
                    self._send(name, self._own_claims())
        early_messages, self._early_messages = self._early_messages, []
        for early_sender, message in early_messages:
            self._handle_message(early_sender, message)

    def _own_claims(self) -> ZoneClaims:
        """Return the claim of this node, with the nodes whose zones it took over."""
        return ZoneClaims({self.name: self.claim}, frozenset(self._inherited_nodes))

    def _handle_claims(self, claims: ZoneClaims) -> None:
        """Store newer claims, and send the claim of this node to new neighbours.

        If claims are newer and touch zones that this node gave away, they are forwarded to the new
        owners.
        """
        # Other nodes may only have outdated claims of this node and of the nodes that it replaced.
        own_names = {self.name, *self._inherited_nodes}
        claims = ZoneClaims(
            {n: c for n, c in claims.claims.items() if n not in own_names}, claims.departed_nodes
        )
        has_newer, new_neighbours = self.neighbour_view.receive_claims(claims, self.zones)
        for name in new_neighbours:
            self._send(name, self._own_claims())
        if has_newer:
            zones = [zone for claim in claims.claims.values() for zone in claim.zones]
            new_owners = [
                name for zone, name in self._forwarding_pointers if touches_any([zone], zones)
            ]
            for name in dict.fromkeys(new_owners):
                if name not in claims.claims:
                    self._send(name, claims)

    def _forward_after_leave(self, sender: NodeName, message: object) -> None:
        """Handle a message at a node that left.

        The node counts replies to the floods that it has forwarded, and sends all other messages to
        the node that took over its zones.
        """
        if isinstance(message, FloodReply) and self.flood_tracker.expects(message):
            if (done := self.flood_tracker.receive_reply(message)) is not None:
                flood, answer = done
                if isinstance(answer, FloodDone):
                    self._send(self.successor, RoutedMessage(flood.subscription.centre, answer))
                else:
                    self._send(flood.reply_to, answer)
        else:
            self._send(self.successor, message)


def keep_newest_pointers(
    own_zones: Iterable[CanZone], pointers: Iterable[tuple[CanZone, NodeName]]
) -> list[tuple[CanZone, NodeName]]:
    """Return disjoint pointers to new owners: for each point outside own zones the newest one.

    Args:
        own_zones: zones of this node.
        pointers: zones that were given away, each with its new owner.
    """
    disjoint: list[tuple[CanZone, NodeName]] = []
    for zone, name in sorted(pointers, key=lambda pointer: -pointer[0].transfer_count):
        parts = [zone]
        for known in [*own_zones, *(other for other, _ in disjoint)]:
            parts = [remainder for part in parts for remainder in part.subtract(known)]
        disjoint += [(part, name) for part in parts]
    return disjoint
