"""The parts of a compaction that many can share: what they do, and all of it done here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from covey.compact.absorbing import Absorbing
from covey.compact.covering import covers_of
from covey.compact.merging import Group, Merges, merges
from covey.compact.subsumption import Subsumption, subsumed
from covey.index import Segment

__all__ = ["Here", "Workers"]

Codes = NDArray[np.int32]
Rows = NDArray[np.int64]


class Workers(Protocol):
    """Who answers for all rows or groups, in whatever portions: the answers are the same."""

    def covers(self, index: Segment) -> Rows:
        """For each indexed region another that covers it, -1 if there is none."""
        ...

    def subsumed(self, absorbing: Absorbing, budget: int) -> Subsumption:
        """What becomes of all boxes if at most so many are taken out of each."""
        ...

    def merges(
        self, groups: Sequence[Group], unwanted: Codes | None, limit: float
    ) -> Sequence[Merges]:
        """What each group proposes."""
        ...


class Here:
    """This process, one thing after another."""

    def covers(self, index: Segment) -> Rows:
        return covers_of(index, np.arange(len(index)))

    def subsumed(self, absorbing: Absorbing, budget: int) -> Subsumption:
        return subsumed(absorbing, np.arange(len(absorbing.boxes)), budget)

    def merges(
        self, groups: Sequence[Group], unwanted: Codes | None, limit: float
    ) -> Sequence[Merges]:
        return [merges(group, unwanted, limit) for group in groups]
