"""What brokers tell each other, and what the outside tells them."""

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
    """Clients of this broker subscribe: region r belongs to `ids[of[r]]`."""

    ids: Ids
    regions: Regions
    subscription_rows: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    """Clients cancel."""

    ids: Ids


@dataclass(frozen=True, slots=True)
class Publish:
    """A client publishes events."""

    event_numbers: NDArray[np.int64]
    events: Events


@dataclass(frozen=True, slots=True)
class Announce:
    """A publisher says, under ids, what it will publish; and what no more."""

    ids: Ids
    regions: Regions
    withdrawn_ids: Ids = ()


@dataclass(frozen=True, slots=True)
class Connect:
    """There is a link to another broker from now on. Links never form a circle."""

    peer: NodeName


@dataclass(frozen=True, slots=True)
class Disconnect:
    """There is none any more."""

    peer: NodeName


@dataclass(frozen=True, slots=True)
class RoutingUpdateMessage:
    """Between brokers: what is advertised on this link, and then what is withdrawn."""

    update: RegionUpdate | CellUpdate

    def coalesce(self, later: Sequence[RoutingUpdateMessage]) -> RoutingUpdateMessage:
        """The same with what was told after it, as one."""
        steps: list[Any] = [told.update for told in (self, *later)]
        return RoutingUpdateMessage(type(steps[0]).concat(steps))


@dataclass(frozen=True, slots=True)
class InitialSyncDone:
    """Between brokers: all that this side wants was told, after the link was made."""


@dataclass(frozen=True, slots=True)
class ForwardAnnouncement:
    """Between brokers: what publishers on this side will publish, and what no more."""

    ids: Ids
    regions: Regions
    withdrawn_ids: Ids


@dataclass(frozen=True, slots=True)
class ForwardEvents:
    """Between brokers: events that somebody behind the link may want."""

    event_numbers: NDArray[np.int64]
    events: Events


@dataclass(frozen=True, slots=True)
class Delivery:
    """To the outside: event `events[i]` reached subscription `ids[i]`."""

    event_numbers: NDArray[np.int64]
    subscription_ids: Ids
