"""Seats: the states of subscriptions of a CAN, and the protocol by which these states change.

The seat of a subscription is at the node that owns the centre of its box. The subscription is
either a *root*, with a replica in every zone that its box meets; or, with SMART, a *dependant*,
which is stored only at the seat of a root whose box contains its box. An event is sent to the seats
of all roots whose boxes contain its point. The seat makes all changes of its subscription, one
after another.

Every replica is stored before it is needed, and dropped only when it is no longer needed. A
cancelled root retains its dependants until each of them has another root or is a root itself. Then
the replicas of the root are dropped. Replicas count the events that they send, and the root waits
until all of these have arrived. So an acknowledged subscription misses no event, even while other
subscriptions change. The rules of the paper drop replicas first: see
`covey.overlay.can.paper_rules`. (papers: can)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto

from covey.overlay.can.messages import (
    AdoptAccepted,
    AdoptRefused,
    AdoptRequest,
    CanSubscribe,
    CanSubscription,
    CanUnsubscribe,
    FloodDone,
    MoveDone,
    MoveRequest,
    ReleaseDone,
    ReleaseRequest,
    RootReplaced,
    RoutedMessage,
    SubscriptionAck,
)
from covey.overlay.can.zones import Box, Point

__all__ = [
    "FindRoot",
    "MakeSeats",
    "Seat",
    "SeatAction",
    "SeatPhase",
    "Seats",
    "SendToOwner",
    "StartFlood",
    "box_contains",
]

FindRoot = Callable[[CanSubscription, set[int]], CanSubscription | None]
"""Function that returns a root whose box contains the box of a subscription, or None.

The arguments are the subscription, and the ids of roots that must not be returned.
"""


@dataclass(frozen=True, slots=True)
class StartFlood:
    """An action: start a flood that stores replicas of a subscription, or drops them."""

    subscription: CanSubscription
    flood_number: int
    stores: bool


@dataclass(frozen=True, slots=True)
class SendToOwner:
    """An action: send a message to the node whose client subscribed."""

    subscription: CanSubscription
    message: SubscriptionAck


SeatAction = RoutedMessage | StartFlood | SendToOwner
"""Action that a node must carry out for a seat."""


class SeatPhase(Enum):
    """The phase of a seat; `ROOT` and `DEPENDANT` are stable, other phases await replies."""

    STORING = auto()  # a root whose replicas are being stored
    AWAITING_ROOT = auto()  # an AdoptRequest was sent to a root, which has not replied
    ROOT = auto()
    DEPENDANT = auto()
    DEMOTING = auto()  # a former root under a new root; its replicas are being dropped
    CLOSING = auto()  # a cancelled root whose dependants look for other roots
    DROPPING = auto()  # a cancelled root whose replicas are being dropped
    RELEASING = auto()  # a cancelled dependant; its root has not replied


@dataclass(slots=True)
class Seat:
    """The state of one subscription and, if the subscription is a root, its dependants."""

    subscription: CanSubscription
    phase: SeatPhase = SeatPhase.AWAITING_ROOT
    is_subscribed: bool = True
    is_acknowledged: bool = False
    root_id: int | None = None  # DEPENDANT: its root. AWAITING_ROOT: the root that was requested.
    root_point: Point = ()  # the point of that root's seat
    dependants: dict[int, CanSubscription] = field(default_factory=dict)
    # STORING: subscriptions that wait for this root, each with the attempt of its request
    pending_adoptions: list[tuple[CanSubscription, int]] = field(default_factory=list)
    # CLOSING, DEMOTING: dependants that still need this root
    leaving_dependants: set[int] = field(default_factory=set)
    # cancelled roots that wait until this subscription has another root
    previous_roots: list[tuple[int, Point]] = field(default_factory=list)
    avoided_roots: set[int] = field(default_factory=set)  # roots that refused or were cancelled
    attempt: int = 0  # counts requests to roots, so that replies to earlier ones are ignored
    flood_number: int = 0
    arrived_events: int = 0  # events that replicas sent here
    # events that replicas sent in all; None until all replicas are dropped
    expected_events: int | None = None
    # messages about a root that has not yet replied, by the id of that root
    held_messages: dict[int, MoveRequest | RootReplaced] = field(default_factory=dict)
    pending_releases: int = 0  # RELEASING: roots that have not replied

    @property
    def members(self) -> Iterator[CanSubscription]:
        """The subscription and its dependants, which an event at this seat may match."""
        yield self.subscription
        yield from self.dependants.values()


class Seats:
    """The seats of one node.

    Args:
        find_root: function that finds a root for a subscription among the replicas of the node;
            None if replication is PURE; then every subscription is a root.
    """

    def __init__(self, find_root: FindRoot | None) -> None:
        self.seats: dict[int, Seat] = {}
        self.early_cancellations: dict[int, Point] = {}
        """Ids of subscriptions whose cancellation arrived first, with the points of their seats."""
        self._find_root = find_root

    def receive(self, point: Point, message: object) -> Iterable[SeatAction]:
        """Handle a message for a point of this node, and return the actions that it requires."""
        match message:
            case CanSubscribe():
                return self._on_subscribe(message.subscription)
            case CanUnsubscribe():
                return self._on_unsubscribe(point, message.id)
            case FloodDone():
                return self._on_flood_done(self.seats[message.id], message)
            case AdoptRequest():
                return self._on_adopt_request(message)
            case AdoptAccepted() | AdoptRefused():
                return self._on_adopt_reply(self.seats.get(message.id), message)
            case MoveRequest() | RootReplaced():
                return self._on_root_change(point, message)
            case MoveDone():
                return self._on_move_done(self.seats.get(message.root_id), message.id)
            case ReleaseRequest():
                return self._on_release_request(message)
            case ReleaseDone():
                return self._on_release_done(self.seats.get(message.id))
        raise TypeError(f"{message!r} is not a message for seats: see overlay.can.messages")

    def visit(self, id_: int) -> tuple[list[CanSubscription], Iterable[SeatAction]]:
        """Count an event that a replica sent to the seat of its root.

        Returns:
            The subscriptions that the event may match, and the actions that are required.
        """
        seat = self.seats[id_]
        seat.arrived_events += 1
        members = list(seat.members)
        return members, self._finish_if_flushed(seat)

    def extract_owned(self, owns: Callable[[Point], bool]) -> tuple[list[Seat], dict[int, Point]]:
        """Remove and return the seats and early cancellations at points that `owns` accepts."""
        seats = [seat for seat in self.seats.values() if owns(seat.subscription.centre)]
        for seat in seats:
            del self.seats[seat.subscription.id]
        cancelled = {id_: point for id_, point in self.early_cancellations.items() if owns(point)}
        for id_ in cancelled:
            del self.early_cancellations[id_]
        return seats, cancelled

    def insert(self, seats: Iterable[Seat], early_cancellations: dict[int, Point]) -> None:
        """Add seats and early cancellations of another node."""
        self.seats.update({seat.subscription.id: seat for seat in seats})
        self.early_cancellations.update(early_cancellations)

    # A new subscription finds a root or becomes one.

    def _on_subscribe(self, subscription: CanSubscription) -> Iterable[SeatAction]:
        """Create the seat of a subscription, unless it was cancelled already."""
        if self.early_cancellations.pop(subscription.id, None) is not None:
            return [SendToOwner(subscription, SubscriptionAck(subscription.id, False))]
        seat = self.seats[subscription.id] = Seat(subscription)
        return self._find_or_become_root(seat)

    def _find_or_become_root(self, seat: Seat) -> Iterable[SeatAction]:
        """Request adoption by a root, or store replicas to become a root."""
        seat.attempt += 1
        root = self._find_root(seat.subscription, seat.avoided_roots) if self._find_root else None
        if root is None:
            seat.phase, seat.root_id, seat.arrived_events, seat.expected_events = (
                SeatPhase.STORING,
                None,
                0,
                None,
            )
            return [self._start_flood(seat, True)]
        seat.phase, seat.root_id, seat.root_point = SeatPhase.AWAITING_ROOT, root.id, root.centre
        return [RoutedMessage(root.centre, AdoptRequest(seat.subscription, root.id, seat.attempt))]

    def _start_flood(self, seat: Seat, stores: bool) -> StartFlood:
        """Return the action that stores the replicas of a seat, or drops them."""
        seat.flood_number += 1
        return StartFlood(seat.subscription, seat.flood_number, stores)

    def _on_adopt_request(self, message: AdoptRequest) -> Iterable[SeatAction]:
        """Adopt a subscription, at once or when the replicas are stored; or refuse to adopt it."""
        seat, subscription = self.seats.get(message.root_id), message.subscription
        if (
            seat is None
            or not seat.is_subscribed
            or seat.phase not in (SeatPhase.STORING, SeatPhase.ROOT)
        ):
            return [
                RoutedMessage(
                    subscription.centre,
                    AdoptRefused(subscription.id, message.root_id, message.attempt),
                )
            ]
        seat.dependants[subscription.id] = subscription
        seat.pending_adoptions.append((subscription, message.attempt))
        return self._accept_adoptions(seat) if seat.phase is SeatPhase.ROOT else []

    def _accept_adoptions(self, seat: Seat) -> list[SeatAction]:
        """Return the messages that accept all subscriptions which wait for this root."""
        pending, seat.pending_adoptions = seat.pending_adoptions, []
        root_point, root_id = seat.subscription.centre, seat.subscription.id
        return [
            RoutedMessage(
                subscription.centre, AdoptAccepted(subscription.id, root_id, root_point, attempt)
            )
            for subscription, attempt in pending
        ]

    def _on_adopt_reply(
        self, seat: Seat | None, message: AdoptAccepted | AdoptRefused
    ) -> Iterable[SeatAction]:
        """Become a dependant of the root, or look for another one if it refused."""
        if (
            seat is None
            or seat.phase is not SeatPhase.AWAITING_ROOT
            or seat.attempt != message.attempt
        ):
            return []  # a later message has replaced the request
        if isinstance(message, AdoptRefused):
            seat.avoided_roots.add(message.root_id)
            return self._find_or_become_root(seat)
        seat.phase, seat.root_id, seat.root_point = (
            SeatPhase.DEPENDANT,
            message.root_id,
            message.root_point,
        )
        return self._complete_placement(seat)

    def _on_flood_done(self, seat: Seat, message: FloodDone) -> Iterable[SeatAction]:
        """Become a root if replicas were stored; if they were dropped, wait for their events."""
        if message.stores:
            seat.phase = SeatPhase.ROOT
            return self._complete_placement(seat)
        seat.expected_events = message.sent_events
        return self._finish_if_flushed(seat)

    def _complete_placement(self, seat: Seat) -> list[SeatAction]:
        """Finish the placement of a root or dependant.

        Acknowledge it if that was not done before, release its previous roots, and carry out the
        changes that waited.
        """
        actions: list[SeatAction] = []
        if not seat.is_acknowledged:
            seat.is_acknowledged = True
            acknowledgement = SubscriptionAck(seat.subscription.id, True)
            actions.append(SendToOwner(seat.subscription, acknowledgement))
        actions += self._notify_previous_roots(seat)
        seat.avoided_roots.clear()
        if seat.phase is SeatPhase.ROOT:
            actions += self._accept_adoptions(seat)
        return [*actions, *self._continue_pending(seat)]

    def _notify_previous_roots(self, seat: Seat) -> list[SeatAction]:
        """Return messages to previous roots: this subscription no longer needs them."""
        roots, seat.previous_roots = seat.previous_roots, []
        return [RoutedMessage(point, MoveDone(seat.subscription.id, id_)) for id_, point in roots]

    def _continue_pending(self, seat: Seat) -> Iterable[SeatAction]:
        """Carry out the changes that waited until a seat became a root or a dependant.

        A dependant handles a held message about its root; if there is none, its own cancellation. A
        root handles its own cancellation; if it is not cancelled, it adopts the roots within its
        box.
        """
        if seat.phase is SeatPhase.DEPENDANT:
            assert seat.root_id is not None
            if (message := seat.held_messages.pop(seat.root_id, None)) is not None:
                return self._on_root_change(seat.subscription.centre, message)
            return [] if seat.is_subscribed else self._release_from_root(seat)
        return self._demote_others(seat) if seat.is_subscribed else self._close_root(seat)

    # A new root takes over other roots.

    def _demote_others(self, seat: Seat) -> list[SeatAction]:
        """Make other roots of this node dependants of a new root whose box contains their boxes."""
        actions: list[SeatAction] = []
        for other in list(self.seats.values()) if self._find_root else ():
            if (
                other.phase is SeatPhase.ROOT
                and other.is_subscribed
                and other is not seat
                and box_contains(seat.subscription.box, other.subscription.box)
            ):
                actions += self._demote(other, seat)
        return actions

    def _demote(self, seat: Seat, new_root: Seat) -> list[SeatAction]:
        """Move a root and its dependants under a new root, and drop the root's replicas."""
        old, new = seat.subscription, new_root.subscription
        new_root.dependants.update(seat.dependants)
        new_root.dependants[old.id] = old
        seat.phase, seat.root_id, seat.root_point = SeatPhase.DEMOTING, new.id, new.centre
        seat.leaving_dependants = set(seat.dependants)
        messages = [
            RoutedMessage(
                dependant.centre,
                RootReplaced(dependant.id, old.id, old.centre, new.id, new.centre),
            )
            for dependant in seat.dependants.values()
        ]
        return [*messages, self._start_flood(seat, False)]

    # A subscription is cancelled.

    def _on_unsubscribe(self, point: Point, id_: int) -> Iterable[SeatAction]:
        """Cancel a subscription, at once if its seat is stable, otherwise as soon as it is.

        If the seat does not exist yet, the cancellation is stored until the subscription arrives.
        """
        seat = self.seats.get(id_)
        if seat is None:
            self.early_cancellations[id_] = point
            return []
        seat.is_subscribed = False
        return (
            self._continue_pending(seat)
            if seat.phase in (SeatPhase.ROOT, SeatPhase.DEPENDANT)
            else []
        )

    def _release_from_root(self, seat: Seat) -> Iterable[SeatAction]:
        """Return the messages with which a cancelled dependant asks its root to remove it."""
        assert seat.root_id is not None
        seat.phase, seat.pending_releases = SeatPhase.RELEASING, 1
        subscription = seat.subscription
        request = ReleaseRequest(subscription.id, seat.root_id, subscription.centre)
        return [*self._notify_previous_roots(seat), RoutedMessage(seat.root_point, request)]

    def _on_release_request(self, message: ReleaseRequest) -> Iterable[SeatAction]:
        """Remove a cancelled dependant, if this root has it, and confirm the removal."""
        if (seat := self.seats.get(message.root_id)) is not None:
            seat.dependants.pop(message.id, None)
        return [RoutedMessage(message.centre, ReleaseDone(message.id))]

    def _on_release_done(self, seat: Seat | None) -> Iterable[SeatAction]:
        """Remove the seat of a cancelled dependant after the last confirmation."""
        if seat is None:
            return []
        seat.pending_releases -= 1
        return [] if seat.pending_releases else self._remove_seat(seat)

    def _close_root(self, seat: Seat) -> Iterable[SeatAction]:
        """Close a cancelled root: ask its dependants to move; without any, drop its replicas."""
        root = seat.subscription
        seat.phase, seat.leaving_dependants = SeatPhase.CLOSING, set(seat.dependants)
        if not seat.leaving_dependants:
            return self._drop_replicas(seat)
        return [
            RoutedMessage(dependant.centre, MoveRequest(dependant.id, root.id, root.centre))
            for dependant in seat.dependants.values()
        ]

    def _drop_replicas(self, seat: Seat) -> Iterable[SeatAction]:
        """Drop the replicas of a cancelled root."""
        seat.phase = SeatPhase.DROPPING
        return [self._start_flood(seat, False)]

    def _on_move_done(self, seat: Seat | None, id_: int) -> Iterable[SeatAction]:
        """Record that a dependant no longer needs this root.

        After the last dependant, drop the replicas of a cancelled root, or try to finish the seat
        of a former root.
        """
        assert seat is not None
        seat.leaving_dependants.discard(id_)
        if seat.leaving_dependants:
            return []
        return (
            self._drop_replicas(seat)
            if seat.phase is SeatPhase.CLOSING
            else self._finish_if_flushed(seat)
        )

    def _finish_if_flushed(self, seat: Seat) -> Iterable[SeatAction]:
        """Finish a seat if its replicas are dropped and all events that they sent have arrived.

        A cancelled root is removed; a former root becomes a dependant. If the seat must still wait
        for events or for its dependants, nothing is changed.
        """
        if (
            seat.expected_events is None
            or seat.arrived_events < seat.expected_events
            or seat.leaving_dependants
        ):
            return []
        seat.expected_events = None
        if seat.phase is SeatPhase.DROPPING:
            return self._remove_seat(seat)
        seat.dependants.clear()
        seat.phase = SeatPhase.DEPENDANT
        return self._continue_pending(seat)

    def _remove_seat(self, seat: Seat) -> list[SeatAction]:
        """Remove the seat of a cancelled subscription, and acknowledge the cancellation."""
        del self.seats[seat.subscription.id]
        return [SendToOwner(seat.subscription, SubscriptionAck(seat.subscription.id, False))]

    # The root of a dependant is cancelled, or becomes a dependant itself.

    def _on_root_change(
        self, point: Point, message: MoveRequest | RootReplaced
    ) -> Iterable[SeatAction]:
        """Look for another root if the root is cancelled, or change to the new root.

        `point` is the point of the dependant's seat.
        """
        seat = self.seats.get(message.id)
        done = RoutedMessage(message.root_point, MoveDone(message.id, message.root_id))
        if seat is None or seat.phase is SeatPhase.RELEASING:
            if isinstance(message, MoveRequest):
                return [done]
            if seat is not None:
                seat.pending_releases += 1
            request = ReleaseRequest(message.id, message.new_root_id, point)
            return [RoutedMessage(message.new_root_point, request), done]
        if (
            seat.phase not in (SeatPhase.AWAITING_ROOT, SeatPhase.DEPENDANT)
            or seat.root_id != message.root_id
        ):
            # The message that makes `message.root_id` the root of this seat is still in flight.
            seat.held_messages[message.root_id] = message
            return []
        if isinstance(message, MoveRequest):
            if not seat.is_subscribed:
                return [done, *self._release_from_root(seat)]
            seat.previous_roots.append((message.root_id, message.root_point))
            seat.avoided_roots.add(message.root_id)
            return self._find_or_become_root(seat)
        is_new = seat.phase is SeatPhase.AWAITING_ROOT
        seat.attempt += 1
        seat.phase, seat.root_id, seat.root_point = (
            SeatPhase.DEPENDANT,
            message.new_root_id,
            message.new_root_point,
        )
        return [done, *(self._complete_placement(seat) if is_new else self._continue_pending(seat))]


MakeSeats = Callable[[FindRoot | None], Seats]
"""Function that builds the seats of a node; it takes the argument of `Seats`."""


def box_contains(outer: Box, inner: Box) -> bool:
    """Return whether `outer` contains `inner`; both ends of a box belong to it.

    >>> box_contains(((0.0, 0.0), (1.0, 1.0)), ((0.0, 0.5), (0.5, 1.0)))
    True
    """
    return all(a <= b for a, b in zip(outer[0], inner[0], strict=True)) and all(
        a >= b for a, b in zip(outer[1], inner[1], strict=True)
    )
