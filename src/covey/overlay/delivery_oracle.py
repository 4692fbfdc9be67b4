"""The oracle of a random run: notifications that must and may be delivered, by brute force."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field

__all__ = ["DeliveryOracle", "TrialOutcome"]

FindMatches = Callable[[int, Iterable[Hashable]], set[Hashable]]
"""Function that takes an event number and subscription ids, and returns the ids that match."""


@dataclass(frozen=True, slots=True)
class TrialOutcome:
    """Counts of lost, invented and repeated notifications of a run.

    Attributes:
        lost: notifications that were not delivered, although the subscription matches the event,
            was settled before it, and was not cancelled while it was in flight.
        invented: notifications of a subscription that does not match the event, or that was not
            live while the event was in flight.
        repeated: notifications that were delivered again; a receiver can drop them by their ids.
        notifications: different notifications that were delivered.
        messages: messages that nodes sent to each other.
    """

    lost: int
    invented: int
    repeated: int
    notifications: int
    messages: int

    @property
    def is_correct(self) -> bool:
        """Whether no notification was lost or invented."""
        return not self.lost and not self.invented


@dataclass(slots=True)
class DeliveryOracle:
    """For each event, the subscriptions that must be notified, and those that may be.

    An event is in flight from its publication until `clear_in_flight`. A subscription is settled
    when the whole network knows it: settled subscriptions must be notified, live ones may be.
    """

    find_matches: FindMatches
    _required: dict[int, set[Hashable]] = field(default_factory=dict)
    _allowed: dict[int, set[Hashable]] = field(default_factory=dict)
    _live_ids: set[Hashable] = field(default_factory=set)
    _settled_ids: set[Hashable] = field(default_factory=set)
    _in_flight: set[int] = field(default_factory=set)

    @property
    def live_subscriptions(self) -> list[Hashable]:
        """Ids of subscriptions that are not cancelled, sorted."""
        return sorted(self._live_ids)  # type: ignore[type-var]

    def subscribe(self, id_: Hashable) -> None:
        """Add a live subscription: it may be notified of events in flight and of later ones."""
        self._live_ids.add(id_)
        for event in self._in_flight:
            self._allowed[event].add(id_)

    def mark_settled(self, ids: Iterable[Hashable]) -> None:
        """Mark live subscriptions as settled: they must be notified of all later events."""
        self._settled_ids |= self._live_ids & set(ids)

    def cancel(self, id_: Hashable) -> None:
        """Remove a subscription: it need not be notified of events in flight, but may be."""
        self._live_ids.discard(id_)
        self._settled_ids.discard(id_)
        for event in self._in_flight:
            self._required[event].discard(id_)

    def waive_in_flight(self) -> None:
        """Require no notification of events in flight; a node that left may have held them."""
        for event in self._in_flight:
            self._required[event].clear()

    def clear_settled(self) -> None:
        """Require no notification of later events until subscriptions are settled again.

        Call this method when links of the network change.
        """
        self._settled_ids.clear()

    def publish(self, event: int) -> None:
        """Add an event in flight; settled subscriptions must be notified, live ones may be."""
        self._required[event], self._allowed[event] = set(self._settled_ids), set(self._live_ids)
        self._in_flight.add(event)

    def clear_in_flight(self) -> None:
        """Record that all events have arrived."""
        self._in_flight.clear()

    def evaluate(
        self, deliveries: Iterable[tuple[int, Hashable]], message_count: int
    ) -> TrialOutcome:
        """Compare deliveries with the notifications that were required and allowed.

        Args:
            deliveries: pairs of an event number and the id of a notified subscription.
            message_count: number of messages, for the result.
        """
        delivered_ids: dict[int, list[Hashable]] = {event: [] for event in self._required}
        for event, id_ in deliveries:
            delivered_ids[event].append(id_)
        lost = invented = repeated = notifications = 0
        for event, ids in delivered_ids.items():
            distinct_ids = set(ids)
            required = self.find_matches(event, self._required[event])
            allowed = self.find_matches(event, self._allowed[event])
            lost += len(required - distinct_ids)
            invented += len(distinct_ids - allowed)
            repeated += len(ids) - len(distinct_ids)
            notifications += len(distinct_ids)
        return TrialOutcome(lost, invented, repeated, notifications, message_count)
