"""What every peer offers: built from regions, it is asked with events that were made ready."""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from covey.space import Events

__all__ = ["Found", "Look", "Peer"]

Found = tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]
"""The rows of events and, one for one, of the subscriptions they match: in any order."""

Look = Literal["all", "sorted", "windows"]
"""How much of its lists a matcher looks at."""

P = TypeVar("P")


class Peer(Protocol[P]):
    """An exact matcher of regions of one workload.

    Making events ready (texts to numbers, columns to one matrix) stays outside of the timer, while
    covey does it inside: that favours the peers.
    """

    def ready(self, events: Events) -> P:
        """Events as it wants them."""
        ...

    def matching(self, ready: P) -> Found:
        """All matches."""
        ...
