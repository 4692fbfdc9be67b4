"""What a strategy does for a table: it decides what is advertised for regions that come and go."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.space import Events
from covey.space.ragged import Ragged

__all__ = ["Strategy"]

Numbers = NDArray[np.int64]


class Strategy(Protocol):
    """Regions by number, and what is advertised for them on one link.

    Whoever carries out all steps in their order has advertised, at every moment, a superset of the
    regions that were added and not removed.
    """

    @property
    def advertised(self) -> Any:
        """What is advertised now: numbers of regions, or ranges of cells."""
        ...

    @property
    def is_settled(self) -> bool:
        """Whether nothing is advertised any more for what was removed."""
        ...

    def add(self, numbers: Numbers, regions: Regions) -> Any:
        """Adds regions under numbers that are new."""
        ...

    def remove(self, numbers: Numbers) -> Any:
        """Removes regions; what was under them finds another place, some of it at once."""
        ...

    def settle(self, most: int | None = None) -> Any:
        """Finds another place for regions, at most so many, that are under what was removed."""
        ...

    def tidy(self) -> Any:
        """Settles, and withdraws all that is not needed."""
        ...

    def catch_up(self, known: Any) -> Any:
        """What brings a link that knows something else up to date: see `advertised`."""
        ...

    def absorbers(self, numbers: Numbers) -> Ragged:
        """For each region those that are advertised for it; it is among them itself if it is."""
        ...

    def admits(self, events: Events) -> NDArray[np.bool_]:
        """Whether what is advertised contains each event."""
        ...
