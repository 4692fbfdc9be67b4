"""The oracle of a random run: it finds required and allowed notifications by brute force."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field

__all__ = ["DeliveryOracle", "TrialOutcome"]

FindMatches = Callable[[int, Iterable[Hashable]], set[Hashable]]
"""Function that takes an event number and subscription ids; it returns the ids of those that match.

Implementations compare the event with each of the subscriptions.
"""


@dataclass(frozen=True, slots=True)
class TrialOutcome:
    """Counts of the lost, spurious, repeated and distinct notifications of a run.

    Attributes:
        lost: number of required notifications that were not delivered. A notification is required
            if the subscription matches the event, was settled when the event was published, and
            was not cancelled while the event was in flight. Notifications that `waive_in_flight`
            waived are not required.
        invented: number of spurious notifications: those that were delivered although the
            subscription does not match the event, or was not live at any time while the event was
            in flight.
        repeated: number of deliveries of notifications that had been delivered already; a receiver
            recognises them by their ids.
        notifications: number of distinct notifications that were delivered.
        messages: number of messages between nodes.
    """

    lost: int
    invented: int
    repeated: int
    notifications: int
    messages: int

    @property
    def is_correct(self) -> bool:
        """Whether no notification was lost or spurious."""
        return not self.lost and not self.invented


@dataclass(slots=True)
class DeliveryOracle:
    """Record of the subscriptions that must be notified and that may be notified of each event.

    An event is in flight from its publication until `clear_in_flight`. A subscription is live from
    `subscribe` to `cancel`, and settled from the time when the whole network knows it. Matching
    settled subscriptions must be notified of an event; matching live ones may be notified.

    Args:
        find_matches: function that returns which of some subscriptions match an event.
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
        """Mark subscriptions as settled: they must be notified of all matching later events.

        Ids of subscriptions that are not live are ignored.
        """
        self._settled_ids |= self._live_ids & set(ids)

    def cancel(self, id_: Hashable) -> None:
        """Remove a subscription; it may still be notified of events in flight, but need not be."""
        self._live_ids.discard(id_)
        self._settled_ids.discard(id_)
        for event in self._in_flight:
            self._required[event].discard(id_)

    def waive_in_flight(self) -> None:
        """Require no notification of events in flight, which a leaving node may have lost."""
        for event in self._in_flight:
            self._required[event].clear()

    def clear_settled(self) -> None:
        """Require no notification of later events until subscriptions are settled again.

        Call this method when links of the network change.
        """
        self._settled_ids.clear()

    def publish(self, event: int) -> None:
        """Add an event in flight.

        Subscriptions that are settled now must be notified of it if they match; those that are live
        now may be notified.
        """
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
            message_count: number of messages between nodes, which is copied to the result.
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
