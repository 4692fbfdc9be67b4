"""What a random run of a network came to, by brute force over all that was asked of it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field

__all__ = ["Expected", "Outcome"]

Matches = Callable[[int, Iterable[Hashable]], set[Hashable]]


@dataclass(frozen=True, slots=True)
class Outcome:
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
    def is_right(self) -> bool:
        """Whether nothing was lost or invented."""
        return not self.lost and not self.invented


@dataclass(slots=True)
class Expected:
    """Who must hear of each event, and who may."""

    matches: Matches
    _must: dict[int, set[Hashable]] = field(default_factory=dict)
    _may: dict[int, set[Hashable]] = field(default_factory=dict)
    _live: set[Hashable] = field(default_factory=set)
    _settled: set[Hashable] = field(default_factory=set)
    _open: set[int] = field(default_factory=set)

    @property
    def live(self) -> list[Hashable]:
        """Who subscribed and did not cancel, in a fixed order."""
        return sorted(self._live)  # type: ignore[type-var]

    def subscribed(self, id_: Hashable) -> None:
        """It may hear of all events that are on their way, and of those to come."""
        self._live.add(id_)
        for event in self._open:
            self._may[event].add(id_)

    def settled(self, ids: Iterable[Hashable]) -> None:
        """They must hear of all events to come."""
        self._settled |= self._live & set(ids)

    def cancelled(self, id_: Hashable) -> None:
        """It need not hear of anything that is on its way."""
        self._live.discard(id_)
        self._settled.discard(id_)
        for event in self._open:
            self._must[event].discard(id_)

    def excused(self) -> None:
        """Nobody need hear of what is on its way: a broker left that may have had it."""
        for event in self._open:
            self._must[event].clear()

    def unsettled(self) -> None:
        """Nobody must hear of what comes now, until all are settled again: links changed."""
        self._settled.clear()

    def published(self, event: int) -> None:
        """An event is on its way."""
        self._must[event], self._may[event] = set(self._settled), set(self._live)
        self._open.add(event)

    def quiet(self) -> None:
        """Nothing is on its way."""
        self._open.clear()

    def outcome(self, delivered: Iterable[tuple[int, Hashable]], messages: int) -> Outcome:
        """What was delivered against what had to be, and what could."""
        heard: dict[int, list[Hashable]] = {event: [] for event in self._must}
        for event, id_ in delivered:
            heard[event].append(id_)
        lost = invented = repeated = notifications = 0
        for event, ids in heard.items():
            once = set(ids)
            must = self.matches(event, self._must[event])
            may = self.matches(event, self._may[event])
            lost += len(must - once)
            invented += len(once - may)
            repeated += len(ids) - len(once)
            notifications += len(once)
        return Outcome(lost, invented, repeated, notifications, messages)
