"""The replicas of roots that one node has for its zones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from covey.overlay.can.messages import CanSubscription
from covey.overlay.can.seats import box_contains
from covey.overlay.can.zones import CanZone, Point, meets_any
from covey.overlay.simulator import NodeName

__all__ = ["Replica", "Replicas"]


@dataclass(slots=True)
class Replica:
    """A root, the node that had its seat when it was made, and how many events it sent there."""

    subscription: CanSubscription
    home_node: NodeName
    sent_events: int = 0


@dataclass(slots=True)
class Replicas:
    """Replicas by id."""

    by_id: dict[int, Replica] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.by_id)

    def store(self, subscription: CanSubscription, home_node: NodeName) -> None:
        """Adds one, unless it is there."""
        self.by_id.setdefault(subscription.id, Replica(subscription, home_node))

    def drop(self, id_: int) -> int:
        """Removes one, if it is there; how many events it had sent."""
        found = self.by_id.pop(id_, None)
        return found.sent_events if found else 0

    def find_at(self, point: Point) -> Iterator[Replica]:
        """Those whose boxes have a point."""
        for replica in self.by_id.values():
            low, high = replica.subscription.box
            if all(a <= x <= b for a, x, b in zip(low, point, high, strict=True)):
                yield replica

    def find_covering(
        self, subscription: CanSubscription, avoided_ids: set[int]
    ) -> CanSubscription | None:
        """The first whose box contains another's."""
        for id_, replica in self.by_id.items():
            if (
                id_ != subscription.id
                and id_ not in avoided_ids
                and box_contains(replica.subscription.box, subscription.box)
            ):
                return replica.subscription
        return None

    def split_off(
        self, kept_zones: Iterable[CanZone], given_zones: Iterable[CanZone]
    ) -> list[Replica]:
        """Copies for the zones that are given away; what the others do not meet goes.

        What a replica sent is counted once.
        """
        kept_zones, given_zones, copies = list(kept_zones), list(given_zones), []
        for id_, replica in list(self.by_id.items()):
            stays = meets_any(kept_zones, replica.subscription.box)
            if meets_any(given_zones, replica.subscription.box):
                sent = 0 if stays else replica.sent_events
                copies.append(Replica(replica.subscription, replica.home_node, sent))
                if not stays:
                    del self.by_id[id_]
        return copies

    def merge(self, others: Iterable[Replica]) -> None:
        """Takes over those of another node."""
        for other in others:
            mine = self.by_id.setdefault(
                other.subscription.id, Replica(other.subscription, other.home_node)
            )
            mine.sent_events += other.sent_events
