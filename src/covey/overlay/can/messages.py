"""What nodes of a CAN tell each other, and what the outside tells them.

A message for a point goes, inside `RoutedMessage`, from neighbour to neighbour to whoever owns it;
all others go to a node by name. (papers: can)
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
    """A subscription with its box in the cube; `row` finds what it means."""

    id: int
    row: int
    box: Box
    centre: Point
    owner_node: NodeName = None


# From outside.


@dataclass(frozen=True, slots=True)
class CanSubscribe:
    """A client of this node subscribes, under an id that was never used."""

    subscription: CanSubscription


@dataclass(frozen=True, slots=True)
class CanUnsubscribe:
    """A client cancels."""

    id: int


@dataclass(frozen=True, slots=True)
class CanPublish:
    """An event, by number, and its point in the cube."""

    event_number: int
    point: Point


@dataclass(frozen=True, slots=True)
class Join:
    """A node that has no zone gets half of the one at a point, through a node that has one."""

    contact: NodeName
    point: Point


@dataclass(frozen=True, slots=True)
class Leave:
    """A node gives its zones away; it goes on to forward what still comes."""


# To the outside.


@dataclass(frozen=True, slots=True)
class SubscriptionAck:
    """A subscription will be told of all events from now on; or, once cancelled, of none."""

    id: int
    is_live: bool


@dataclass(frozen=True, slots=True)
class CanDelivery:
    """An event reached a subscriber."""

    event_number: int
    subscription_id: int


# Between nodes: places.


@dataclass(frozen=True, slots=True)
class RoutedMessage:
    """Something for whoever owns a point."""

    point: Point
    body: Any


@dataclass(frozen=True, slots=True)
class JoinRequest:
    """A new node asks for half of a zone."""

    new_node: NodeName


@dataclass(frozen=True, slots=True)
class ZoneClaim:
    """What a node owns, as of a version of its own."""

    epoch: int
    zones: tuple[CanZone, ...]


@dataclass(frozen=True, slots=True)
class ZoneClaims:
    """What nodes own; and who left, so that what it had is theirs, or was."""

    claims: dict[NodeName, ZoneClaim]
    departed_nodes: frozenset[NodeName]


@dataclass(frozen=True, slots=True)
class ZoneHandoff:
    """Zones, and all that belongs to them: see `covey.overlay.can.node`."""

    zones: tuple[CanZone, ...]
    state: Any


# Between nodes: floods over the zones that a box meets.


@dataclass(frozen=True, slots=True)
class Flood:
    """Replicas of a subscription are to be made, or removed, in all zones that it meets."""

    subscription: CanSubscription
    flood_number: int
    stores: bool
    home_node: NodeName
    reply_to: NodeName
    token: int


@dataclass(frozen=True, slots=True)
class FloodReply:
    """A flood is done from here on, with the events that removed replicas had sent home."""

    token: int
    sent_events: int


@dataclass(frozen=True, slots=True)
class FloodDone:
    """To a subscription's seat: its flood is done everywhere."""

    id: int
    flood_number: int
    stores: bool
    sent_events: int


# Between nodes: seats. `id` is whose seat is meant, or who asks.


@dataclass(frozen=True, slots=True)
class AdoptRequest:
    """To the seat of `root`: a subscription within its box wants to be kept there."""

    subscription: CanSubscription
    root_id: int
    attempt: int


@dataclass(frozen=True, slots=True)
class AdoptAccepted:
    """It is kept there, and the root has its replicas everywhere."""

    id: int
    root_id: int
    root_point: Point
    attempt: int


@dataclass(frozen=True, slots=True)
class AdoptRefused:
    """The root is about to go."""

    id: int
    root_id: int
    attempt: int


@dataclass(frozen=True, slots=True)
class MoveRequest:
    """The root is about to go: a dependant has to find another place."""

    id: int
    root_id: int
    root_point: Point


@dataclass(frozen=True, slots=True)
class RootReplaced:
    """A root came under another, and its dependant with it."""

    id: int
    root_id: int
    root_point: Point
    new_root_id: int
    new_root_point: Point


@dataclass(frozen=True, slots=True)
class MoveDone:
    """A dependant needs its root no more."""

    id: int
    root_id: int


@dataclass(frozen=True, slots=True)
class ReleaseRequest:
    """A dependant was cancelled."""

    id: int
    root_id: int
    centre: Point


@dataclass(frozen=True, slots=True)
class ReleaseDone:
    """It is kept no more."""

    id: int


# Between nodes: events.


@dataclass(frozen=True, slots=True)
class RoutedEvent:
    """An event on its way to its point."""

    event_number: int
    point: Point


@dataclass(frozen=True, slots=True)
class NotifyRoots:
    """An event for seats of roots: their ids, and where they are."""

    event_number: int
    root_seats: tuple[tuple[int, Point], ...]


@dataclass(frozen=True, slots=True)
class NotifySubscriber:
    """An event for a subscriber."""

    event_number: int
    subscription_id: int
