"""What a random run of a network came to, by brute force over all that was asked of it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field

__all__ = ["DeliveryOracle", "TrialOutcome"]

FindMatches = Callable[[int, Iterable[Hashable]], set[Hashable]]


@dataclass(frozen=True, slots=True)
class TrialOutcome:
    """What went wrong, and how much there was.

    `lost`: notifications that a subscription missed which was there before the event and after.
    `invented`: those of events that do not match, or of subscriptions that were over. `repeated`
    are notifications that came again, which a receiver's ledger drops.
    """

    lost: int
    invented: int
    repeated: int
    notifications: int
    messages: int

    @property
    def is_correct(self) -> bool:
        """Whether nothing was lost or invented."""
        return not self.lost and not self.invented


@dataclass(slots=True)
class DeliveryOracle:
    """Who must hear of each event, and who may."""

    find_matches: FindMatches
    _required: dict[int, set[Hashable]] = field(default_factory=dict)
    _allowed: dict[int, set[Hashable]] = field(default_factory=dict)
    _live_ids: set[Hashable] = field(default_factory=set)
    _settled_ids: set[Hashable] = field(default_factory=set)
    _in_flight: set[int] = field(default_factory=set)

    @property
    def live_subscriptions(self) -> list[Hashable]:
        """Who subscribed and did not cancel, in a fixed order."""
        return sorted(self._live_ids)  # type: ignore[type-var]

    def subscribe(self, id_: Hashable) -> None:
        """It may hear of all events that are on their way, and of those to come."""
        self._live_ids.add(id_)
        for event in self._in_flight:
            self._allowed[event].add(id_)

    def mark_settled(self, ids: Iterable[Hashable]) -> None:
        """They must hear of all events to come."""
        self._settled_ids |= self._live_ids & set(ids)

    def cancel(self, id_: Hashable) -> None:
        """It need not hear of anything that is on its way."""
        self._live_ids.discard(id_)
        self._settled_ids.discard(id_)
        for event in self._in_flight:
            self._required[event].discard(id_)

    def waive_in_flight(self) -> None:
        """Nobody need hear of what is on its way: a broker left that may have had it."""
        for event in self._in_flight:
            self._required[event].clear()

    def clear_settled(self) -> None:
        """Nobody must hear of what comes now, until all are settled again: links changed."""
        self._settled_ids.clear()

    def publish(self, event: int) -> None:
        """An event is on its way."""
        self._required[event], self._allowed[event] = set(self._settled_ids), set(self._live_ids)
        self._in_flight.add(event)

    def clear_in_flight(self) -> None:
        """Nothing is on its way."""
        self._in_flight.clear()

    def evaluate(
        self, deliveries: Iterable[tuple[int, Hashable]], message_count: int
    ) -> TrialOutcome:
        """What was delivered against what had to be, and what could."""
        heard: dict[int, list[Hashable]] = {event: [] for event in self._required}
        for event, id_ in deliveries:
            heard[event].append(id_)
        lost = invented = repeated = notifications = 0
        for event, ids in heard.items():
            once = set(ids)
            must = self.find_matches(event, self._required[event])
            may = self.find_matches(event, self._allowed[event])
            lost += len(must - once)
            invented += len(once - may)
            repeated += len(ids) - len(once)
            notifications += len(once)
        return TrialOutcome(lost, invented, repeated, notifications, message_count)
