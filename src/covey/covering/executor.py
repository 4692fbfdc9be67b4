"""Steps of a reduction that can be distributed: the protocol, and the local implementation."""

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
    """Protocol of executors, which run the steps of a reduction for all rows or groups.

    An executor may divide the work into any portions; the results are the same.
    """

    def find_covering_rows(self, index: SegmentIndex) -> Rows:
        """Return for each indexed region the row of another region that covers it, or -1."""
        ...

    def find_subsumed(self, absorber_index: AbsorberIndex, max_subtractions: int) -> Subsumption:
        """Test all boxes of the index: return which are subsumed, and by which other boxes.

        A box is tested with at most `max_subtractions` subtractions of other boxes from its pieces.
        If a piece remains, the box counts as not subsumed.
        """
        ...

    def propose_merges(
        self, groups: Sequence[HullGroup], unmatched_points: Codes | None, max_cost: float
    ) -> Sequence[HullMerges]:
        """Return the merges that each group proposes, in the order of groups.

        Args:
            groups: groups of boxes; boxes of one group may be merged with each other.
            unmatched_points: the codes of sampled events that no subscription matches, a row for
                each event; None without a sample.
            max_cost: the largest total cost of the merges of one group; see
                `covey.covering.hull_merging`.
        """
        ...


class LocalExecutor:
    """Executor that runs all steps in this process, one after another."""

    def find_covering_rows(self, index: SegmentIndex) -> Rows:
        return find_covering_rows(index, np.arange(len(index)))

    def find_subsumed(self, absorber_index: AbsorberIndex, max_subtractions: int) -> Subsumption:
        return find_subsumed(absorber_index, np.arange(len(absorber_index.boxes)), max_subtractions)

    def propose_merges(
        self, groups: Sequence[HullGroup], unmatched_points: Codes | None, max_cost: float
    ) -> Sequence[HullMerges]:
        return [propose_merges(group, unmatched_points, max_cost) for group in groups]
