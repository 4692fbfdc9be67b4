"""Messages between brokers, from clients and the network to brokers, and to clients."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.overlay.simulator import NodeName
from covey.routing import CellUpdate, RegionUpdate
from covey.space import Events

__all__ = [
    "Announce",
    "Connect",
    "Delivery",
    "Disconnect",
    "ForwardAnnouncement",
    "ForwardEvents",
    "InitialSyncDone",
    "Publish",
    "RoutingUpdateMessage",
    "Subscribe",
    "Unsubscribe",
]  # fmt: skip

Ids = tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class Subscribe:
    """From clients: subscriptions. Region r belongs to `ids[subscription_rows[r]]`."""

    ids: Ids
    regions: Regions
    subscription_rows: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    """From clients: cancellations."""

    ids: Ids


@dataclass(frozen=True, slots=True)
class Publish:
    """From a client: events to publish, with their numbers."""

    event_numbers: NDArray[np.int64]
    events: Events


@dataclass(frozen=True, slots=True)
class Announce:
    """From a publisher: regions of later events, one for each id, and announcements to withdraw."""

    ids: Ids
    regions: Regions
    withdrawn_ids: Ids = ()


@dataclass(frozen=True, slots=True)
class Connect:
    """From the network: a new link to another broker. Links must not form a cycle."""

    peer: NodeName


@dataclass(frozen=True, slots=True)
class Disconnect:
    """From the network: the removal of the link to another broker."""

    peer: NodeName


@dataclass(frozen=True, slots=True)
class RoutingUpdateMessage:
    """Between brokers: regions or cells to advertise on this link, then those to withdraw."""

    update: RegionUpdate | CellUpdate

    def coalesce(self, later: Sequence[RoutingUpdateMessage]) -> RoutingUpdateMessage:
        """Return one message that has the effect of this one and of later ones, in order."""
        updates: list[Any] = [message.update for message in (self, *later)]
        return RoutingUpdateMessage(type(updates[0]).concat(updates))


@dataclass(frozen=True, slots=True)
class InitialSyncDone:
    """Between brokers: the sender has advertised all of its subscriptions on a new link."""


@dataclass(frozen=True, slots=True)
class ForwardAnnouncement:
    """Between brokers: announcements of publishers behind the sender, and withdrawn ones."""

    ids: Ids
    regions: Regions
    withdrawn_ids: Ids


@dataclass(frozen=True, slots=True)
class ForwardEvents:
    """Between brokers: events that a subscription behind the link may match."""

    event_numbers: NDArray[np.int64]
    events: Events


@dataclass(frozen=True, slots=True)
class Delivery:
    """To clients: event `event_numbers[i]` matches subscription `subscription_ids[i]`."""

    event_numbers: NDArray[np.int64]
    subscription_ids: Ids
