"""The rules of SMART as the paper describes them, to count the events that they lose.

A cancelled root drops its replicas at once. A dependant of the root stays where it is if the box of
another subscription at this node contains the box of the dependant. The other subscription may be a
dependant itself. All remaining dependants subscribe again. Events are lost if two dependants with
equal boxes rely on each other, if a dependant relies on another one that moves away, and while
dependants subscribe again. An event at a seat is compared with all subscriptions of the node.
(papers: can)

For comparison only; otherwise use `covey.overlay.can.seats`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from covey.overlay.can.messages import CanSubscription, MoveRequest, ReleaseRequest, RoutedMessage
from covey.overlay.can.seats import FindRoot, Seat, SeatAction, SeatPhase, Seats, box_contains

__all__ = ["PaperSmartSeats"]


class PaperSmartSeats(Seats):
    """The seats of one node, which follow the rules of the paper and lose events."""

    def __init__(self, find_root: FindRoot | None) -> None:
        super().__init__(find_root)
        self._excused_dependants: dict[int, CanSubscription] = {}

    def visit(self, id_: int) -> tuple[list[CanSubscription], Iterable[SeatAction]]:
        """Return all subscriptions of the node, without actions."""
        by_id = {subscription.id: subscription for subscription in self._list_home_subscriptions()}
        return list(by_id.values()), []

    def _list_home_subscriptions(self) -> Iterator[CanSubscription]:
        """Yield all subscriptions that are stored at this node; some occur more than once."""
        for seat in self.seats.values():
            if seat.phase not in (
                SeatPhase.AWAITING_ROOT,
                SeatPhase.DEPENDANT,
                SeatPhase.RELEASING,
            ):
                yield from seat.members
        yield from self._excused_dependants.values()

    def _close_root(self, seat: Seat) -> Iterable[SeatAction]:
        """Drop the replicas of a cancelled root, and move the dependants that cannot stay."""
        root, dependants = seat.subscription, list(seat.dependants.values())
        moving = [dependant for dependant in dependants if not self._is_excused(dependant, root)]
        self._excused_dependants |= {
            dependant.id: dependant for dependant in dependants if dependant not in moving
        }
        seat.dependants.clear()
        requests = [
            RoutedMessage(dependant.centre, MoveRequest(dependant.id, root.id, root.centre))
            for dependant in moving
        ]
        return [*self._drop_replicas(seat), *requests]

    def _is_excused(self, subscription: CanSubscription, cancelled_root: CanSubscription) -> bool:
        """Return whether a dependant stays: another subscription of this node contains its box."""
        return any(
            other.id not in (subscription.id, cancelled_root.id)
            and box_contains(other.box, subscription.box)
            for other in self._list_home_subscriptions()
        )

    def _on_move_done(self, seat: Seat | None, id_: int) -> Iterable[SeatAction]:
        """Do nothing, because a root does not wait for its dependants."""
        return []

    def _finish_if_flushed(self, seat: Seat) -> Iterable[SeatAction]:
        """Finish a seat whose replicas are dropped, without waiting for events that they sent."""
        seat.arrived_events = seat.expected_events or 0
        return super()._finish_if_flushed(seat)

    def _on_release_request(self, message: ReleaseRequest) -> Iterable[SeatAction]:
        """Remove a cancelled dependant, also if it stayed here after its root was cancelled."""
        self._excused_dependants.pop(message.id, None)
        return super()._on_release_request(message)
