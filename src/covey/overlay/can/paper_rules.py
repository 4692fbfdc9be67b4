"""The rules of SMART as the paper prints them, to count what they lose.

A cancelled root drops its replicas at once. A dependant of it stays where it is if any other
subscription that is kept there has a box that contains its own, be that one a dependant itself; the
others subscribe again. So two equal ones excuse each other, one is excused by another that moves
away, and in between events find nobody. An event tells all that a home keeps. (papers: can)

Not for use: `covey.overlay.can.seats` is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from covey.overlay.can.messages import CanSubscription, MoveRequest, ReleaseRequest, RoutedMessage
from covey.overlay.can.seats import FindRoot, Seat, SeatAction, SeatPhase, Seats, box_contains

__all__ = ["PaperSmartSeats"]


class PaperSmartSeats(Seats):
    """The seats of one node, by the printed rules."""

    def __init__(self, find_root: FindRoot | None) -> None:
        super().__init__(find_root)
        self._excused_dependants: dict[int, CanSubscription] = {}

    def visit(self, id_: int) -> tuple[list[CanSubscription], Iterable[SeatAction]]:
        return list({one.id: one for one in self._list_home_subscriptions()}.values()), []

    def _list_home_subscriptions(self) -> Iterator[CanSubscription]:
        """All whose home is here."""
        for seat in self.seats.values():
            if seat.phase not in (
                SeatPhase.AWAITING_ROOT,
                SeatPhase.DEPENDANT,
                SeatPhase.RELEASING,
            ):
                yield from seat.members
        yield from self._excused_dependants.values()

    def _close_root(self, seat: Seat) -> Iterable[SeatAction]:
        here, dependants = seat.subscription, list(seat.dependants.values())
        moving = [one for one in dependants if not self._is_excused(one, here)]
        self._excused_dependants |= {one.id: one for one in dependants if one not in moving}
        seat.dependants.clear()
        told = [
            RoutedMessage(one.centre, MoveRequest(one.id, here.id, here.centre)) for one in moving
        ]
        return [*self._drop_replicas(seat), *told]

    def _is_excused(self, subscription: CanSubscription, cancelled_root: CanSubscription) -> bool:
        return any(
            other.id not in (subscription.id, cancelled_root.id)
            and box_contains(other.box, subscription.box)
            for other in self._list_home_subscriptions()
        )

    def _on_move_done(self, seat: Seat | None, id_: int) -> Iterable[SeatAction]:
        return []

    def _finish_if_flushed(self, seat: Seat) -> Iterable[SeatAction]:
        seat.arrived_events = seat.expected_events or 0
        return super()._finish_if_flushed(seat)

    def _on_release_request(self, message: ReleaseRequest) -> Iterable[SeatAction]:
        self._excused_dependants.pop(message.id, None)
        return super()._on_release_request(message)
