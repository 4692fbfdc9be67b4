"""The rules of SMART as the paper prints them, to count what they lose.

A cancelled root drops its replicas at once. A dependant of it stays where it is if any other
subscription that is kept there has a box that contains its own, be that one a dependant itself; the
others subscribe again. So two equal ones excuse each other, one is excused by another that moves
away, and in between events find nobody. An event tells all that a home keeps. (papers: can)

Not for use: `covey.overlay.can.seats` is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from covey.overlay.can.messages import Move, Release, Routed, Subscription
from covey.overlay.can.seats import Action, Find, Phase, Seat, Seats, contains

__all__ = ["PrintedSeats"]


class PrintedSeats(Seats):
    """The seats of one node, by the printed rules."""

    def __init__(self, find: Find | None) -> None:
        super().__init__(find)
        self._excused: dict[int, Subscription] = {}

    def visit(self, id_: int) -> tuple[list[Subscription], Iterable[Action]]:
        return list({one.id: one for one in self._kept()}.values()), []

    def _kept(self) -> Iterator[Subscription]:
        """All whose home is here."""
        for seat in self.seats.values():
            if seat.phase not in (Phase.PLACING, Phase.DEPENDANT, Phase.RELEASING):
                yield from seat.members
        yield from self._excused.values()

    def _close(self, seat: Seat) -> Iterable[Action]:
        here, dependants = seat.subscription, list(seat.dependants.values())
        moving = [one for one in dependants if not self._is_excused(one, here)]
        self._excused |= {one.id: one for one in dependants if one not in moving}
        seat.dependants.clear()
        told = [Routed(one.centre, Move(one.id, here.id, here.centre)) for one in moving]
        return [*self._drop(seat), *told]

    def _is_excused(self, one: Subscription, cancelled: Subscription) -> bool:
        return any(
            other.id not in (one.id, cancelled.id) and contains(other.box, one.box)
            for other in self._kept()
        )

    def _moved(self, seat: Seat | None, id_: int) -> Iterable[Action]:
        return []

    def _flushed(self, seat: Seat) -> Iterable[Action]:
        seat.arrived = seat.expected or 0
        return super()._flushed(seat)

    def _release(self, message: Release) -> Iterable[Action]:
        self._excused.pop(message.id, None)
        return super()._release(message)
