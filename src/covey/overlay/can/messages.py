"""What nodes of a CAN tell each other, and what the outside tells them.

A message for a point goes, inside `Routed`, from neighbour to neighbour to whoever owns it; all
others go to a node by name. (papers: can)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from covey.overlay.can.zones import Box, Point, Zone
from covey.overlay.simulator import Name

__all__ = [
    "Acknowledged",
    "Adopt",
    "Adopted",
    "AtHomes",
    "Claim",
    "Claims",
    "Delivered",
    "Echo",
    "Event",
    "Flood",
    "Flooded",
    "Handoff",
    "Join",
    "JoinAt",
    "Leave",
    "Move",
    "Moved",
    "Notify",
    "Publish",
    "Refused",
    "Release",
    "Released",
    "Reparented",
    "Routed",
    "Subscribe",
    "Subscription",
    "Unsubscribe",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Subscription:
    """A subscription with its box in the cube; `row` finds what it means."""

    id: int
    row: int
    box: Box
    centre: Point
    owner: Name = None


# From outside.


@dataclass(frozen=True, slots=True)
class Subscribe:
    """A client of this node subscribes, under an id that was never used."""

    subscription: Subscription


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    """A client cancels."""

    id: int


@dataclass(frozen=True, slots=True)
class Publish:
    """An event, by number, and its point in the cube."""

    event: int
    point: Point


@dataclass(frozen=True, slots=True)
class Join:
    """A node that has no zone gets half of the one at a point, through a node that has one."""

    contact: Name
    point: Point


@dataclass(frozen=True, slots=True)
class Leave:
    """A node gives its zones away; it goes on to forward what still comes."""


# To the outside.


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """A subscription will be told of all events from now on; or, once cancelled, of none."""

    id: int
    lives: bool


@dataclass(frozen=True, slots=True)
class Delivered:
    """An event reached a subscriber."""

    event: int
    subscription: int


# Between nodes: places.


@dataclass(frozen=True, slots=True)
class Routed:
    """Something for whoever owns a point."""

    point: Point
    body: Any


@dataclass(frozen=True, slots=True)
class JoinAt:
    """A new node asks for half of a zone."""

    node: Name


@dataclass(frozen=True, slots=True)
class Claim:
    """What a node owns, as of a version of its own."""

    version: int
    zones: tuple[Zone, ...]


@dataclass(frozen=True, slots=True)
class Claims:
    """What nodes own; and who left, so that what it had is theirs, or was."""

    claims: dict[Name, Claim]
    gone: frozenset[Name]


@dataclass(frozen=True, slots=True)
class Handoff:
    """Zones, and all that belongs to them: see `covey.overlay.can.node`."""

    zones: tuple[Zone, ...]
    state: Any


# Between nodes: floods over the zones that a box meets.


@dataclass(frozen=True, slots=True)
class Flood:
    """Replicas of a subscription are to be made, or removed, in all zones that it meets."""

    subscription: Subscription
    number: int
    stores: bool
    home: Name
    reply_to: Name
    token: int


@dataclass(frozen=True, slots=True)
class Echo:
    """A flood is done from here on, with the events that removed replicas had sent home."""

    token: int
    sent: int


@dataclass(frozen=True, slots=True)
class Flooded:
    """To a subscription's seat: its flood is done everywhere."""

    id: int
    number: int
    stores: bool
    sent: int


# Between nodes: seats. `id` is whose seat is meant, or who asks.


@dataclass(frozen=True, slots=True)
class Adopt:
    """To the seat of `root`: a subscription within its box wants to be kept there."""

    subscription: Subscription
    root: int
    attempt: int


@dataclass(frozen=True, slots=True)
class Adopted:
    """It is kept there, and the root has its replicas everywhere."""

    id: int
    root: int
    at: Point
    attempt: int


@dataclass(frozen=True, slots=True)
class Refused:
    """The root is about to go."""

    id: int
    root: int
    attempt: int


@dataclass(frozen=True, slots=True)
class Move:
    """The root is about to go: a dependant has to find another place."""

    id: int
    root: int
    at: Point


@dataclass(frozen=True, slots=True)
class Reparented:
    """A root came under another, and its dependant with it."""

    id: int
    root: int
    at: Point
    new_root: int
    new_at: Point


@dataclass(frozen=True, slots=True)
class Moved:
    """A dependant needs its root no more."""

    id: int
    root: int


@dataclass(frozen=True, slots=True)
class Release:
    """A dependant was cancelled."""

    id: int
    root: int
    centre: Point


@dataclass(frozen=True, slots=True)
class Released:
    """It is kept no more."""

    id: int


# Between nodes: events.


@dataclass(frozen=True, slots=True)
class Event:
    """An event on its way to its point."""

    event: int
    point: Point


@dataclass(frozen=True, slots=True)
class AtHomes:
    """An event for seats of roots: their ids, and where they are."""

    event: int
    seats: tuple[tuple[int, Point], ...]


@dataclass(frozen=True, slots=True)
class Notify:
    """An event for a subscriber."""

    event: int
    subscription: int
