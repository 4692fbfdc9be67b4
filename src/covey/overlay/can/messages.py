"""Messages between nodes of a CAN, from clients and the network to nodes, and to clients.

A message for a point is wrapped in a `RoutedMessage`, which neighbours forward to the owner of the
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
    """A subscription, with its box in the cube and the centre of the box, where its seat is.

    `row` is its row for the function that matches events. `owner_node` is the node of its client.
    """

    id: int
    row: int
    box: Box
    centre: Point
    owner_node: NodeName = None


# From outside.


@dataclass(frozen=True, slots=True)
class CanSubscribe:
    """From a client: a subscription. Its id must never have been used before."""

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
    """From the network: join by getting half of the zone at a point, through the node `contact`."""

    contact: NodeName
    point: Point


@dataclass(frozen=True, slots=True)
class Leave:
    """From the network: leave. The node hands over its zones, and forwards later messages."""


# To the outside.


@dataclass(frozen=True, slots=True)
class SubscriptionAck:
    """To a client: the subscription is settled, or with `is_live=False` its cancellation is done.

    A settled subscription is notified of every event that is published later and that it matches.
    """

    id: int
    is_live: bool


@dataclass(frozen=True, slots=True)
class CanDelivery:
    """To a client: an event that its subscription matches."""

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
    """A new node requests half of a zone."""

    new_node: NodeName


@dataclass(frozen=True, slots=True)
class ZoneClaim:
    """The zones of a node; the claim with the largest epoch of a node is its newest."""

    epoch: int
    zones: tuple[CanZone, ...]


@dataclass(frozen=True, slots=True)
class ZoneClaims:
    """Claims of nodes, and nodes that left, whose zones these nodes took over."""

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
    """A request to store a replica in every zone that a subscription's box meets, or to drop it.

    `flood_number` counts the floods of the subscription. `home_node` had its seat when the flood
    started. Replies go to `reply_to` with `token`; at the node that started it, `reply_to` is None.
    """

    subscription: CanSubscription
    flood_number: int
    stores: bool
    home_node: NodeName
    reply_to: NodeName
    token: int


@dataclass(frozen=True, slots=True)
class FloodReply:
    """A reply: the flood has arrived at the sender and all nodes to which it was forwarded.

    `sent_events` is the number of events that dropped replicas there had sent to the seat.
    """

    token: int
    sent_events: int


@dataclass(frozen=True, slots=True)
class FloodDone:
    """To the seat of a subscription: its flood has arrived in all zones; fields as in `Flood`."""

    id: int
    flood_number: int
    stores: bool
    sent_events: int


# Between nodes: seats. `id` is the subscription that a message is for, or that sends a request.


@dataclass(frozen=True, slots=True)
class AdoptRequest:
    """To the seat of a root: a request to adopt a subscription whose box lies within the root's."""

    subscription: CanSubscription
    root_id: int
    attempt: int


@dataclass(frozen=True, slots=True)
class AdoptAccepted:
    """To a subscription: the root has adopted it, and has replicas in all of its zones."""

    id: int
    root_id: int
    root_point: Point
    attempt: int


@dataclass(frozen=True, slots=True)
class AdoptRefused:
    """To a subscription: the root does not adopt it, because it is cancelled or not a root."""

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
    """To a dependant: its root became a dependant of a new root, which has adopted both."""

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
    """An event for the seats of roots, each with its id and its point."""

    event_number: int
    root_seats: tuple[tuple[int, Point], ...]


@dataclass(frozen=True, slots=True)
class NotifySubscriber:
    """An event for the node of a client whose subscription it matches."""

    event_number: int
    subscription_id: int
