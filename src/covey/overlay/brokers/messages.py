"""Messages of a broker network: to brokers from clients or other brokers, and to clients."""

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
    """From clients: new subscriptions. The id of region r is `ids[subscription_rows[r]]`."""

    ids: Ids
    regions: Regions
    subscription_rows: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    """From clients: cancellations of subscriptions."""

    ids: Ids


@dataclass(frozen=True, slots=True)
class Publish:
    """From a client: events to publish, with their numbers."""

    event_numbers: NDArray[np.int64]
    events: Events


@dataclass(frozen=True, slots=True)
class Announce:
    """From a publisher: new announcements, and ids of announcements to withdraw.

    `regions` contains one region for each of `ids`, in which later events will lie.
    """

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
    """Between brokers: regions or cells to add to the sender's interests, then those to remove."""

    update: RegionUpdate | CellUpdate

    def coalesce(self, later: Sequence[RoutingUpdateMessage]) -> RoutingUpdateMessage:
        """Return one message with the same effect as this message and the later ones, in order."""
        updates: list[Any] = [message.update for message in (self, *later)]
        return RoutingUpdateMessage(type(updates[0]).concat(updates))


@dataclass(frozen=True, slots=True)
class InitialSyncDone:
    """Between brokers: the sender has advertised all of its subscriptions on a new link."""


@dataclass(frozen=True, slots=True)
class ForwardAnnouncement:
    """Between brokers: new and withdrawn announcements of publishers behind the sender."""

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
