"""Messages of a CAN: to nodes from clients, the network or other nodes, and to clients.

A message for a point is wrapped in a `RoutedMessage`, which nodes forward to the owner of the
point. All other messages are sent to a node by name. (papers: can)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from covey.overlay.can.zones import Box, CanZone, Point
from covey.overlay.simulator import NodeName

__all__ = [
    "AdoptAccepted",
    "AdoptRefused",
    "AdoptRequest",
    "CanDelivery",
    "CanPublish",
    "CanSubscribe",
    "CanSubscription",
    "CanUnsubscribe",
    "Flood",
    "FloodDone",
    "FloodReply",
    "Join",
    "JoinRequest",
    "Leave",
    "MoveDone",
    "MoveRequest",
    "NotifyRoots",
    "NotifySubscriber",
    "ReleaseDone",
    "ReleaseRequest",
    "RootReplaced",
    "RoutedEvent",
    "RoutedMessage",
    "SubscriptionAck",
    "ZoneClaim",
    "ZoneClaims",
    "ZoneHandoff",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class CanSubscription:
    """A subscription, with its box in the cube, and the point of its seat.

    `centre` is the centre of the box; the owner of this point has the seat. `row` is the number
    that identifies the subscription in calls of `MatchRows`. `owner_node` is the node of the
    client.
    """

    id: int
    row: int
    box: Box
    centre: Point
    owner_node: NodeName = None


# From outside.


@dataclass(frozen=True, slots=True)
class CanSubscribe:
    """From a client: a new subscription, whose id must never have been used before."""

    subscription: CanSubscription


@dataclass(frozen=True, slots=True)
class CanUnsubscribe:
    """From a client: the cancellation of a subscription, at the node where it subscribed."""

    id: int


@dataclass(frozen=True, slots=True)
class CanPublish:
    """From a client: an event to publish, by its number and its point in the cube."""

    event_number: int
    point: Point


@dataclass(frozen=True, slots=True)
class Join:
    """From the network: request half of the zone at a point, by a message to the node `contact`."""

    contact: NodeName
    point: Point


@dataclass(frozen=True, slots=True)
class Leave:
    """From the network: leave. The node hands over its zones, and then forwards messages."""


# To the outside.


@dataclass(frozen=True, slots=True)
class SubscriptionAck:
    """To a client: its subscription is settled; if `is_live` is false, it has been cancelled.

    A settled subscription is notified of every matching event that is published later.
    """

    id: int
    is_live: bool


@dataclass(frozen=True, slots=True)
class CanDelivery:
    """To a client: an event that matches the client's subscription."""

    event_number: int
    subscription_id: int


# Between nodes: zones and routing.


@dataclass(frozen=True, slots=True)
class RoutedMessage:
    """A message for the owner of a point."""

    point: Point
    body: Any


@dataclass(frozen=True, slots=True)
class JoinRequest:
    """A request of a new node for half of the zone at the point of the routed message."""

    new_node: NodeName


@dataclass(frozen=True, slots=True)
class ZoneClaim:
    """The zones of a node; the claim with the largest epoch is the newest one of the node."""

    epoch: int
    zones: tuple[CanZone, ...]


@dataclass(frozen=True, slots=True)
class ZoneClaims:
    """Claims of nodes, and the nodes that left and whose zones were taken over."""

    claims: dict[NodeName, ZoneClaim]
    departed_nodes: frozenset[NodeName]


@dataclass(frozen=True, slots=True)
class ZoneHandoff:
    """Zones for a new owner, with the state that belongs to them (`node._HandoffState`)."""

    zones: tuple[CanZone, ...]
    state: Any


# Between nodes: floods over the zones that a box meets.


@dataclass(frozen=True, slots=True)
class Flood:
    """A request to all zones that a subscription's box meets: store a replica, or drop it.

    `stores` is false if replicas are dropped. `flood_number` counts the floods of the subscription.
    `home_node` had the subscription's seat when the flood started. A reply goes to `reply_to` and
    repeats `token`. At the node that started the flood, `reply_to` is None.
    """

    subscription: CanSubscription
    flood_number: int
    stores: bool
    home_node: NodeName
    reply_to: NodeName
    token: int


@dataclass(frozen=True, slots=True)
class FloodReply:
    """A reply to a flood: the flood has arrived at the replying node.

    It has also arrived at all nodes to which it was forwarded from there. `sent_events` is the
    number of events that the replicas dropped at these nodes had sent to the seat.
    """

    token: int
    sent_events: int


@dataclass(frozen=True, slots=True)
class FloodDone:
    """To the seat of a subscription: its flood has arrived in all zones that its box meets.

    `flood_number` and `stores` are those of the flood; `sent_events` is the sum of all replies.
    """

    id: int
    flood_number: int
    stores: bool
    sent_events: int


# Between nodes: seats. `id` is the subscription to which a message goes, or whose request it is.
# `attempt` numbers the adoption requests of a subscription; the reply to a request repeats it.


@dataclass(frozen=True, slots=True)
class AdoptRequest:
    """To the seat of a root: a request to adopt a subscription whose box lies in the root's box."""

    subscription: CanSubscription
    root_id: int
    attempt: int


@dataclass(frozen=True, slots=True)
class AdoptAccepted:
    """To a subscription: the root has adopted it, and all replicas of the root are stored."""

    id: int
    root_id: int
    root_point: Point
    attempt: int


@dataclass(frozen=True, slots=True)
class AdoptRefused:
    """To a subscription: a refusal, because the requested root is cancelled or no longer a root."""

    id: int
    root_id: int
    attempt: int


@dataclass(frozen=True, slots=True)
class MoveRequest:
    """To a dependant: its root is cancelled, so it must find another root or become one."""

    id: int
    root_id: int
    root_point: Point


@dataclass(frozen=True, slots=True)
class RootReplaced:
    """To a dependant: its root became a dependant of a new root, which has adopted them both."""

    id: int
    root_id: int
    root_point: Point
    new_root_id: int
    new_root_point: Point


@dataclass(frozen=True, slots=True)
class MoveDone:
    """To a root: a dependant no longer needs it."""

    id: int
    root_id: int


@dataclass(frozen=True, slots=True)
class ReleaseRequest:
    """To a root: a dependant, whose seat is at `centre`, was cancelled."""

    id: int
    root_id: int
    centre: Point


@dataclass(frozen=True, slots=True)
class ReleaseDone:
    """To a cancelled dependant: its root has removed it."""

    id: int


# Between nodes: events.


@dataclass(frozen=True, slots=True)
class RoutedEvent:
    """An event for the owner of its point."""

    event_number: int
    point: Point


@dataclass(frozen=True, slots=True)
class NotifyRoots:
    """An event for the seats of roots; each seat is given by the root's id and the seat's point."""

    event_number: int
    root_seats: tuple[tuple[int, Point], ...]


@dataclass(frozen=True, slots=True)
class NotifySubscriber:
    """An event for the node of a client, because it matches a subscription of the client."""

    event_number: int
    subscription_id: int
