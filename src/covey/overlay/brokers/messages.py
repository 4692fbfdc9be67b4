"""What brokers tell each other, and what the outside tells them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.overlay.simulator import Name
from covey.space import Events
from covey.table import CellSteps, Steps

__all__ = [
    "Announce", "Announced", "Connect", "Delivered", "Disconnect", "Forwarded", "Introduced",
    "Publish", "Subscribe", "Told", "Unsubscribe",
]  # fmt: skip

Ids = tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class Subscribe:
    """Clients of this broker subscribe: region r belongs to `ids[of[r]]`."""

    ids: Ids
    regions: Regions
    of: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    """Clients cancel."""

    ids: Ids


@dataclass(frozen=True, slots=True)
class Publish:
    """A client publishes events."""

    numbers: NDArray[np.int64]
    events: Events


@dataclass(frozen=True, slots=True)
class Announce:
    """A publisher says, under ids, what it will publish; and what no more."""

    ids: Ids
    regions: Regions
    ended: Ids = ()


@dataclass(frozen=True, slots=True)
class Connect:
    """There is a link to another broker from now on. Links never form a circle."""

    peer: Name


@dataclass(frozen=True, slots=True)
class Disconnect:
    """There is none any more."""

    peer: Name


@dataclass(frozen=True, slots=True)
class Told:
    """Between brokers: what is advertised on this link, and then what is withdrawn."""

    steps: Steps | CellSteps

    def joined(self, later: Sequence[Told]) -> Told:
        """The same with what was told after it, as one."""
        steps: list[Any] = [told.steps for told in (self, *later)]
        return Told(type(steps[0]).concat(steps))


@dataclass(frozen=True, slots=True)
class Introduced:
    """Between brokers: all that this side wants was told, after the link was made."""


@dataclass(frozen=True, slots=True)
class Announced:
    """Between brokers: what publishers on this side will publish, and what no more."""

    ids: Ids
    regions: Regions
    ended: Ids


@dataclass(frozen=True, slots=True)
class Forwarded:
    """Between brokers: events that somebody behind the link may want."""

    numbers: NDArray[np.int64]
    events: Events


@dataclass(frozen=True, slots=True)
class Delivered:
    """To the outside: event `events[i]` reached subscription `ids[i]`."""

    events: NDArray[np.int64]
    ids: Ids
