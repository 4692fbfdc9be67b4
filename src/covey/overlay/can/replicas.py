"""The replicas of roots at one node, in all zones of the node."""

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
    """A replica of a root at one node, for all zones of the node that the root's box meets.

    `home_node` had the seat of the root when the replica was stored. `sent_events` counts the
    events that were sent to the seat because of this replica.
    """

    subscription: CanSubscription
    home_node: NodeName
    sent_events: int = 0


@dataclass(slots=True)
class Replicas:
    """The replicas of one node, by the id of the root."""

    by_id: dict[int, Replica] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of replicas."""
        return len(self.by_id)

    def store(self, subscription: CanSubscription, home_node: NodeName) -> None:
        """Store a replica of a root, unless the node has a replica of it already."""
        self.by_id.setdefault(subscription.id, Replica(subscription, home_node))

    def drop(self, id_: int) -> int:
        """Remove a replica and return the number of events that it sent; 0 if there is none."""
        replica = self.by_id.pop(id_, None)
        return replica.sent_events if replica else 0

    def find_at(self, point: Point) -> Iterator[Replica]:
        """Yield the replicas whose boxes contain a point."""
        for replica in self.by_id.values():
            low, high = replica.subscription.box
            if all(a <= x <= b for a, x, b in zip(low, point, high, strict=True)):
                yield replica

    def find_covering(
        self, subscription: CanSubscription, avoided_ids: set[int]
    ) -> CanSubscription | None:
        """Return a root whose box contains the box of a subscription, or None if there is none.

        Args:
            subscription: the subscription, which is not returned itself.
            avoided_ids: ids of roots that must not be returned.
        """
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
        """Return replicas for zones that are given away; drop those that this node no longer needs.

        If both nodes need a replica, this node keeps the count of sent events, and the returned
        copy starts with 0. So each event is counted once.

        Args:
            kept_zones: zones that the node keeps.
            given_zones: zones that the node gives away.
        """
        kept_zones, given_zones, copies = list(kept_zones), list(given_zones), []
        for id_, replica in list(self.by_id.items()):
            is_needed_here = meets_any(kept_zones, replica.subscription.box)
            if meets_any(given_zones, replica.subscription.box):
                sent_events = 0 if is_needed_here else replica.sent_events
                copies.append(Replica(replica.subscription, replica.home_node, sent_events))
                if not is_needed_here:
                    del self.by_id[id_]
        return copies

    def merge(self, others: Iterable[Replica]) -> None:
        """Add the replicas of another node; sent events of the same root are summed."""
        for other in others:
            replica = self.by_id.setdefault(
                other.subscription.id, Replica(other.subscription, other.home_node)
            )
            replica.sent_events += other.sent_events
