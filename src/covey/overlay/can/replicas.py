"""The replicas of roots that one node has for its zones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from covey.overlay.can.messages import Subscription
from covey.overlay.can.seats import contains
from covey.overlay.can.zones import Point, Zone, meets_any
from covey.overlay.simulator import Name

__all__ = ["Replica", "Replicas"]


@dataclass(slots=True)
class Replica:
    """A root, the node that had its seat when it was made, and how many events it sent there."""

    subscription: Subscription
    home: Name
    sent: int = 0


@dataclass(slots=True)
class Replicas:
    """Replicas by id."""

    by_id: dict[int, Replica] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.by_id)

    def store(self, subscription: Subscription, home: Name) -> None:
        """Adds one, unless it is there."""
        self.by_id.setdefault(subscription.id, Replica(subscription, home))

    def drop(self, id_: int) -> int:
        """Removes one, if it is there; how many events it had sent."""
        found = self.by_id.pop(id_, None)
        return found.sent if found else 0

    def at(self, point: Point) -> Iterator[Replica]:
        """Those whose boxes have a point."""
        for replica in self.by_id.values():
            low, high = replica.subscription.box
            if all(a <= x <= b for a, x, b in zip(low, point, high, strict=True)):
                yield replica

    def covering(self, one: Subscription, avoid: set[int]) -> Subscription | None:
        """The first whose box contains another's."""
        for id_, replica in self.by_id.items():
            if id_ != one.id and id_ not in avoid and contains(replica.subscription.box, one.box):
                return replica.subscription
        return None

    def split(self, kept: Iterable[Zone], given: Iterable[Zone]) -> list[Replica]:
        """Copies for the zones that are given away; what the others do not meet goes.

        What a replica sent is counted once.
        """
        kept, given, copies = list(kept), list(given), []
        for id_, replica in list(self.by_id.items()):
            stays = meets_any(kept, replica.subscription.box)
            if meets_any(given, replica.subscription.box):
                sent = 0 if stays else replica.sent
                copies.append(Replica(replica.subscription, replica.home, sent))
                if not stays:
                    del self.by_id[id_]
        return copies

    def merge(self, others: Iterable[Replica]) -> None:
        """Takes over those of another node."""
        for other in others:
            mine = self.by_id.setdefault(
                other.subscription.id, Replica(other.subscription, other.home)
            )
            mine.sent += other.sent
