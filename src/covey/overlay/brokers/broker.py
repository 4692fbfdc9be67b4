"""The handler of a broker, with its clients and its links to neighbours. The links form a tree.

A subscription is advertised on every link except the one that it came from, unless the routing
table of the link finds it redundant. An event is forwarded on every link whose neighbour advertised
a region that contains it. Clients are notified of exactly the events that their subscriptions
match. Every broker applies updates in order, so the regions that a neighbour advertised always
contain all live subscriptions behind the link. All events are forwarded on a new link until the
neighbour has advertised all of its subscriptions. (papers: mics)

With announcements, publishers announce regions before they publish events in them. A subscription
is advertised only on links behind which an announced region overlaps it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from covey.errors import InvalidArgumentError
from covey.geometry import Regions
from covey.overlay.brokers.dynamic_index import DynamicRegionIndex, RegionDelta
from covey.overlay.brokers.link import Link, RegionLink
from covey.overlay.brokers.messages import (
    Announce,
    Connect,
    Delivery,
    Disconnect,
    ForwardAnnouncement,
    ForwardEvents,
    InitialSyncDone,
    Publish,
    RoutingUpdateMessage,
    Subscribe,
    Unsubscribe,
)
from covey.overlay.simulator import OUTSIDE, NodeName, OutgoingMessages
from covey.space import Events, Space

__all__ = ["Broker", "MakeLink"]

AnyLink = Link[Any, Any]
MakeLink = Callable[[NodeName], AnyLink]
"""Function that returns a new link to a neighbour."""
_CLIENTS = "clients"  # source of changes and events from clients; other sources are neighbours


class Broker:
    """The message handler of one broker: its clients, links and announcements.

    Args:
        space: attributes of events and regions.
        make_link: function that returns a new link, such as the result of `region_links`.
        requires_announcements: whether events must be announced before they are published; only
            for links that advertise regions.
    """

    def __init__(
        self, space: Space, make_link: MakeLink, *, requires_announcements: bool = False
    ) -> None:
        self.space, self.requires_announcements = space, requires_announcements
        self.links: dict[NodeName, AnyLink] = {}
        self.client_subscriptions = DynamicRegionIndex(space)
        self._make_link = make_link
        self._announcements: dict[NodeName, DynamicRegionIndex] = {
            _CLIENTS: DynamicRegionIndex(space)
        }
        self._syncing_peers: set[NodeName] = set()

    def receive(self, sender: NodeName, message: object) -> OutgoingMessages:
        """Handle a message, and return the messages to send as pairs of receiver and message.

        Raises:
            InvalidArgumentError: an event was published that is in no announced region.
        """
        match message:
            case Subscribe():
                ids = [(_CLIENTS, id_) for id_ in message.ids]
                change = self.client_subscriptions.apply_changes(
                    ids, message.regions, message.subscription_rows, ids
                )
                return self._advertise_to_links(_CLIENTS, change)
            case Unsubscribe():
                return self._advertise_to_links(_CLIENTS, self._remove_subscriptions(message.ids))
            case RoutingUpdateMessage():
                if sender not in self.links:
                    return []  # it was in flight when the link was removed
                return self._advertise_to_links(
                    sender, self.links[sender].receive_update(message.update)
                )
            case InitialSyncDone():
                self._syncing_peers.discard(sender)
                return []
            case Publish():
                return self._route_events(_CLIENTS, message.event_numbers, message.events)
            case ForwardEvents():
                return self._route_events(sender, message.event_numbers, message.events)
            case Announce():
                return self._apply_announcement(
                    _CLIENTS, message.ids, message.regions, message.withdrawn_ids
                )
            case ForwardAnnouncement():
                return self._apply_announcement(
                    sender, message.ids, message.regions, message.withdrawn_ids
                )
            case Connect():
                return self._connect(message.peer)
            case Disconnect():
                return self._disconnect(message.peer)
        raise TypeError(f"{message!r} is not a message for brokers: see overlay.brokers.messages")

    # Subscriptions.

    def _remove_subscriptions(self, ids: Sequence[Hashable]) -> RegionDelta:
        """Remove subscriptions of clients, and return the change."""
        no_regions = Regions(self.space, 0, {})
        keys = [(_CLIENTS, id_) for id_ in ids]
        return self.client_subscriptions.apply_changes([], no_regions, np.empty(0, np.int64), keys)

    def _advertise_to_links(
        self, source: NodeName, delta: Any
    ) -> Iterator[tuple[NodeName, RoutingUpdateMessage]]:
        """Yield the routing updates for a change, for all links except its source."""
        for peer, link in self.links.items():
            if peer != source:
                yield from self._advertise_on_link(
                    peer, link, self._restrict_to_announced(peer, delta)
                )

    def _advertise_on_link(
        self, peer: NodeName, link: AnyLink, delta: Any
    ) -> Iterator[tuple[NodeName, RoutingUpdateMessage]]:
        """Yield the routing update of one link for a change, unless the update is empty."""
        if delta and (update := link.advertise(delta)):
            yield peer, RoutingUpdateMessage(update)

    def _collect_known(self, excluded_peer: NodeName) -> Iterator[Any]:
        """Yield for each source except one neighbour a change that adds all of its subscriptions.

        Sources are the clients and the neighbours. A change is a `RegionDelta` or a `CellUpdate`.
        """
        yield self.client_subscriptions.as_additions()
        for peer, link in self.links.items():
            if peer != excluded_peer:
                yield link.as_additions()

    # Events.

    def _route_events(
        self, source: NodeName, event_numbers: NDArray[np.int64], events: Events
    ) -> Iterator[tuple[NodeName, object]]:
        """Yield the deliveries to clients, and the events to forward on links except the source."""
        if self.requires_announcements and source == _CLIENTS:
            self._check_announced(events)
        if len(self.client_subscriptions):
            rows, keys = self.client_subscriptions.match(events)
            if len(rows):
                ids = tuple(id_ for _, id_ in cast(list[tuple[str, Hashable]], keys))
                yield OUTSIDE, Delivery(event_numbers[rows], ids)
        for peer, link in self.links.items():
            if peer == source:
                continue
            if peer in self._syncing_peers:
                yield peer, ForwardEvents(event_numbers, events)
            elif (event_rows := np.flatnonzero(link.admits(events))).size:
                yield peer, ForwardEvents(event_numbers[event_rows], events.take(event_rows))

    # Links.

    def _connect(self, peer: NodeName) -> Iterator[tuple[NodeName, object]]:
        """Add a link, and yield all announcements and subscriptions for its neighbour.

        All events are forwarded on the link until the neighbour has sent `InitialSyncDone`.
        """
        link = self._make_link(peer)
        self._syncing_peers.add(peer)
        changes = list(self._collect_known(excluded_peer=peer))
        self.links[peer] = link
        self._announcements[peer] = DynamicRegionIndex(self.space)
        for source, announced in self._announcements.items():
            if source != peer and len(announced):
                additions = announced.as_additions()
                yield peer, ForwardAnnouncement(tuple(additions.ids), additions.regions, ())
        for change in changes:
            yield from self._advertise_on_link(
                peer, link, self._restrict_to_announced(peer, change)
            )
        yield peer, InitialSyncDone()

    def _disconnect(self, peer: NodeName) -> Iterator[tuple[NodeName, object]]:
        """Remove a link; withdraw its subscriptions and announcements on the other links."""
        link = self.links.pop(peer)
        self._syncing_peers.discard(peer)
        announced = self._announcements.pop(peer)
        yield from self._advertise_to_links(peer, link.as_removals())
        if len(announced):
            no_regions = Regions(self.space, 0, {})
            for other in self.links:
                yield (
                    other,
                    ForwardAnnouncement((), no_regions, tuple(announced.as_additions().ids)),
                )

    # Announcements.

    def _apply_announcement(
        self,
        source: NodeName,
        ids: Sequence[Hashable],
        regions: Regions,
        withdrawn_ids: Sequence[Hashable],
    ) -> Iterator[tuple[NodeName, object]]:
        """Forward an announcement on all links except its source, and update the source link.

        If announcements are required, subscriptions that overlap a new announcement are advertised
        on the source link, and those that no longer overlap an announcement are withdrawn there. An
        id that is both announced and withdrawn is replaced.
        """
        if source not in self._announcements:
            return  # it was in flight when the link was removed
        change = self._announcements[source].apply_changes(
            ids, regions, np.arange(len(ids)), withdrawn_ids
        )
        for peer in self.links:
            if peer != source:
                yield peer, ForwardAnnouncement(tuple(ids), regions, tuple(withdrawn_ids))
        if source in self.links and self.requires_announcements:
            yield from self._readvertise(source, change)

    def _readvertise(
        self, peer: NodeName, announcement_delta: RegionDelta
    ) -> Iterator[tuple[NodeName, RoutingUpdateMessage]]:
        """Yield routing updates for a link behind which announcements have changed.

        Subscriptions that overlap a new announcement are advertised. Subscriptions that overlap a
        withdrawn announcement, and no other one, are withdrawn.
        """
        link = self.links[peer]
        assert isinstance(link, RegionLink)
        no_regions = Regions(self.space, 0, {})
        others = [other for name, other in self.links.items() if name != peer]
        sources = [
            self.client_subscriptions,
            *(cast(RegionLink, other).interests for other in others),
        ]
        for source in sources:
            if not len(source):
                continue
            if len(announcement_delta.regions):
                keys = source.find_overlapping(announcement_delta.regions)
                yield from self._advertise_on_link(
                    peer,
                    link,
                    source.select([key for key in keys if key not in link.routing_table]),
                )
            if len(announcement_delta.removed_regions):
                keys = [
                    k
                    for k in source.find_overlapping(announcement_delta.removed_regions)
                    if k in link.routing_table
                ]
                still_announced = self._restrict_to_announced(peer, source.select(keys)).ids
                withdrawn = [key for key in keys if key not in set(still_announced)]
                yield from self._advertise_on_link(
                    peer,
                    link,
                    RegionDelta([], no_regions, np.empty(0, np.int64), withdrawn, no_regions),
                )

    def _restrict_to_announced(self, peer: NodeName, delta: Any) -> Any:
        """Return a change without the added keys that overlap no announcement behind a link.

        If announcements are not required, the change is returned as it is.
        """
        if not self.requires_announcements:
            return delta
        assert isinstance(delta, RegionDelta)
        overlaps = self._announcements[peer].overlaps(delta.regions)
        id_rows = np.unique(delta.id_rows[overlaps])
        rows = np.flatnonzero(np.isin(delta.id_rows, id_rows))
        return RegionDelta(
            [delta.ids[i] for i in id_rows], delta.regions.take(rows),
            np.searchsorted(id_rows, delta.id_rows[rows]), delta.removed_ids, delta.removed_regions,
        )  # fmt: skip

    def _check_announced(self, events: Events) -> None:
        """Raise InvalidArgumentError if an event is in no region announced at this broker."""
        missing = np.flatnonzero(~self._announcements[_CLIENTS].admits(events))
        if len(missing):
            raise InvalidArgumentError(
                f"{len(missing)} of {len(events)} events are in no region that was announced at "
                "this broker: announce a region that contains them first"
            )
