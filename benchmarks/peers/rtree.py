"""The R-tree of libspatialindex, loaded in bulk and asked in bulk.

Capacities were tuned for events per second at a million boxes, for each dimension by itself: from 5
to 400 entries a node, filled to 0.7 and to 0.99. What is left between neighbours is noise. A tree
of single insertions (R*) takes a minute or more to build; it answers no faster in 2-d, 1.8 times as
fast in 4-d and 2.5 times in 8-d.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rtree import index

from benchmarks.peers.columns import boxes, points
from benchmarks.peers.contract import Found
from covey.geometry import Regions
from covey.space import Events

__all__ = ["Rtree"]

Floats = NDArray[np.float64]

_CAPACITIES = {2: (15, 20), 4: (20, 20), 8: (50, 10)}  # entries of a leaf, and of a node above
_FILL = 0.99
_CHOSEN_AMONG = 8  # a parameter of insertions, which must be below both capacities


@dataclass(frozen=True, slots=True)
class Rtree:
    """Boxes of doubles, both ends included."""

    names: list[str]
    tree: Any

    @classmethod
    def build(cls, regions: Regions) -> Rtree:
        """A tree of all boxes; they must have both ends in every attribute."""
        names = [attribute.name for attribute in regions.space]
        leaf, node = _CAPACITIES[len(names)]
        how = index.Property(
            dimension=len(names), leaf_capacity=leaf, index_capacity=node, fill_factor=_FILL,
            near_minimum_overlap_factor=_CHOSEN_AMONG,
        )  # fmt: skip
        rows = np.arange(len(regions))
        return cls(names, index.Index((rows, *boxes(regions, names)), properties=how))

    def ready(self, events: Events) -> Floats:
        return points(events, self.names)

    def matching(self, ready: Floats) -> Found:
        rows, counts = self.tree.intersection_v(ready, ready)
        return np.repeat(np.arange(len(ready)), counts.astype(np.int64)), rows
