"""A node of a CAN: zones, neighbours, routing; joins and leaves. (papers: can)

Who joins gets half of a zone and all that belongs to it in one message, and so does who takes over
from one that leaves. From that message on the other one owns it; the old owner forwards. What comes
to a node that has no zone yet waits. Leaves are to be one at a time; joins may be any number.

What subscriptions and events do is `covey.overlay.can.seats` and `.floods`; this is where they are
carried out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from covey.overlay.can.beliefs import Beliefs, touch
from covey.overlay.can.floods import Floods
from covey.overlay.can.messages import (
    Acknowledged,
    AtHomes,
    Claim,
    Claims,
    Delivered,
    Echo,
    Event,
    Flood,
    Flooded,
    Handoff,
    Join,
    JoinAt,
    Leave,
    Notify,
    Publish,
    Routed,
    Subscribe,
    Subscription,
    Unsubscribe,
)
from covey.overlay.can.printed import PrintedSeats
from covey.overlay.can.replicas import Replica, Replicas
from covey.overlay.can.seats import Action, Seat, Seats, Start, ToOwner
from covey.overlay.can.zones import Point, Zone, meets_any, nearness, united
from covey.overlay.simulator import OUTSIDE, Name, Sends

__all__ = ["CanNode", "Matches"]

Matches = Callable[[int, Sequence[int]], Sequence[bool]]
"""Whether subscriptions, by row, match an event, by number."""


@dataclass(frozen=True, slots=True)
class _State:
    """What goes with zones that are given away, in part or as a whole."""

    replicas: list[Replica]
    seats: list[Seat]
    cancelled: dict[int, Point]
    seen: set[tuple[int, int]]
    beliefs: Beliefs
    pointers: list[tuple[Zone, Name]]
    clients: dict[int, Subscription]
    inherited: set[Name]


class CanNode:
    """One node. The first has the whole cube; others are told to `Join`."""

    def __init__(
        self, name: Name, matches: Matches, zones: Sequence[Zone] = (), smart: bool = True,
        printed: bool = False,
    ) -> None:  # fmt: skip
        self.name, self.zones, self.smart = name, tuple(zones), smart
        self.version = 1
        self.replicas = Replicas()
        self.beliefs = Beliefs()
        seats = PrintedSeats if printed else Seats
        self.seats = seats(self.replicas.covering if smart else None)
        self.floods = Floods(name)
        self.clients: dict[int, Subscription] = {}
        """The subscriptions that clients of this node have and did not cancel."""
        self.heir: Name | None = None
        self._matches = matches
        self._pointers: list[tuple[Zone, Name]] = []
        self._inherited: set[Name] = set()
        self._early: list[tuple[Name, Any]] = []
        self._out: list[tuple[Name, Any]] = []
        self._here: deque[tuple[Point, Any]] = deque()

    def receive(self, sender: Name, message: Any) -> Sends:
        """Handles a message; gives messages and who gets them."""
        self._handle(sender, message)
        while self._here:
            self._at(*self._here.popleft())
        out, self._out = self._out, []
        return out

    def owns(self, point: Point) -> bool:
        """Whether a point is in one of its zones."""
        return any(zone.contains(point) for zone in self.zones)

    def _handle(self, sender: Name, message: Any) -> None:
        if self.heir is not None:
            self._forward(sender, message)
        elif isinstance(message, Handoff):
            self._take(sender, message)
        elif isinstance(message, Join):
            self._send(message.contact, Routed(message.point, JoinAt(self.name)))
        elif not self.zones:
            self._early.append((sender, message))
        else:
            self._understand(sender, message)

    def _understand(self, sender: Name, message: Any) -> None:
        match message:
            case Routed():
                self._route(message.point, message.body)
            case Flood():
                self._flood(message)
            case Echo():
                self._echoed(message)
            case Claims():
                self._hear(message)
            case AtHomes():
                self._at_homes(message)
            case Notify():
                self._notify(message)
            case Acknowledged():
                self._send(OUTSIDE, message)
            case Subscribe():
                one = message.subscription
                self.clients[one.id] = one
                self._route(one.centre, message)
            case Unsubscribe():
                if (found := self.clients.pop(message.id, None)) is not None:
                    self._route(found.centre, message)
            case Publish():
                self._route(message.point, Event(message.event, message.point))
            case Leave():
                self._leave()
            case _:
                raise TypeError(f"no node understands {message!r}")

    # Routing.

    def _route(self, point: Point, body: Any) -> None:
        """To whoever owns a point: here, or a step nearer."""
        if self.owns(point):
            self._here.append((point, body))
        else:
            self._send(self._towards(point), Routed(point, body))

    def _towards(self, point: Point) -> Name:
        """The nearest neighbour, or who was given a zone that is nearer.

        Zones that were given away count, as others may believe that they are here still, and have
        sent this because of them.
        """
        given = [(zone.distance(point), name) for zone, name in self._pointers]
        theirs = [
            (nearness(claim.zones, point), name) for name, claim in self.beliefs.neighbours.items()
        ]
        return min([*given, *theirs], key=itemgetter(0))[1]

    def _at(self, point: Point, body: Any) -> None:
        """Something for a point of this node; that may have changed while it waited."""
        if not self.owns(point):
            self._route(point, body)
            return
        match body:
            case JoinAt():
                self._split(point, body.node)
            case Event():
                self._event(body)
            case AtHomes():
                self._at_homes(body)
            case _:
                self._act(self.seats.receive(point, body))

    def _act(self, actions: Iterable[Action]) -> None:
        for action in actions:
            match action:
                case Routed():
                    self._route(action.point, action.body)
                case Start():
                    self._flood(
                        Flood(action.subscription, action.number, action.stores, self.name, None, 0)
                    )
                case ToOwner():
                    self._to(action.subscription.owner, action.message)

    def _to(self, name: Name, message: Any) -> None:
        """To a node, which may be this one."""
        if name == self.name:
            self._understand(self.name, message)
        else:
            self._send(name, message)

    def _send(self, name: Name, message: Any) -> None:
        self._out.append((name, message))

    # Floods.

    def _flood(self, flood: Flood) -> None:
        if not self.floods.is_new(flood):
            self._to(flood.reply_to, Echo(flood.token, 0))
            return
        one, sent = flood.subscription, 0
        if not flood.stores:
            sent = self.replicas.drop(one.id)
        elif meets_any(self.zones, one.box):
            self.replicas.store(one, flood.home)
        told, answer = self.floods.ask(flood, self._others(flood), sent)
        self._out += told
        if answer is not None:
            self._answer(flood, answer)

    def _others(self, flood: Flood) -> list[Name]:
        """The neighbours that must hear of a flood, and those who were given zones that must."""
        box, known = flood.subscription.box, self.beliefs.neighbours
        others = [name for name, claim in known.items() if meets_any(claim.zones, box)]
        others += [name for zone, name in self._pointers if zone.meets(box)]
        return [n for n in dict.fromkeys(others) if n not in (flood.reply_to, self.name)]

    def _echoed(self, echo: Echo) -> None:
        if (done := self.floods.answered(echo)) is not None:
            self._answer(*done)

    def _answer(self, flood: Flood, answer: Echo | Flooded) -> None:
        if isinstance(answer, Flooded):
            self._route(flood.subscription.centre, answer)
        else:
            self._to(flood.reply_to, answer)

    # Events.

    def _event(self, event: Event) -> None:
        """An event at its point: told to subscribers (PURE), or to the homes of roots (SMART)."""
        found = list(self.replicas.at(event.point))
        if not self.smart:
            self._tell(event.event, [replica.subscription for replica in found])
            return
        homes: dict[Name, list[tuple[int, Point]]] = {}
        for replica in found:
            replica.sent += 1
            one = replica.subscription
            homes.setdefault(replica.home, []).append((one.id, one.centre))
        for home, seats in homes.items():
            self._to(home, AtHomes(event.event, tuple(seats)))

    def _at_homes(self, message: AtHomes) -> None:
        for id_, centre in message.seats:
            if self.owns(centre):
                members, actions = self.seats.visit(id_)
                self._tell(message.event, members)
                self._act(actions)
            else:
                self._route(centre, AtHomes(message.event, ((id_, centre),)))

    def _tell(self, event: int, candidates: Sequence[Subscription]) -> None:
        """Tells the owners of those that match, exactly."""
        if not candidates:
            return
        matches = self._matches(event, [one.row for one in candidates])
        for one, does in zip(candidates, matches, strict=True):
            if does:
                self._to(one.owner, Notify(event, one.id))

    def _notify(self, message: Notify) -> None:
        """To the client, unless it cancelled."""
        if message.subscription in self.clients:
            self._send(OUTSIDE, Delivered(message.event, message.subscription))

    # Joins and leaves.

    @property
    def claim(self) -> Claim:
        """What it owns."""
        return Claim(self.version, self.zones)

    def _split(self, point: Point, node: Name) -> None:
        """Gives half of a zone to a new node."""
        zone = next(zone for zone in self.zones if zone.contains(point))
        kept, half = zone.halves()
        given = half.handed_over()
        before = list(self.beliefs.neighbours)
        self.zones = tuple(kept if one == zone else one for one in self.zones)
        self.version += 1
        claims = Claims({self.name: self.claim, node: Claim(1, (given,))}, frozenset())
        beliefs = Beliefs(self.beliefs.known | {self.name: self.claim})
        seats, cancelled = self.seats.within(given.contains)
        replicas = self.replicas.split(self.zones, [given])
        state = _State(replicas, seats, cancelled, set(self.floods.seen), beliefs, [], {}, set())
        self._send(node, Handoff((given,), state))
        self._pointers = newest(self.zones, [*self._pointers, (given, node)])
        self.beliefs.add(claims.claims)
        self.beliefs.known.pop(self.name)
        self.beliefs.seen_from(self.zones)
        for name in before:
            self._send(name, claims)

    def _leave(self) -> None:
        """Gives everything to a neighbour: one whose zone becomes a box with it, or a small one."""
        if not self.beliefs.neighbours:
            raise TypeError("the last node cannot leave")
        self.heir = min(self.beliefs.neighbours, key=self._burden)
        seats, cancelled = self.seats.within(lambda _: True)
        state = _State(
            list(self.replicas.by_id.values()), seats, cancelled, self.floods.seen, self.beliefs,
            self._pointers, self.clients, self._inherited,
        )  # fmt: skip
        self._send(self.heir, Handoff(tuple(zone.handed_over() for zone in self.zones), state))
        self.zones, self.replicas, self.clients = (), Replicas(), {}

    def _burden(self, name: Name) -> tuple[int, float]:
        theirs = self.beliefs.neighbours[name].zones
        return len(united([*self.zones, *theirs])), sum(zone.volume for zone in theirs)

    def _take(self, sender: Name, handoff: Handoff) -> None:
        """Takes over zones and all that belongs to them: a first one, or those of one that left."""
        state: _State = handoff.state
        is_first = not self.zones
        self.floods.seen = state.seen if is_first else self.floods.seen & state.seen
        before = list(self.beliefs.neighbours)
        self.zones = united([*self.zones, *handoff.zones])
        self.replicas.merge(state.replicas)
        self.seats.put(state.seats, state.cancelled)
        self.clients.update(state.clients)
        if not is_first:
            self._inherited |= {sender, *state.inherited}
        self._pointers = newest(self.zones, [*self._pointers, *state.pointers])
        self.beliefs.add(state.beliefs.known)
        for name in (self.name, *self._inherited):
            self.beliefs.known.pop(name, None)
        self.beliefs.seen_from(self.zones)
        if not is_first:
            self.version += 1
            for name in dict.fromkeys([*before, *self.beliefs.neighbours]):
                if name not in self._inherited:
                    self._send(name, self._claims())
        early, self._early = self._early, []
        for who, message in early:
            self._handle(who, message)

    def _claims(self) -> Claims:
        return Claims({self.name: self.claim}, frozenset(self._inherited))

    def _hear(self, claims: Claims) -> None:
        mine = {self.name, *self._inherited}  # what is said of them is known better here
        claims = Claims({n: c for n, c in claims.claims.items() if n not in mine}, claims.gone)
        is_news, new = self.beliefs.hear(claims, self.zones)
        for name in new:
            self._send(name, self._claims())
        if is_news:
            zones = [zone for claim in claims.claims.values() for zone in claim.zones]
            given = [name for zone, name in self._pointers if touch([zone], zones)]
            for name in dict.fromkeys(given):
                if name not in claims.claims:
                    self._send(name, claims)

    def _forward(self, sender: Name, message: Any) -> None:
        """What comes to a node that left: answers to its questions, or something for its heir."""
        if isinstance(message, Echo) and self.floods.is_mine(message):
            if (done := self.floods.answered(message)) is not None:
                flood, answer = done
                if isinstance(answer, Flooded):
                    self._send(self.heir, Routed(flood.subscription.centre, answer))
                else:
                    self._send(flood.reply_to, answer)
        else:
            self._send(self.heir, message)


def newest(mine: Iterable[Zone], pointers: Iterable[tuple[Zone, Name]]) -> list[tuple[Zone, Name]]:
    """Who was last given what is not one's own: of each point the latest pointer only."""
    left: list[tuple[Zone, Name]] = []
    for zone, name in sorted(pointers, key=lambda pointer: -pointer[0].since):
        parts = [zone]
        for known in [*mine, *(other for other, _ in left)]:
            parts = [rest for part in parts for rest in part.minus(known)]
        left += [(part, name) for part in parts]
    return left
