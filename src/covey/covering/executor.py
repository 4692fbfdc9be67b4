"""The steps of a reduction that can be distributed: their protocol, and all done locally."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from covey.covering.absorber_index import AbsorberIndex
from covey.covering.cover_pointers import find_covering_rows
from covey.covering.hull_merging import HullGroup, HullMerges, propose_merges
from covey.covering.subsumption import Subsumption, find_subsumed
from covey.index import SegmentIndex

__all__ = ["Executor", "LocalExecutor"]

Codes = NDArray[np.int32]
Rows = NDArray[np.int64]


class Executor(Protocol):
    """Who answers for all rows or groups, in whatever portions: the answers are the same."""

    def find_covering_rows(self, index: SegmentIndex) -> Rows:
        """For each indexed region another that covers it, -1 if there is none."""
        ...

    def find_subsumed(self, absorber_index: AbsorberIndex, max_subtractions: int) -> Subsumption:
        """What becomes of all boxes if at most so many are taken out of each."""
        ...

    def propose_merges(
        self, groups: Sequence[HullGroup], unmatched_points: Codes | None, max_cost: float
    ) -> Sequence[HullMerges]:
        """What each group proposes."""
        ...


class LocalExecutor:
    """This process, one thing after another."""

    def find_covering_rows(self, index: SegmentIndex) -> Rows:
        return find_covering_rows(index, np.arange(len(index)))

    def find_subsumed(self, absorber_index: AbsorberIndex, max_subtractions: int) -> Subsumption:
        return find_subsumed(absorber_index, np.arange(len(absorber_index.boxes)), max_subtractions)

    def propose_merges(
        self, groups: Sequence[HullGroup], unmatched_points: Codes | None, max_cost: float
    ) -> Sequence[HullMerges]:
        return [propose_merges(group, unmatched_points, max_cost) for group in groups]
