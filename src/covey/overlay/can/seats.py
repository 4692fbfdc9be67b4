"""Where subscriptions of a CAN are kept, and how each finds its place and leaves it.

A subscription has a seat at the centre of its box, with whoever owns that point. It is a *root*,
with a replica in every zone that its box meets; or (SMART) it is a *dependant*, kept at the seat of
a root whose box contains its own, and nowhere else. Events visit the seats of the roots that they
hit. All that happens to a subscription is in the hands of its seat, one thing after another.

What is there before it is needed, and goes only when it is needed no more: a root that is cancelled
keeps its dependants until each is settled elsewhere, and then until all events have arrived that
its replicas sent; these are counted. So a subscription that was acknowledged misses nothing,
whatever comes and goes around it. The paper drops first, and lets dependants excuse each other:
`covey.overlay.can.printed`. (papers: can)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from covey.overlay.can.messages import (
    Acknowledged,
    Adopt,
    Adopted,
    Flooded,
    Move,
    Moved,
    Refused,
    Release,
    Released,
    Reparented,
    Routed,
    Subscribe,
    Subscription,
    Unsubscribe,
)
from covey.overlay.can.zones import Box, Point

__all__ = ["Action", "Find", "Phase", "Seat", "Seats", "Start", "ToOwner", "contains"]

Find = Callable[[Subscription, set[int]], Subscription | None]


@dataclass(frozen=True, slots=True)
class Start:
    """A flood is to start: replicas are made or removed."""

    subscription: Subscription
    number: int
    stores: bool


@dataclass(frozen=True, slots=True)
class ToOwner:
    """Something for the node whose client subscribed."""

    subscription: Subscription
    message: Acknowledged


Action = Routed | Start | ToOwner


class Phase(Enum):
    """What a seat is busy with; a root or a dependant waits for what comes."""

    STORING = auto()  # replicas are made
    PLACING = auto()  # a root was asked
    ROOT = auto()
    DEPENDANT = auto()
    DEMOTING = auto()  # it came under another root, and its replicas are removed
    CLOSING = auto()  # a cancelled root: dependants look for other places
    DROPPING = auto()  # a cancelled root: replicas are removed
    RELEASING = auto()  # a cancelled dependant


@dataclass(slots=True)
class Seat:
    """All that is known of one subscription, and what depends on it."""

    subscription: Subscription
    phase: Phase = Phase.PLACING
    wanted: bool = True
    acknowledged: bool = False
    root: int | None = None  # of a dependant; of one that is placing whom it asked
    root_at: Point = ()
    dependants: dict[int, Subscription] = field(default_factory=dict)
    awaiting: list[tuple[Subscription, int]] = field(default_factory=list)
    leaving: set[int] = field(default_factory=set)
    left: list[tuple[int, Point]] = field(default_factory=list)
    avoid: set[int] = field(default_factory=set)
    attempt: int = 0
    flood: int = 0
    arrived: int = 0
    expected: int | None = None
    held: dict[int, Move | Reparented] = field(default_factory=dict)
    releases: int = 0

    @property
    def members(self) -> Iterator[Subscription]:
        """All that an event may be for that comes here."""
        yield self.subscription
        yield from self.dependants.values()


class Seats:
    """The seats of one node.

    `find` gives a replica whose box contains a subscription's, if there is one that is not to be
    avoided; without it (PURE) all are roots.
    """

    def __init__(self, find: Find | None) -> None:
        self.seats: dict[int, Seat] = {}
        self.cancelled: dict[int, Point] = {}
        """Who was cancelled and has not arrived yet, and where it will."""
        self._find = find

    def receive(self, point: Point, message: Any) -> Iterable[Action]:
        """Handles what came to a point of this node."""
        match message:
            case Subscribe():
                return self._subscribed(message.subscription)
            case Unsubscribe():
                return self._unsubscribed(point, message.id)
            case Flooded():
                return self._flooded(self.seats[message.id], message)
            case Adopt():
                return self._adopt(message)
            case Adopted() | Refused():
                return self._answered(self.seats.get(message.id), message)
            case Move() | Reparented():
                return self._uprooted(point, message)
            case Moved():
                return self._moved(self.seats.get(message.root), message.id)
            case Release():
                return self._release(message)
            case Released():
                return self._released(self.seats.get(message.id))
        raise TypeError(f"no seat understands {message!r}")

    def visit(self, id_: int) -> tuple[list[Subscription], Iterable[Action]]:
        """An event comes to a root's seat: whom it may be for, and what follows."""
        seat = self.seats[id_]
        seat.arrived += 1
        members = list(seat.members)
        return members, self._flushed(seat)

    def within(self, owns: Callable[[Point], bool]) -> tuple[list[Seat], dict[int, Point]]:
        """Takes out what is at points of a zone, for its new owner."""
        seats = [seat for seat in self.seats.values() if owns(seat.subscription.centre)]
        for seat in seats:
            del self.seats[seat.subscription.id]
        cancelled = {id_: point for id_, point in self.cancelled.items() if owns(point)}
        for id_ in cancelled:
            del self.cancelled[id_]
        return seats, cancelled

    def put(self, seats: Iterable[Seat], cancelled: dict[int, Point]) -> None:
        """Takes over seats."""
        self.seats.update({seat.subscription.id: seat for seat in seats})
        self.cancelled.update(cancelled)

    # A subscription comes, and finds its place.

    def _subscribed(self, subscription: Subscription) -> Iterable[Action]:
        if self.cancelled.pop(subscription.id, None) is not None:
            return [ToOwner(subscription, Acknowledged(subscription.id, False))]
        seat = self.seats[subscription.id] = Seat(subscription)
        return self._place(seat)

    def _place(self, seat: Seat) -> Iterable[Action]:
        """Asks a root, or becomes one."""
        seat.attempt += 1
        root = self._find(seat.subscription, seat.avoid) if self._find else None
        if root is None:
            seat.phase, seat.root, seat.arrived, seat.expected = Phase.STORING, None, 0, None
            return [self._start(seat, True)]
        seat.phase, seat.root, seat.root_at = Phase.PLACING, root.id, root.centre
        return [Routed(root.centre, Adopt(seat.subscription, root.id, seat.attempt))]

    def _start(self, seat: Seat, stores: bool) -> Start:
        seat.flood += 1
        return Start(seat.subscription, seat.flood, stores)

    def _adopt(self, message: Adopt) -> Iterable[Action]:
        seat, asks = self.seats.get(message.root), message.subscription
        if seat is None or not seat.wanted or seat.phase not in (Phase.STORING, Phase.ROOT):
            return [Routed(asks.centre, Refused(asks.id, message.root, message.attempt))]
        seat.dependants[asks.id] = asks
        seat.awaiting.append((asks, message.attempt))
        return self._answers(seat) if seat.phase is Phase.ROOT else []

    def _answers(self, seat: Seat) -> list[Action]:
        """Tells those who asked that this is a root now."""
        waiting, seat.awaiting = seat.awaiting, []
        here, id_ = seat.subscription.centre, seat.subscription.id
        return [
            Routed(asked.centre, Adopted(asked.id, id_, here, attempt))
            for asked, attempt in waiting
        ]

    def _answered(self, seat: Seat | None, message: Adopted | Refused) -> Iterable[Action]:
        if seat is None or seat.phase is not Phase.PLACING or seat.attempt != message.attempt:
            return []  # it was told otherwise meanwhile
        if isinstance(message, Refused):
            seat.avoid.add(message.root)
            return self._place(seat)
        seat.phase, seat.root, seat.root_at = Phase.DEPENDANT, message.root, message.at
        return self._settled(seat)

    def _flooded(self, seat: Seat, message: Flooded) -> Iterable[Action]:
        if message.stores:
            seat.phase = Phase.ROOT
            return self._settled(seat)
        seat.expected = message.sent
        return self._flushed(seat)

    def _settled(self, seat: Seat) -> list[Action]:
        """A root or a dependant, from now on."""
        actions: list[Action] = []
        if not seat.acknowledged:
            seat.acknowledged = True
            told = Acknowledged(seat.subscription.id, True)
            actions.append(ToOwner(seat.subscription, told))
        actions += self._left(seat)
        seat.avoid.clear()
        if seat.phase is Phase.ROOT:
            actions += self._answers(seat)
        return [*actions, *self._next(seat)]

    def _left(self, seat: Seat) -> list[Action]:
        """Tells the roots that it was under that it needs them no more."""
        left, seat.left = seat.left, []
        return [Routed(at, Moved(seat.subscription.id, root)) for root, at in left]

    def _next(self, seat: Seat) -> Iterable[Action]:
        """What waits to be done with a root or a dependant."""
        if seat.phase is Phase.DEPENDANT:
            assert seat.root is not None
            if (held := seat.held.pop(seat.root, None)) is not None:
                return self._uprooted(seat.subscription.centre, held)
            return [] if seat.wanted else self._leave(seat)
        return self._demote_others(seat) if seat.wanted else self._close(seat)

    # A root comes over others.

    def _demote_others(self, seat: Seat) -> list[Action]:
        """All roots of this node whose boxes are within that of a new one become its dependants."""
        actions: list[Action] = []
        for other in list(self.seats.values()) if self._find else ():
            if (
                other.phase is Phase.ROOT
                and other.wanted
                and other is not seat
                and contains(seat.subscription.box, other.subscription.box)
            ):
                actions += self._demote(other, seat)
        return actions

    def _demote(self, seat: Seat, over: Seat) -> list[Action]:
        here, above = seat.subscription, over.subscription
        over.dependants.update(seat.dependants)
        over.dependants[here.id] = here
        seat.phase, seat.root, seat.root_at = Phase.DEMOTING, above.id, above.centre
        seat.leaving = set(seat.dependants)
        told = [
            Routed(one.centre, Reparented(one.id, here.id, here.centre, above.id, above.centre))
            for one in seat.dependants.values()
        ]
        return [*told, self._start(seat, False)]

    # A subscription is cancelled.

    def _unsubscribed(self, point: Point, id_: int) -> Iterable[Action]:
        seat = self.seats.get(id_)
        if seat is None:
            self.cancelled[id_] = point
            return []
        seat.wanted = False
        return self._next(seat) if seat.phase in (Phase.ROOT, Phase.DEPENDANT) else []

    def _leave(self, seat: Seat) -> Iterable[Action]:
        """A cancelled dependant tells its root."""
        assert seat.root is not None
        seat.phase, seat.releases = Phase.RELEASING, 1
        one = seat.subscription
        return [*self._left(seat), Routed(seat.root_at, Release(one.id, seat.root, one.centre))]

    def _release(self, message: Release) -> Iterable[Action]:
        if (seat := self.seats.get(message.root)) is not None:
            seat.dependants.pop(message.id, None)
        return [Routed(message.centre, Released(message.id))]

    def _released(self, seat: Seat | None) -> Iterable[Action]:
        if seat is None:
            return []
        seat.releases -= 1
        return [] if seat.releases else self._end(seat)

    def _close(self, seat: Seat) -> Iterable[Action]:
        """A cancelled root tells its dependants, and waits for them."""
        here = seat.subscription
        seat.phase, seat.leaving = Phase.CLOSING, set(seat.dependants)
        if not seat.leaving:
            return self._drop(seat)
        return [
            Routed(one.centre, Move(one.id, here.id, here.centre))
            for one in seat.dependants.values()
        ]

    def _drop(self, seat: Seat) -> Iterable[Action]:
        seat.phase = Phase.DROPPING
        return [self._start(seat, False)]

    def _moved(self, seat: Seat | None, id_: int) -> Iterable[Action]:
        """A dependant needs this root no more."""
        assert seat is not None
        seat.leaving.discard(id_)
        if seat.leaving:
            return []
        return self._drop(seat) if seat.phase is Phase.CLOSING else self._flushed(seat)

    def _flushed(self, seat: Seat) -> Iterable[Action]:
        """Whether its replicas are gone, and all events have arrived that they sent."""
        if seat.expected is None or seat.arrived < seat.expected or seat.leaving:
            return []
        seat.expected = None
        if seat.phase is Phase.DROPPING:
            return self._end(seat)
        seat.dependants.clear()
        seat.phase = Phase.DEPENDANT
        return self._next(seat)

    def _end(self, seat: Seat) -> list[Action]:
        del self.seats[seat.subscription.id]
        return [ToOwner(seat.subscription, Acknowledged(seat.subscription.id, False))]

    # A dependant hears that its root goes, or came under another.

    def _uprooted(self, point: Point, message: Move | Reparented) -> Iterable[Action]:
        seat = self.seats.get(message.id)
        done = Routed(message.at, Moved(message.id, message.root))
        if seat is None or seat.phase is Phase.RELEASING:
            if isinstance(message, Move):
                return [done]
            if seat is not None:
                seat.releases += 1
            there = Release(message.id, message.new_root, point)
            return [Routed(message.new_at, there), done]
        if seat.phase not in (Phase.PLACING, Phase.DEPENDANT) or seat.root != message.root:
            seat.held[message.root] = message  # it will be the root: that message is on its way
            return []
        if isinstance(message, Move):
            if not seat.wanted:
                return [done, *self._leave(seat)]
            seat.left.append((message.root, message.at))
            seat.avoid.add(message.root)
            return self._place(seat)
        is_new = seat.phase is Phase.PLACING
        seat.attempt += 1
        seat.phase, seat.root, seat.root_at = Phase.DEPENDANT, message.new_root, message.new_at
        return [done, *(self._settled(seat) if is_new else self._next(seat))]


def contains(outer: Box, inner: Box) -> bool:
    """Whether one box has all of another.

    >>> contains(((0.0, 0.0), (1.0, 1.0)), ((0.0, 0.5), (0.5, 1.0)))
    True
    """
    return all(a <= b for a, b in zip(outer[0], inner[0], strict=True)) and all(
        a >= b for a, b in zip(outer[1], inner[1], strict=True)
    )
