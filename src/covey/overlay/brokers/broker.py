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

from covey.errors import ValueRefused
from covey.geometry import Regions
from covey.overlay.brokers.changing import Change, Changing
from covey.overlay.brokers.link import Link, RegionLink
from covey.overlay.brokers.messages import (
    Announce,
    Announced,
    Connect,
    Delivered,
    Disconnect,
    Forwarded,
    Introduced,
    Publish,
    Subscribe,
    Told,
    Unsubscribe,
)
from covey.overlay.simulator import OUTSIDE, Name, Sends
from covey.space import Events, Space

__all__ = ["Broker", "MakeLink"]

MakeLink = Callable[[Name], Link]
_CLIENTS = "clients"  # where a change comes from that comes from no link


class Broker:
    """One broker. `make_link` says how links advertise; see `covey.overlay.brokers.link`."""

    def __init__(self, space: Space, make_link: MakeLink, announcing: bool = False) -> None:
        self.space, self.announcing = space, announcing
        self.links: dict[Name, Link] = {}
        self.clients = Changing(space)
        self._make_link = make_link
        self._announced: dict[Name, Changing] = {_CLIENTS: Changing(space)}
        self._strangers: set[Name] = set()

    def receive(self, sender: Name, message: Any) -> Sends:
        """Handles a message; gives messages and who gets them."""
        match message:
            case Subscribe():
                ids = [(_CLIENTS, id_) for id_ in message.ids]
                change = self.clients.apply(ids, message.regions, message.of, ids)
                return self._pass_on(_CLIENTS, change)
            case Unsubscribe():
                return self._pass_on(_CLIENTS, self._cancelled(message.ids))
            case Told():
                if sender not in self.links:
                    return []  # it was on its way when the link went
                return self._pass_on(sender, self.links[sender].hear(message.steps))
            case Introduced():
                self._strangers.discard(sender)
                return []
            case Publish():
                return self._published(_CLIENTS, message.numbers, message.events)
            case Forwarded():
                return self._published(sender, message.numbers, message.events)
            case Announce():
                return self._announce(_CLIENTS, message.ids, message.regions, message.ended)
            case Announced():
                return self._announce(sender, message.ids, message.regions, message.ended)
            case Connect():
                return self._connect(message.peer)
            case Disconnect():
                return self._disconnect(message.peer)
        raise TypeError(f"no broker understands {message!r}")

    # Subscriptions.

    def _cancelled(self, ids: Sequence[Hashable]) -> Change:
        nothing = Regions(self.space, 0, {})
        gone = [(_CLIENTS, id_) for id_ in ids]
        return self.clients.apply([], nothing, np.empty(0, np.int64), gone)

    def _pass_on(self, source: Name, change: Any) -> Iterator[tuple[Name, Told]]:
        """Tells all links but one of a change."""
        for peer, link in self.links.items():
            if peer != source:
                yield from self._tell(peer, link, self._relevant(peer, change))

    def _tell(self, peer: Name, link: Link, change: Any) -> Iterator[tuple[Name, Told]]:
        if change and (steps := link.pass_on(change)):
            yield peer, Told(steps)

    def _known(self, but: Name) -> Iterator[Any]:
        """All subscriptions that did not come from a link, as if they came now."""
        yield self.clients.all()
        for peer, link in self.links.items():
            if peer != but:
                yield link.heard()

    # Events.

    def _published(
        self, source: Name, numbers: NDArray[np.int64], events: Events
    ) -> Iterator[tuple[Name, Any]]:
        """Tells clients whose regions contain events, and links that want them."""
        if self.announcing and source == _CLIENTS:
            self._check_announced(events)
        if len(self.clients):
            rows, keys = self.clients.matching(events)
            if len(rows):
                ids = tuple(id_ for _, id_ in cast(list[tuple[str, Hashable]], keys))
                yield OUTSIDE, Delivered(numbers[rows], ids)
        for peer, link in self.links.items():
            if peer == source:
                continue
            if peer in self._strangers:
                yield peer, Forwarded(numbers, events)
            elif (wanted := np.flatnonzero(link.admits(events))).size:
                yield peer, Forwarded(numbers[wanted], events.take(wanted))

    # Links.

    def _connect(self, peer: Name) -> Iterator[tuple[Name, Any]]:
        """A new link is told all that is known from elsewhere.

        Until its neighbour has said what it wants, it gets all events.
        """
        link = self._make_link(peer)
        self._strangers.add(peer)
        known = list(self._known(but=peer))
        self.links[peer] = link
        self._announced[peer] = Changing(self.space)
        for source, announced in self._announced.items():
            if source != peer and len(announced):
                here = announced.all()
                yield peer, Announced(tuple(here.ids), here.regions, ())
        for change in known:
            yield from self._tell(peer, link, self._relevant(peer, change))
        yield peer, Introduced()

    def _disconnect(self, peer: Name) -> Iterator[tuple[Name, Any]]:
        """A link is gone, and with it all that came from it."""
        link = self.links.pop(peer)
        self._strangers.discard(peer)
        announced = self._announced.pop(peer)
        yield from self._pass_on(peer, link.forgotten())
        if len(announced):
            nothing = Regions(self.space, 0, {})
            for other in self.links:
                yield other, Announced((), nothing, tuple(announced.all().ids))

    # Announcements.

    def _announce(
        self, source: Name, ids: Sequence[Hashable], regions: Regions, ended: Sequence[Hashable]
    ) -> Iterator[tuple[Name, Any]]:
        """Tells all other links, and the one it came from what its publishers' events are for."""
        if source not in self._announced:
            return  # it was on its way when the link went
        change = self._announced[source].apply(ids, regions, np.arange(len(ids)), ended)
        for peer in self.links:
            if peer != source:
                yield peer, Announced(tuple(ids), regions, tuple(ended))
        if source in self.links and self.announcing:
            yield from self._retell(source, change)

    def _retell(self, peer: Name, change: Change) -> Iterator[tuple[Name, Told]]:
        """Tells a link of subscriptions that are for what is newly announced behind it.

        And withdraws those that are for what is announced no more, and for nothing else.
        """
        link = self.links[peer]
        assert isinstance(link, RegionLink)
        nothing = Regions(self.space, 0, {})
        others = [other for name, other in self.links.items() if name != peer]
        sources = [self.clients, *(cast(RegionLink, other).wanted for other in others)]
        for source in sources:
            if not len(source):
                continue
            if len(change.regions):
                keys = source.overlapping(change.regions)
                yield from self._tell(
                    peer, link, source.take([key for key in keys if key not in link.table])
                )
            if len(change.gone_regions):
                keys = [k for k in source.overlapping(change.gone_regions) if k in link.table]
                kept = self._relevant(peer, source.take(keys)).ids
                gone = [key for key in keys if key not in set(kept)]
                yield from self._tell(
                    peer, link, Change([], nothing, np.empty(0, np.int64), gone, nothing)
                )

    def _relevant(self, peer: Name, change: Any) -> Any:
        """The part of a change that is for what is announced behind a link."""
        if not self.announcing:
            return change
        assert isinstance(change, Change)
        overlaps = self._announced[peer].overlaps(change.regions)
        kept = np.unique(change.of[overlaps])
        rows = np.flatnonzero(np.isin(change.of, kept))
        return Change(
            [change.ids[i] for i in kept], change.regions.take(rows),
            np.searchsorted(kept, change.of[rows]), change.gone, change.gone_regions,
        )  # fmt: skip

    def _check_announced(self, events: Events) -> None:
        missing = np.flatnonzero(~self._announced[_CLIENTS].admits(events))
        if len(missing):
            raise ValueRefused(
                f"{len(missing)} of {len(events)} events are in nothing that was announced here: "
                "announce it first"
            )
