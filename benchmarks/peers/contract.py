"""The interface of peers: exact matchers that get prepared events."""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from covey.space import Events

__all__ = ["Found", "Look", "Peer"]

Found = tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]
"""Pairs in any order: rows of events, and for each the row of a subscription that it matches."""

Look = Literal["all", "sorted", "windows"]
"""Variant of a matcher: it scans a list completely, up to an end that is too large, or a window."""

P = TypeVar("P")


class Peer(Protocol[P]):
    """An exact matcher of regions of one workload.

    Events are prepared (texts to numbers, columns to one matrix) before the timer starts. The time
    of covey includes its preparation, which favours the peers.
    """

    def ready(self, events: Events) -> P:
        """Return events in the form that `matching` takes."""
        ...

    def matching(self, ready: P) -> Found:
        """Return all pairs of prepared events and regions."""
        ...
