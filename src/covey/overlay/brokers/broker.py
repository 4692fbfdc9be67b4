"""A broker: clients of its own, links to neighbours, and nothing that it does by itself.

Subscriptions are told on every link but the one they came from, as far as the link's table does
not hold them back; events go where they are wanted, and clients are told exactly of what they
subscribed to. The links form a tree. Steps are carried out in their order by every broker on the
way, so what a link knows contains, at every moment, what lives behind it; a new link gets all
events until it has said what it wants. (papers: mics)

With announcements a subscription is told only on links behind which somebody publishes what it
wants; publishers say so first.
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
_CLIENTS = "clients"  # where a change comes from that comes from no link


class Broker:
    """One broker. `make_link` says how links advertise; see `covey.overlay.brokers.link`."""

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
        """Handles a message; gives messages and who gets them."""
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
                    return []  # it was on its way when the link went
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
        raise TypeError(f"no broker understands {message!r}")

    # Subscriptions.

    def _remove_subscriptions(self, ids: Sequence[Hashable]) -> RegionDelta:
        nothing = Regions(self.space, 0, {})
        gone = [(_CLIENTS, id_) for id_ in ids]
        return self.client_subscriptions.apply_changes([], nothing, np.empty(0, np.int64), gone)

    def _advertise_to_links(
        self, source: NodeName, delta: Any
    ) -> Iterator[tuple[NodeName, RoutingUpdateMessage]]:
        """Tells all links but one of a change."""
        for peer, link in self.links.items():
            if peer != source:
                yield from self._advertise_on_link(
                    peer, link, self._restrict_to_announced(peer, delta)
                )

    def _advertise_on_link(
        self, peer: NodeName, link: AnyLink, delta: Any
    ) -> Iterator[tuple[NodeName, RoutingUpdateMessage]]:
        if delta and (steps := link.advertise(delta)):
            yield peer, RoutingUpdateMessage(steps)

    def _collect_known(self, excluded_peer: NodeName) -> Iterator[Any]:
        """All subscriptions that did not come from a link, as if they came now."""
        yield self.client_subscriptions.as_additions()
        for peer, link in self.links.items():
            if peer != excluded_peer:
                yield link.as_additions()

    # Events.

    def _route_events(
        self, source: NodeName, event_numbers: NDArray[np.int64], events: Events
    ) -> Iterator[tuple[NodeName, object]]:
        """Tells clients whose regions contain events, and links that want them."""
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
            elif (wanted := np.flatnonzero(link.admits(events))).size:
                yield peer, ForwardEvents(event_numbers[wanted], events.take(wanted))

    # Links.

    def _connect(self, peer: NodeName) -> Iterator[tuple[NodeName, object]]:
        """A new link is told all that is known from elsewhere.

        Until its neighbour has said what it wants, it gets all events.
        """
        link = self._make_link(peer)
        self._syncing_peers.add(peer)
        known = list(self._collect_known(excluded_peer=peer))
        self.links[peer] = link
        self._announcements[peer] = DynamicRegionIndex(self.space)
        for source, announced in self._announcements.items():
            if source != peer and len(announced):
                here = announced.as_additions()
                yield peer, ForwardAnnouncement(tuple(here.ids), here.regions, ())
        for change in known:
            yield from self._advertise_on_link(
                peer, link, self._restrict_to_announced(peer, change)
            )
        yield peer, InitialSyncDone()

    def _disconnect(self, peer: NodeName) -> Iterator[tuple[NodeName, object]]:
        """A link is gone, and with it all that came from it."""
        link = self.links.pop(peer)
        self._syncing_peers.discard(peer)
        announced = self._announcements.pop(peer)
        yield from self._advertise_to_links(peer, link.as_removals())
        if len(announced):
            nothing = Regions(self.space, 0, {})
            for other in self.links:
                yield other, ForwardAnnouncement((), nothing, tuple(announced.as_additions().ids))

    # Announcements.

    def _apply_announcement(
        self,
        source: NodeName,
        ids: Sequence[Hashable],
        regions: Regions,
        withdrawn_ids: Sequence[Hashable],
    ) -> Iterator[tuple[NodeName, object]]:
        """Tells all other links, and the one it came from what its publishers' events are for."""
        if source not in self._announcements:
            return  # it was on its way when the link went
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
        """Tells a link of subscriptions that are for what is newly announced behind it.

        And withdraws those that are for what is announced no more, and for nothing else.
        """
        link = self.links[peer]
        assert isinstance(link, RegionLink)
        nothing = Regions(self.space, 0, {})
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
                kept = self._restrict_to_announced(peer, source.select(keys)).ids
                gone = [key for key in keys if key not in set(kept)]
                yield from self._advertise_on_link(
                    peer, link, RegionDelta([], nothing, np.empty(0, np.int64), gone, nothing)
                )

    def _restrict_to_announced(self, peer: NodeName, delta: Any) -> Any:
        """The part of a change that is for what is announced behind a link."""
        if not self.requires_announcements:
            return delta
        assert isinstance(delta, RegionDelta)
        overlaps = self._announcements[peer].overlaps(delta.regions)
        kept = np.unique(delta.id_rows[overlaps])
        rows = np.flatnonzero(np.isin(delta.id_rows, kept))
        return RegionDelta(
            [delta.ids[i] for i in kept], delta.regions.take(rows),
            np.searchsorted(kept, delta.id_rows[rows]), delta.removed_ids, delta.removed_regions,
        )  # fmt: skip

    def _check_announced(self, events: Events) -> None:
        missing = np.flatnonzero(~self._announcements[_CLIENTS].admits(events))
        if len(missing):
            raise InvalidArgumentError(
                f"{len(missing)} of {len(events)} events are in nothing that was announced here: "
                "announce it first"
            )
