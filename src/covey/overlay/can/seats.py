"""Where subscriptions of a CAN are kept, and how each finds its place and leaves it.

A subscription has a seat at the centre of its box, with whoever owns that point. It is a *root*,
with a replica in every zone that its box meets; or (SMART) it is a *dependant*, kept at the seat of
a root whose box contains its own, and nowhere else. Events visit the seats of the roots that they
hit. All that happens to a subscription is in the hands of its seat, one thing after another.

What is there before it is needed, and goes only when it is needed no more: a root that is cancelled
keeps its dependants until each is settled elsewhere, and then until all events have arrived that
its replicas sent; these are counted. So a subscription that was acknowledged misses nothing,
whatever comes and goes around it. The paper drops first, and lets dependants excuse each other:
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


@dataclass(frozen=True, slots=True)
class StartFlood:
    """A flood is to start: replicas are made or removed."""

    subscription: CanSubscription
    flood_number: int
    stores: bool


@dataclass(frozen=True, slots=True)
class SendToOwner:
    """Something for the node whose client subscribed."""

    subscription: CanSubscription
    message: SubscriptionAck


SeatAction = RoutedMessage | StartFlood | SendToOwner


class SeatPhase(Enum):
    """What a seat is busy with; a root or a dependant waits for what comes."""

    STORING = auto()  # replicas are made
    AWAITING_ROOT = auto()  # a root was asked
    ROOT = auto()
    DEPENDANT = auto()
    DEMOTING = auto()  # it came under another root, and its replicas are removed
    CLOSING = auto()  # a cancelled root: dependants look for other places
    DROPPING = auto()  # a cancelled root: replicas are removed
    RELEASING = auto()  # a cancelled dependant


@dataclass(slots=True)
class Seat:
    """All that is known of one subscription, and what depends on it."""

    subscription: CanSubscription
    phase: SeatPhase = SeatPhase.AWAITING_ROOT
    is_subscribed: bool = True
    is_acknowledged: bool = False
    root_id: int | None = None  # of a dependant; of one that is placing whom it asked
    root_point: Point = ()
    dependants: dict[int, CanSubscription] = field(default_factory=dict)
    pending_adoptions: list[tuple[CanSubscription, int]] = field(default_factory=list)
    leaving_dependants: set[int] = field(default_factory=set)
    previous_roots: list[tuple[int, Point]] = field(default_factory=list)
    avoided_roots: set[int] = field(default_factory=set)
    attempt: int = 0
    flood_number: int = 0
    arrived_events: int = 0
    expected_events: int | None = None
    held_messages: dict[int, MoveRequest | RootReplaced] = field(default_factory=dict)
    pending_releases: int = 0

    @property
    def members(self) -> Iterator[CanSubscription]:
        """All that an event may be for that comes here."""
        yield self.subscription
        yield from self.dependants.values()


class Seats:
    """The seats of one node.

    `find` gives a replica whose box contains a subscription's, if there is one that is not to be
    avoided; without it (PURE) all are roots.
    """

    def __init__(self, find_root: FindRoot | None) -> None:
        self.seats: dict[int, Seat] = {}
        self.early_cancellations: dict[int, Point] = {}
        """Who was cancelled and has not arrived yet, and where it will."""
        self._find_root = find_root

    def receive(self, point: Point, message: object) -> Iterable[SeatAction]:
        """Handles what came to a point of this node."""
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
        raise TypeError(f"no seat understands {message!r}")

    def visit(self, id_: int) -> tuple[list[CanSubscription], Iterable[SeatAction]]:
        """An event comes to a root's seat: whom it may be for, and what follows."""
        seat = self.seats[id_]
        seat.arrived_events += 1
        members = list(seat.members)
        return members, self._finish_if_flushed(seat)

    def extract_owned(self, owns: Callable[[Point], bool]) -> tuple[list[Seat], dict[int, Point]]:
        """Takes out what is at points of a zone, for its new owner."""
        seats = [seat for seat in self.seats.values() if owns(seat.subscription.centre)]
        for seat in seats:
            del self.seats[seat.subscription.id]
        cancelled = {id_: point for id_, point in self.early_cancellations.items() if owns(point)}
        for id_ in cancelled:
            del self.early_cancellations[id_]
        return seats, cancelled

    def insert(self, seats: Iterable[Seat], early_cancellations: dict[int, Point]) -> None:
        """Takes over seats."""
        self.seats.update({seat.subscription.id: seat for seat in seats})
        self.early_cancellations.update(early_cancellations)

    # A subscription comes, and finds its place.

    def _on_subscribe(self, subscription: CanSubscription) -> Iterable[SeatAction]:
        if self.early_cancellations.pop(subscription.id, None) is not None:
            return [SendToOwner(subscription, SubscriptionAck(subscription.id, False))]
        seat = self.seats[subscription.id] = Seat(subscription)
        return self._find_or_become_root(seat)

    def _find_or_become_root(self, seat: Seat) -> Iterable[SeatAction]:
        """Asks a root, or becomes one."""
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
        seat.flood_number += 1
        return StartFlood(seat.subscription, seat.flood_number, stores)

    def _on_adopt_request(self, message: AdoptRequest) -> Iterable[SeatAction]:
        seat, asks = self.seats.get(message.root_id), message.subscription
        if (
            seat is None
            or not seat.is_subscribed
            or seat.phase not in (SeatPhase.STORING, SeatPhase.ROOT)
        ):
            return [
                RoutedMessage(asks.centre, AdoptRefused(asks.id, message.root_id, message.attempt))
            ]
        seat.dependants[asks.id] = asks
        seat.pending_adoptions.append((asks, message.attempt))
        return self._accept_adoptions(seat) if seat.phase is SeatPhase.ROOT else []

    def _accept_adoptions(self, seat: Seat) -> list[SeatAction]:
        """Tells those who asked that this is a root now."""
        waiting, seat.pending_adoptions = seat.pending_adoptions, []
        here, id_ = seat.subscription.centre, seat.subscription.id
        return [
            RoutedMessage(asked.centre, AdoptAccepted(asked.id, id_, here, attempt))
            for asked, attempt in waiting
        ]

    def _on_adopt_reply(
        self, seat: Seat | None, message: AdoptAccepted | AdoptRefused
    ) -> Iterable[SeatAction]:
        if (
            seat is None
            or seat.phase is not SeatPhase.AWAITING_ROOT
            or seat.attempt != message.attempt
        ):
            return []  # it was told otherwise meanwhile
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
        if message.stores:
            seat.phase = SeatPhase.ROOT
            return self._complete_placement(seat)
        seat.expected_events = message.sent_events
        return self._finish_if_flushed(seat)

    def _complete_placement(self, seat: Seat) -> list[SeatAction]:
        """A root or a dependant, from now on."""
        actions: list[SeatAction] = []
        if not seat.is_acknowledged:
            seat.is_acknowledged = True
            told = SubscriptionAck(seat.subscription.id, True)
            actions.append(SendToOwner(seat.subscription, told))
        actions += self._notify_previous_roots(seat)
        seat.avoided_roots.clear()
        if seat.phase is SeatPhase.ROOT:
            actions += self._accept_adoptions(seat)
        return [*actions, *self._continue_pending(seat)]

    def _notify_previous_roots(self, seat: Seat) -> list[SeatAction]:
        """Tells the roots that it was under that it needs them no more."""
        left, seat.previous_roots = seat.previous_roots, []
        return [RoutedMessage(at, MoveDone(seat.subscription.id, root)) for root, at in left]

    def _continue_pending(self, seat: Seat) -> Iterable[SeatAction]:
        """What waits to be done with a root or a dependant."""
        if seat.phase is SeatPhase.DEPENDANT:
            assert seat.root_id is not None
            if (held := seat.held_messages.pop(seat.root_id, None)) is not None:
                return self._on_root_change(seat.subscription.centre, held)
            return [] if seat.is_subscribed else self._release_from_root(seat)
        return self._demote_others(seat) if seat.is_subscribed else self._close_root(seat)

    # A root comes over others.

    def _demote_others(self, seat: Seat) -> list[SeatAction]:
        """All roots of this node whose boxes are within that of a new one become its dependants."""
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
        here, above = seat.subscription, new_root.subscription
        new_root.dependants.update(seat.dependants)
        new_root.dependants[here.id] = here
        seat.phase, seat.root_id, seat.root_point = SeatPhase.DEMOTING, above.id, above.centre
        seat.leaving_dependants = set(seat.dependants)
        told = [
            RoutedMessage(
                one.centre, RootReplaced(one.id, here.id, here.centre, above.id, above.centre)
            )
            for one in seat.dependants.values()
        ]
        return [*told, self._start_flood(seat, False)]

    # A subscription is cancelled.

    def _on_unsubscribe(self, point: Point, id_: int) -> Iterable[SeatAction]:
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
        """A cancelled dependant tells its root."""
        assert seat.root_id is not None
        seat.phase, seat.pending_releases = SeatPhase.RELEASING, 1
        one = seat.subscription
        return [
            *self._notify_previous_roots(seat),
            RoutedMessage(seat.root_point, ReleaseRequest(one.id, seat.root_id, one.centre)),
        ]

    def _on_release_request(self, message: ReleaseRequest) -> Iterable[SeatAction]:
        if (seat := self.seats.get(message.root_id)) is not None:
            seat.dependants.pop(message.id, None)
        return [RoutedMessage(message.centre, ReleaseDone(message.id))]

    def _on_release_done(self, seat: Seat | None) -> Iterable[SeatAction]:
        if seat is None:
            return []
        seat.pending_releases -= 1
        return [] if seat.pending_releases else self._remove_seat(seat)

    def _close_root(self, seat: Seat) -> Iterable[SeatAction]:
        """A cancelled root tells its dependants, and waits for them."""
        here = seat.subscription
        seat.phase, seat.leaving_dependants = SeatPhase.CLOSING, set(seat.dependants)
        if not seat.leaving_dependants:
            return self._drop_replicas(seat)
        return [
            RoutedMessage(one.centre, MoveRequest(one.id, here.id, here.centre))
            for one in seat.dependants.values()
        ]

    def _drop_replicas(self, seat: Seat) -> Iterable[SeatAction]:
        seat.phase = SeatPhase.DROPPING
        return [self._start_flood(seat, False)]

    def _on_move_done(self, seat: Seat | None, id_: int) -> Iterable[SeatAction]:
        """A dependant needs this root no more."""
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
        """Whether its replicas are gone, and all events have arrived that they sent."""
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
        del self.seats[seat.subscription.id]
        return [SendToOwner(seat.subscription, SubscriptionAck(seat.subscription.id, False))]

    # A dependant hears that its root goes, or came under another.

    def _on_root_change(
        self, point: Point, message: MoveRequest | RootReplaced
    ) -> Iterable[SeatAction]:
        seat = self.seats.get(message.id)
        done = RoutedMessage(message.root_point, MoveDone(message.id, message.root_id))
        if seat is None or seat.phase is SeatPhase.RELEASING:
            if isinstance(message, MoveRequest):
                return [done]
            if seat is not None:
                seat.pending_releases += 1
            there = ReleaseRequest(message.id, message.new_root_id, point)
            return [RoutedMessage(message.new_root_point, there), done]
        if (
            seat.phase not in (SeatPhase.AWAITING_ROOT, SeatPhase.DEPENDANT)
            or seat.root_id != message.root_id
        ):
            seat.held_messages[message.root_id] = (
                message  # it will be the root: that message is on its way
            )
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
"""The rules of a node: its seats, from what finds roots."""


def box_contains(outer: Box, inner: Box) -> bool:
    """Whether one box has all of another.

    >>> box_contains(((0.0, 0.0), (1.0, 1.0)), ((0.0, 0.5), (0.5, 1.0)))
    True
    """
    return all(a <= b for a, b in zip(outer[0], inner[0], strict=True)) and all(
        a >= b for a, b in zip(outer[1], inner[1], strict=True)
    )
